package replay

import (
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"tickhive/engine"
	"tickhive/marketdata"
)

// bitstampLate is how far a line of the log may be from the moment it tells of: recorded
// books are compared with our states within it, and a fill that the log reports but our
// engine did not make is enforced after it.
const bitstampLate = int64(time.Second)

// knownOrder is an order that rests when the replay starts.
type knownOrder struct {
	side          engine.Side
	price, amount number
}

// bitstamp feeds an order-by-order log. Created orders enter as limit orders and the
// engine matches them; what was cancelled is cancelled. The log's own fills are only
// enforced where ours differ.
type bitstamp struct {
	path                      string
	digitsPrice, digitsAmount int

	in      *lines
	r       bitstampRecord
	last    int64
	started bool
	start   int // line of the first book that is used
	depth   int // levels a side that the log's books have
	known   map[uint64]knownOrder

	orders    map[uint64]engine.OrderID // by the log's id
	files     map[engine.OrderID]uint64 // the log's id of an order
	anonymous [2]map[int64]engine.OrderID
	seen      [2]map[int64]bool // prices that were in a recorded book
	due       []bitstampDue
	newest    map[uint64]int64 // ns of an order's newest entry in due
	book      [2][]intLevel

	made    uint64 // trades already compared
	fresh   bool   // the record just fed was a book
	states  []bookState
	waiting []bookState
	trades  map[intLevel]int // recorded, minus ours
	common  int
	counts  struct{ books, trades, given Check }
	ours    int
	bids    []marketdata.Level
	asks    []marketdata.Level
}

// bitstampDue is an order whose open amount must be amount at ns, unless the log tells
// something newer of it before.
type bitstampDue struct {
	ns     int64
	id     uint64
	amount int64 // lots
}

func newBitstamp(files []string) (feed, error) {
	if len(files) != 1 {
		return nil, errors.New("replay: bitstamp takes one file")
	}
	return &bitstamp{path: files[0]}, nil
}

func (b *bitstamp) survey() (survey, error) {
	s := survey{pair: pairInName(filepath.Base(b.path))}
	if s.pair == "" {
		s.pair = "BTC_USD"
	}
	in, err := openLines(b.path)
	if err != nil {
		return s, err
	}
	defer in.close()
	b.in = in
	b.last = 0
	for {
		err := b.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, err
		}
		b.take(&s)
	}
	if s.records == 0 {
		return s, in.fail("no order_book line: the opening book is unknown")
	}
	return s, nil
}

// take counts a record of the survey.
func (b *bitstamp) take(s *survey) {
	if b.r.kind == bitstampBook {
		if s.records == 0 {
			s.firstNs = b.r.ns
		}
		s.takeLevels(b.r.bids)
		s.takeLevels(b.r.asks)
		b.depth = max(b.depth, len(b.r.bids), len(b.r.asks))
	}
	if b.r.kind < bitstampTrade { // trades are floats and have no digits of their own
		s.digitsPrice = max(s.digitsPrice, b.r.price.digits())
		s.digitsAmount = max(s.digitsAmount, b.r.amount.digits())
	}
	if s.firstNs != 0 {
		s.records++
		s.lastNs = b.r.ns
	}
}

func (b *bitstamp) read() error {
	line, err := b.in.next()
	if err != nil {
		return err
	}
	if b.r, err = parseBitstamp(line); err != nil {
		return b.in.fail("%v", err)
	}
	// Two receivers wrote the log: its times may cross by a few milliseconds.
	b.r.ns = max(b.r.ns, b.last)
	b.last = b.r.ns
	return nil
}

