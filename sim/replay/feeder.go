package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// feeder turns records into commands. It stores the ids of our orders, both the orders that the recording names and the
// orders without a name. Each pass over the files has its own feeder.
type feeder struct {
	entry *orderEntry
	check *checker
	s     *format.Survey
	from  int64 // time from which records are fed, Unix ns; 0: from the first record

	orders map[uint64]engine.OrderID // key: order id in the recording
	// by side and price: orders for the amounts that a recorded book shows but no record names
	anonymous [2]map[int64]engine.OrderID
	ignored   int // number of records that change nothing

	shape feed
}

// feed turns the records of one Shape into commands.
type feed interface {
	// skip applies a record before the start to the opening state. It returns false for a record that must be
	// fed.
	skip(r *format.Record) bool
	// feed enters the commands of a record.
	feed(r *format.Record) error
	// flush enters the commands that wait.
	flush() error
	// notes reports which kinds of records were left out, and how often.
	notes() []string
}

// newFeeder returns the feeder of one pass. start is used for order logs only.
func (r *Replay) newFeeder(check *checker, start logStart) *feeder {
	f := &feeder{
		entry: r.entry, check: check, s: r.survey, from: r.fromNs, orders: map[uint64]engine.OrderID{},
	}
	for side := range f.anonymous {
		f.anonymous[side] = map[int64]engine.OrderID{}
	}
	switch f.s.Shape {
	case format.Messages:
		f.shape = newMessageFeed(f, r.opts.Passive)
	case format.Log:
		f.shape = newLogFeed(f, start)
	case format.Levels:
		f.shape = newLevelFeed(f)
	case format.Orders:
		f.shape = newOrderFeed(f, r.opts.Passive)
	case format.Trades, format.Answers:
		t := &tradeFeed{feeder: f, prints: newPrints(r.entry, r.batch)}
		if r.quotes > 0 {
			t.quotes = &quotes{entry: r.entry, amount: r.quotes, highest: r.instrument.LargestPrice()}
		}
		f.shape = t
	}
	return f
}

// skip reports whether the record is before the start.
func (f *feeder) skip(r *format.Record) bool { return r.NS < f.from }

func (f *feeder) flush() error { return nil }

// apply counts or feeds one record.
func (f *feeder) apply(r *format.Record) error {
	if r.Kind == format.Other {
		f.ignored++
	}
	return f.shape.feed(r)
}

// notes returns the notes of the Shape and the number of ignored records.
func (f *feeder) notes() []string {
	switch notes := f.shape.notes(); f.s.Shape {
	case format.Messages: // the note on ignored records comes first
		return append(noted(nil, f.ignored, f.s.Ignored), notes...)
	default:
		return noted(notes, f.ignored, f.s.Ignored)
	}
}

// place enters an order with the recording's id.
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

// open returns our open order with the recording's id, nil when there is none.
func (f *feeder) open(id uint64) *resting { return f.entry.orders[f.orders[id]] }

// unnamed returns our unnamed order at a price, nil when there is none.
func (f *feeder) unnamed(side engine.Side, price int64) *resting {
	return f.entry.orders[f.anonymous[side][price]]
}

// sendAnonymous sends the batch. Its new orders become the unnamed orders of their prices.
func (f *feeder) sendAnonymous() error {
	results, err := f.entry.send()
	if err != nil {
		return err
	}
	f.nameless(results)
	return nil
}

// nameless stores the resting orders of results as unnamed orders.
func (f *feeder) nameless(results []outcome) {
	for i := range results {
		if o := f.entry.orders[results[i].order]; o != nil {
			f.anonymous[o.side][o.price] = o.id
		}
	}
}

// print makes one trade that leaves nothing in the book: a maker and a taker at that price. When our other
// orders would trade first, the same batch cancels them before the trade and places them again after it, so
// that no reader sees them missing.
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

// tradeFeed feeds trades, and bars as the trades of which they consist.
type tradeFeed struct {
	*feeder
	prints *prints
	quotes *quotes     // nil: the trades alone
	side   engine.Side // side of the last trade, for the tick rule
	last   int64       // ticks of the last trade
}

func (t *tradeFeed) feed(r *format.Record) error {
	switch {
	case r.Kind == format.Bar && r.Bar.Volume == 0:
		return nil
	case t.check.isCandle(r): // the bar is compared, and not its trades
		return t.enter(t.tick(r.Price), r.Price, r.Amount)
	case r.Kind != format.Trade && r.Kind != format.Bar:
		return nil
	case r.Sided:
		return t.trade(r.Side, r.Price, r.Amount)
	}
	return t.trade(t.tick(r.Price), r.Price, r.Amount)
}

func (t *tradeFeed) trade(side engine.Side, price, amount int64) error {
	t.check.printed(marketdata.Trade{TimeNs: t.entry.now, Price: price, Amount: amount, TakerSide: side})
	return t.enter(side, price, amount)
}

func (t *tradeFeed) enter(side engine.Side, price, amount int64) error {
	t.last = price
	if t.quotes != nil {
		return t.quotes.trade(side, price, amount)
	}
	return t.prints.add(side, price, amount)
}

func (t *tradeFeed) flush() error { return t.prints.flush() }

// tick returns the taker's side by the tick rule: Buy for a price above the last trade, Sell for one below it,
// the last side for the same price.
func (t *tradeFeed) tick(price int64) engine.Side {
	switch {
	case price > t.last:
		t.side = engine.Buy
	case price < t.last:
		t.side = engine.Sell
	}
	return t.side
}

func (t *tradeFeed) notes() []string {
	return noted(nil, t.prints.within, "%d trades met orders of other accounts that came while a batch of trades was "+
		"under way: trades of the batch after them may differ")
}

// quotes keeps a bid and an ask around the last trade: the side that the taker met stands at the price of the trade,
// the other one a tick away. An order of a user that crosses them trades at the market, as it would with a book; each
// trade of the recording renews their amount.
type quotes struct {
	entry   *orderEntry
	amount  int64 // lots
	highest int64 // largest price of an order, ticks
}

// trade makes one trade and moves the quotes to it, in one batch, so that no reader sees them missing.
func (q *quotes) trade(side engine.Side, price, amount int64) error {
	e := q.entry
	for _, id := range sortedKeys(e.orders) {
		e.cancel(id)
	}
	maker := e.place(side.Opposite(), price, amount, 0)
	e.hit(side, price, amount)
	bid, ask := price, price+1
	if side == engine.Buy {
		bid, ask = price-1, price
	}
	if bid > 0 {
		e.place(engine.Buy, bid, q.amount, 0)
	}
	if ask <= q.highest {
		e.place(engine.Sell, ask, q.amount, 0)
	}
	results, err := e.send()
	if err != nil {
		return err
	}
	return e.cancelRemainder(results[maker].order)
}

// noted appends a sentence with the number n, unless n is 0.
func noted(notes []string, n int, format string) []string {
	if n == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf(format, n))
}

// sortedKeys returns the keys in ascending order, so that every run makes the commands in the same order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
