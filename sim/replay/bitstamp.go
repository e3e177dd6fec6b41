package replay

import (
	"errors"
	"io"
	"path/filepath"
	"time"

	"tickhive/engine"
	"tickhive/marketdata"
)

// bitstampLate limits how far a line of the log may be from the moment it reports: recorded
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
	order   lineOrder
	started bool
	start   int // line of the first book that is used
	depth   int // levels a side that the log's books have
	known   map[uint64]knownOrder

	most      int // deleted ids that are remembered
	gone      goneIDs
	early     map[uint64]bool // ids whose deletion comes before their creation
	odd       bitstampOdd
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
	return &bitstamp{path: files[0], most: bitstampGone}, nil
}

func (b *bitstamp) survey() (survey, error) {
	s := newSurvey(pairInName(filepath.Base(b.path)))
	if s.pair == "" {
		s.pair = "BTC_USD"
	}
	in, err := openLines(b.path)
	if err != nil {
		return s, err
	}
	defer in.close()
	b.in, b.order = in, lineOrder{}
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
		return s, in.fail("record the order_book channel beside the orders", "no order_book line: the opening book is unknown")
	}
	return s, nil
}

// take counts a record of the survey.
func (b *bitstamp) take(s *survey) {
	at := b.in.here(0)
	switch b.r.kind {
	case bitstampBook:
		s.takeLevels(b.r.bids, at)
		s.takeLevels(b.r.asks, at)
		b.depth = max(b.depth, len(b.r.bids), len(b.r.asks))
	case bitstampTrade: // a float, whose digits say nothing
		s.price.takeSize(b.r.price, at)
		s.amount.takeSize(b.r.amount, at)
	default:
		s.price.take(b.r.price, at)
		s.amount.take(b.r.amount, at)
	}
	if start := s.startNs; s.records > 0 || b.r.kind == bitstampBook {
		s.count(b.r.ns)
		if b.r.kind != bitstampBook {
			s.startNs = start // a replay starts from a book
		}
	}
}

func (b *bitstamp) read() error {
	line, err := b.in.next()
	if err != nil {
		return err
	}
	if b.r, err = parseBitstamp(line); err != nil {
		return b.in.refuse(err)
	}
	b.r.ns, err = b.order.take(b.r.ns)
	return b.in.refuse(err)
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
	b.gone, b.odd, b.order = newGoneIDs(b.most), bitstampOdd{}, lineOrder{}
	b.started, b.made, b.ours = false, 0, 0
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

func (b *bitstamp) next() (int64, error) {
	for {
		if err := b.read(); err != nil {
			return 0, err
		}
		if b.in.n >= b.start {
			return b.r.ns, nil
		}
		if b.r.kind == bitstampDeleted {
			b.gone.add(b.r.id, b.r.amount.mantissa == 0)
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
		return 0, 0, b.in.fail(remedyValue, "price: %v", err)
	}
	if a, err = amount.units(b.digitsAmount); err != nil {
		return 0, 0, b.in.fail(remedyValue, "amount: %v", err)
	}
	return p, a, nil
}

func (b *bitstamp) readBook() (err error) {
	for side, levels := range [2][]priceLevel{b.r.bids, b.r.asks} {
		if b.book[side], err = toLevels(b.book[side][:0], levels, b.digitsPrice, b.digitsAmount); err != nil {
			return b.in.fail(remedyValue, "%v", err)
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

// create enters an order. One whose deletion the log told before must not stay: when it was
// cancelled it never enters, and when it was filled it trades and ends as after any fill.
func (b *bitstamp) create(d *desk) error {
	price, amount, err := b.units(b.r.price, b.r.amount)
	if err != nil {
		return err
	}
	if amount == 0 {
		return nil // it was filled before it was told of
	}
	filled, late := b.gone.filled[b.r.id]
	if late {
		b.odd.createdLate++
	}
	if _, open := b.orders[b.r.id]; open && !late {
		b.odd.createdTwice++
		return nil
	}
	if late && (!filled || b.orders[b.r.id] != 0) {
		return nil
	}
	if err := b.place(d, b.r.id, b.r.side, price, amount, 0); err != nil || !late {
		return err
	}
	b.later(0)
	return nil
}

// change follows an order that was given another price: the exchange moves a market order
// from level to level in this way. A lower amount at the same price is a fill, which the
// engine finds by itself, up to the time that the log may be late.
func (b *bitstamp) change(d *desk) error {
	price, amount, err := b.units(b.r.price, b.r.amount)
	if err != nil {
		return err
	}
	id, ok := b.orders[b.r.id]
	switch o := d.orders[id]; {
	case b.gone.has(b.r.id):
		b.odd.changedLate++
	case !ok:
		b.odd.changedUnknown++
	case o == nil: // our engine filled it
	case o.price == price || amount == 0:
		b.later(amount)
	default:
		d.move(o, price, amount)
		_, err = d.send()
	}
	return err
}

// later has the order's open amount compared once the log cannot be late any more.
func (b *bitstamp) later(amount int64) {
	at := b.r.ns + bitstampLate
	b.due = append(b.due, bitstampDue{at, b.r.id, amount})
	b.newest[b.r.id] = at
}

// delete cancels what was cancelled. An order that was filled is left to the engine, up
// to the time that the log may be late; one nobody knows was part of its level, unless the
// log creates it later.
func (b *bitstamp) delete(d *desk) error {
	id, ok := b.orders[b.r.id]
	filled := b.r.amount.mantissa == 0
	if !b.gone.add(b.r.id, filled) {
		b.odd.deletedTwice++
		return nil
	}
	switch {
	case filled && ok:
		b.later(0)
		return nil
	case filled || b.early[b.r.id]:
		return nil
	case ok:
		return b.cancel(d, b.r.id, id)
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

// cancel ends an order of the log, if the engine has not.
func (b *bitstamp) cancel(d *desk, file uint64, id engine.OrderID) error {
	delete(b.orders, file)
	delete(b.files, id)
	if d.orders[id] == nil {
		return nil
	}
	d.cancel(id)
	_, err := d.send()
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