func (b *bitstamp) open(fromNs int64, digitsPrice, digitsAmount int) (err error) {
	b.close()
	b.digitsPrice, b.digitsAmount = digitsPrice, digitsAmount
	if err := b.learn(fromNs); err != nil {
		return err
	}
	b.orders, b.trades, b.newest = map[uint64]engine.OrderID{}, map[intLevel]int{}, map[uint64]int64{}
	b.files = map[engine.OrderID]uint64{}
	for side := range b.seen {
		b.anonymous[side], b.seen[side] = map[int64]engine.OrderID{}, map[int64]bool{}
	}
	b.due, b.states, b.waiting = nil, nil, nil
	b.started, b.last, b.made, b.ours, b.common = false, 0, 0, 0, 0
	b.counts.books, b.counts.trades = Check{Kind: "book rows"}, Check{Kind: "trades"}
	b.counts.given = Check{Kind: "sizes given by the file"}
	b.in, err = openLines(b.path)
	return err
}

func (b *bitstamp) close() {
	if b.in != nil {
		b.in.close()
		b.in = nil
	}
}

// learn reads the log once to find the first book at or after fromNs and the orders that
// rested then: those created before and not deleted, and those that change or are
// cancelled later, with an id older than any created after it. They rested with at least
// the amount that is first told of them; what they had above it has no name.
func (b *bitstamp) learn(fromNs int64) (err error) {
	if b.in, err = openLines(b.path); err != nil {
		return err
	}
	defer b.close()
	b.start, b.known, b.last = 0, map[uint64]knownOrder{}, 0
	created := map[uint64]bool{}
	later := map[uint64]knownOrder{}
	firstID := ^uint64(0)
	for {
		err := b.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		r := &b.r
		o := knownOrder{r.side, r.price, r.amount}
		switch {
		case r.kind == bitstampBook && b.start == 0 && r.ns >= fromNs:
			b.start = b.in.n
		case r.kind == bitstampCreated:
			created[r.id] = true
			if b.start == 0 {
				b.known[r.id] = o
			} else {
				firstID = min(firstID, r.id)
			}
		case r.kind == bitstampChanged && b.start == 0:
			if _, ok := b.known[r.id]; ok {
				b.known[r.id] = o
			}
		case r.kind == bitstampDeleted && b.start == 0:
			delete(b.known, r.id)
		case r.kind < bitstampTrade && r.amount.mantissa != 0 && !created[r.id]:
			if _, ok := later[r.id]; !ok {
				later[r.id] = o
			}
		}
	}
	if b.start == 0 {
		return b.in.fail("no order_book line at or after the time to start from")
	}
	for id, o := range later {
		if id < firstID && !created[id] {
			b.known[id] = o
		}
	}
	return nil
}

func (b *bitstamp) next() (int64, error) {
	for {
		if err := b.read(); err != nil {
			return 0, err
		}
		if b.in.n >= b.start {
			return b.r.ns, nil
		}
	}
}

func (b *bitstamp) apply(d *desk) error {
	b.fresh = b.started && b.r.kind == bitstampBook
	if !b.started {
		b.started = true
		return b.seed(d)
	}
	if err := b.enforce(d); err != nil {
		return err
	}
	switch b.r.kind {
	case bitstampCreated:
		return b.create(d)
	case bitstampChanged:
		return b.change(d)
	case bitstampDeleted:
		return b.delete(d)
	case bitstampTrade:
		return b.record()
	case bitstampBook:
		return b.conform(d)
	}
	return nil
}

// units are ticks and lots of a record.
func (b *bitstamp) units(price, amount number) (p, a int64, err error) {
	if p, err = price.units(b.digitsPrice); err != nil {
		return 0, 0, b.in.fail("price: %v", err)
	}
	if a, err = amount.units(b.digitsAmount); err != nil {
		return 0, 0, b.in.fail("amount: %v", err)
	}
	return p, a, nil
}

