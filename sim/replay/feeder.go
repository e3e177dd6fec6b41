package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/sim/replay/format"
)

// feeder turns records into commands. It owns the orders that the recording names and those
// that it does not name. One is made for each pass over the files.
type feeder struct {
	entry *orderEntry
	check *checker
	s     *format.Survey
	from  int64 // Unix ns; 0: the first record

	orders    map[uint64]engine.OrderID   // by the recording's id
	anonymous [2]map[int64]engine.OrderID // by price: what a book shows and no record names
	ignored   int                         // records that change nothing

	shape feed
}

// feed turns the records of one shape of recordings into commands.
type feed interface {
	// skip takes a record before the start, for the opening state alone; false: it is to be fed.
	skip(r *format.Record) bool
	// feed enters the record's commands.
	feed(r *format.Record) error
	// notes reports which records were left out, and how often.
	notes() []string
}

// newFeeder returns the feeder of a pass; start is of a log.
func newFeeder(entry *orderEntry, check *checker, s *format.Survey, from int64, start logStart) *feeder {
	f := &feeder{entry: entry, check: check, s: s, from: from, orders: map[uint64]engine.OrderID{}}
	for side := range f.anonymous {
		f.anonymous[side] = map[int64]engine.OrderID{}
	}
	switch s.Shape {
	case format.Messages:
		f.shape = newMessageFeed(f)
	case format.Log:
		f.shape = newLogFeed(f, start)
	case format.Levels:
		f.shape = newLevelFeed(f)
	case format.Trades, format.Answers:
		f.shape = &tradeFeed{feeder: f}
	}
	return f
}

// skip reports that the record is before the start.
func (f *feeder) skip(r *format.Record) bool { return r.NS < f.from }

// apply feeds one record.
func (f *feeder) apply(r *format.Record) error {
	if r.Kind == format.Other {
		f.ignored++
	}
	return f.shape.feed(r)
}

// notes returns the notes of the shape and of what was ignored.
func (f *feeder) notes() []string {
	switch notes := f.shape.notes(); f.s.Shape {
	case format.Messages: // its note has always come first
		return append(noted(nil, f.ignored, f.s.Ignored), notes...)
	default:
		return noted(notes, f.ignored, f.s.Ignored)
	}
}

// place enters an order that the recording names.
func (f *feeder) place(id uint64, side engine.Side, price, amount int64, flags uint8) error {
	i := f.entry.place(side, price, amount, flags)
	results, err := f.entry.send()
	if err != nil || results[i].order == 0 {
		return err
	}
	f.orders[id] = results[i].order
	if o := f.open(id); o != nil {
		o.name = id
	}
	return nil
}

// open returns the order of the recording's id, nil when it is not open.
func (f *feeder) open(id uint64) *resting { return f.entry.orders[f.orders[id]] }

// unnamed returns the order without a name at a price, nil when there is none.
func (f *feeder) unnamed(side engine.Side, price int64) *resting {
	return f.entry.orders[f.anonymous[side][price]]
}

// sendAnonymous sends the batch, whose new orders have no name.
func (f *feeder) sendAnonymous() error {
	results, err := f.entry.send()
	if err != nil {
		return err
	}
	f.nameless(results)
	return nil
}

// nameless remembers the orders of results that rest.
func (f *feeder) nameless(results []outcome) {
	for i := range results {
		if o := f.entry.orders[results[i].order]; o != nil {
			f.anonymous[o.side][o.price] = o.id
		}
	}
}

// print makes one trade without orders of its own: a maker and a taker at that price, and
// nothing of them stays in the book. Orders of ours that would meet one of them first are taken
// out before and put back after it, in one batch: no reader sees them gone.
func (f *feeder) print(side engine.Side, price, amount int64) error {
	e := f.entry
	var away [2][]*resting
	for side := range away {
		away[side] = f.inWay(engine.Side(side), price)
		for _, o := range away[side] {
			e.cancel(o.id)
		}
	}
	m := e.place(side.Opposite(), price, amount, 0)
	e.hit(side, price, amount)
	back := len(e.batch.Commands)
	for side, orders := range away {
		for _, o := range orders {
			e.place(engine.Side(side), o.price, o.open, 0)
		}
	}
	results, err := e.send()
	if err != nil {
		return err
	}
	f.nameless(results[back:])
	f.check.printed(marketdata.Trade{TimeNs: e.now, Price: price, Amount: amount, TakerSide: side})
	return e.cancelRemainder(results[m].order)
}

// inWay returns our orders of a side at the price or better, best first.
func (f *feeder) inWay(side engine.Side, price int64) []*resting {
	var out []*resting
	for p, id := range f.anonymous[side] {
		if format.Worse(side, p, price) {
			continue
		}
		if o := f.entry.orders[id]; o != nil {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(x, y *resting) int {
		if side == engine.Buy {
			x, y = y, x
		}
		return cmp.Compare(x.price, y.price)
	})
	return out
}

// tradeFeed feeds trades, and the trades that a bar is made of.
type tradeFeed struct {
	*feeder
	side engine.Side // of the last trade, for the tick rule
	last int64       // ticks of the last trade
	path []int64
}

func (t *tradeFeed) feed(r *format.Record) error {
	switch {
	case r.Kind == format.Bar:
		return t.bar(&r.Bar)
	case r.Kind != format.Trade:
		return nil
	case r.Sided:
		return t.trade(r.Side, r.Price, r.Amount)
	}
	return t.trade(t.tick(r.Price), r.Price, r.Amount)
}

func (t *tradeFeed) trade(side engine.Side, price, amount int64) error {
	t.last = price
	return t.print(side, price, amount)
}

// tick applies the tick rule: a trade above the last one was a buyer's, below it a seller's, at the
// same price as the one before.
func (t *tradeFeed) tick(price int64) engine.Side {
	switch {
	case price > t.last:
		t.side = engine.Buy
	case price < t.last:
		t.side = engine.Sell
	}
	return t.side
}

// bar makes the fewest trades that have the bar's open, high, low, close and volume, a
// millisecond apart.
func (t *tradeFeed) bar(b *format.Prices) error {
	if b.Volume == 0 {
		return nil // nothing was traded
	}
	t.path = b.Path(t.path[:0])
	n := int64(len(t.path))
	amount := b.Volume/n + b.Volume%n
	for _, price := range t.path {
		if err := t.trade(t.tick(price), price, amount); err != nil {
			return err
		}
		t.entry.now += int64(1e6)
		amount = b.Volume / n
	}
	return nil
}

func (t *tradeFeed) notes() []string { return nil }

// noted appends a sentence with a count, unless that is 0.
func noted(notes []string, n int, format string) []string {
	if n == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf(format, n))
}

// sortedKeys returns the keys in ascending order, so that commands come out the same in every run.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