// seed makes the opening book: at each price first one order without a name for what no
// known order explains, then the known ones in order of their ids.
func (b *bitstamp) seed(d *desk) error {
	if err := b.readBook(); err != nil {
		return err
	}
	explained := map[bookPlace]int64{}
	ids := slices.Sorted(maps.Keys(b.known))
	for _, id := range ids {
		o := b.known[id]
		price, amount, err := b.units(o.price, o.amount)
		if err != nil {
			return err
		}
		explained[bookPlace{o.side, price}] += amount
	}
	for side, levels := range b.book {
		for _, l := range levels {
			b.seen[side][l.price] = true
			if rest := l.amount - explained[bookPlace{engine.Side(side), l.price}]; rest > 0 {
				b.placeAnonymous(d, engine.Side(side), l.price, rest)
			}
		}
	}
	if err := b.sendAnonymous(d); err != nil {
		return err
	}
	for _, id := range ids {
		o := b.known[id]
		price, amount, err := b.units(o.price, o.amount)
		if err != nil {
			return err
		}
		if err := b.place(d, id, o.side, price, amount, engine.FlagPostOnly); err != nil {
			return err
		}
	}
	return nil
}

type bookPlace struct {
	side  engine.Side
	price int64
}

func (b *bitstamp) readBook() (err error) {
	for side, levels := range [2][]priceLevel{b.r.bids, b.r.asks} {
		if b.book[side], err = toLevels(b.book[side][:0], levels, b.digitsPrice, b.digitsAmount); err != nil {
			return b.in.fail("%v", err)
		}
	}
	return nil
}

func (b *bitstamp) place(d *desk, id uint64, side engine.Side, price, amount int64, flags uint8) error {
	i := d.limit(d.maker, side, price, amount, engine.GTC)
	d.batch.Commands[i].Flags = flags
	results, err := d.send()
	if err != nil {
		return err
	}
	if o := results[i].order; o != 0 {
		b.orders[id], b.files[o] = o, id
	}
	return nil
}

func (b *bitstamp) create(d *desk) error {
	price, amount, err := b.units(b.r.price, b.r.amount)
	if err != nil {
		return err
	}
	if amount == 0 {
		return nil // it was filled before it was told of
	}
	return b.place(d, b.r.id, b.r.side, price, amount, 0)
}

// change follows an order that was given another price: the exchange moves a market order
// from level to level in this way. A lower amount at the same price is a fill, which the
// engine finds by itself, up to the time that the log may be late.
func (b *bitstamp) change(d *desk) error {
	price, amount, err := b.units(b.r.price, b.r.amount)
	if err != nil {
		return err
	}
	o := d.orders[b.orders[b.r.id]]
	if o == nil || amount == 0 {
		return nil
	}
	if o.price == price {
		b.later(amount)
		return nil
	}
	d.move(o, price, amount)
	_, err = d.send()
	return err
}

// later has the order's open amount compared once the log cannot be late any more.
func (b *bitstamp) later(amount int64) {
	at := b.r.ns + bitstampLate
	b.due = append(b.due, bitstampDue{at, b.r.id, amount})
	b.newest[b.r.id] = at
}

// delete cancels what was cancelled. An order that was filled is left to the engine, up
// to the time that the log may be late; one nobody knows was part of its level.
func (b *bitstamp) delete(d *desk) error {
	id, ok := b.orders[b.r.id]
	if b.r.amount.mantissa == 0 {
		if ok {
			b.later(0)
		}
		return nil
	}
	if ok {
		delete(b.orders, b.r.id)
		delete(b.files, id)
		if d.orders[id] != nil {
			d.cancel(id)
			_, err := d.send()
			return err
		}
		return nil
	}
	price, amount, err := b.units(b.r.price, b.r.amount)
	if err != nil {
		return err
	}
	o := d.orders[b.anonymous[b.r.side][price]]
	if o == nil {
		return nil
	}
	b.lower(d, o, o.open-amount)
	_, err = d.send()
	return err
}

// lower gives an order another open amount, or ends it.
func (b *bitstamp) lower(d *desk, o *resting, open int64) {
	if open <= 0 {
		d.cancel(o.id)
		return
	}
	d.setOpen(o, open)
}
