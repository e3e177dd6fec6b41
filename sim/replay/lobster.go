package replay

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"

	"tickhive/engine"
	"tickhive/marketdata"
)

// lobster feeds a NASDAQ day: message row k and orderbook row k belong together, the book
// row being the state after the message. Executions enter as immediate-or-cancel orders
// on the other side, so that the engine and not the file chooses who is filled.
type lobster struct {
	messages, books string // paths
	day             int64

	msg, book *lines
	from      int64
	seeded    bool // the opening state is in
	opening   bool // the record just fed was the opening state

	m         lobsterMessage
	row, prev lobsterRow
	orders    map[uint64]engine.OrderID // by the file's id
	anonymous [2]map[int64]engine.OrderID
	hidden    [2]map[int64]bool // prices of ours that slid out of view

	rows, executions, named, given Check
	missing                        int // messages that name nothing we have
	unfed                          int // hidden executions, crosses and halts
	known                          int // sides that came into view as we had them
	bids, asks                     []marketdata.Level
}

func newLobster(files []string) (feed, error) {
	if len(files) != 2 {
		return nil, fmt.Errorf("replay: lobster takes a message file and an orderbook file, in this order; %d files given", len(files))
	}
	day, _ := dayOf(filepath.Base(files[0]))
	return &lobster{
		messages: files[0], books: files[1], day: day,
		rows: Check{Kind: "book rows"}, executions: Check{Kind: "executions"},
		named: Check{Kind: "named orders"}, given: Check{Kind: "sides given by the file"},
	}, nil
}

var tickerInName = regexp.MustCompile(`^([A-Za-z]{1,8})_`)

func (l *lobster) survey() (survey, error) {
	s := newSurvey("")
	s.price.digits, s.fixedDigits = 4, true
	if m := tickerInName.FindStringSubmatch(filepath.Base(l.messages)); m != nil {
		s.pair = pairOf(m[1], "USD")
	}
	if err := l.open(0, 0, 0); err != nil {
		return s, err
	}
	defer l.close()
	l.unfed = 0
	open := map[uint64]int64{} // shares by order
	for {
		ns, err := l.next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err == nil {
			err = l.follow(open)
		}
		if err != nil {
			return s, err
		}
		s.count(ns)
	}
}

// follow keeps the open orders of the survey: an id that is added while it is open would
// leave its first order in the book to the end.
func (l *lobster) follow(open map[uint64]int64) error {
	id := l.m.id
	switch l.m.kind {
	case lobsterAdd:
		if _, ok := open[id]; ok {
			return l.msg.fail("remove the line", "order %d is added a second time while it is open", id)
		}
		open[id] = l.m.size
	case lobsterDelete:
		delete(open, id)
	case lobsterReduce, lobsterExecute:
		if open[id] -= l.m.size; open[id] <= 0 {
			delete(open, id)
		}
	default:
		l.unfed++
	}
	return nil
}

func (l *lobster) open(fromNs int64, _, _ int) (err error) {
	l.close()
	if l.msg, err = openLines(l.messages); err != nil {
		return err
	}
	if l.book, err = openLines(l.books); err != nil {
		return err
	}
	l.from, l.seeded = fromNs, false
	l.orders = map[uint64]engine.OrderID{}
	l.anonymous = [2]map[int64]engine.OrderID{{}, {}}
	l.hidden = [2]map[int64]bool{{}, {}}
	l.m, l.missing = lobsterMessage{}, 0
	return nil
}

func (l *lobster) close() {
	for _, f := range []*lines{l.msg, l.book} {
		if f != nil {
			f.close()
		}
	}
	l.msg, l.book = nil, nil
}

func (l *lobster) next() (int64, error) {
	for {
		if err := l.read(); err != nil {
			return 0, err
		}
		if ns := l.day + l.m.ns; ns >= l.from {
			return ns, nil
		}
	}
}

func (l *lobster) read() error {
	line, err := l.msg.next()
	if errors.Is(err, io.EOF) {
		if _, err := l.book.next(); !errors.Is(err, io.EOF) {
			return l.book.fail("give the two files of one recording", "the message file has ended at row %d", l.msg.n)
		}
		return io.EOF
	}
	if err != nil {
		return err
	}
	before := l.m.ns
	if l.m, err = parseLobsterMessage(line); err != nil {
		return l.msg.refuse(err)
	}
	if l.m.ns < before {
		return l.msg.fail("sort the rows of both files by time", "time goes back")
	}
	line, err = l.book.next()
	if errors.Is(err, io.EOF) {
		return l.book.fail("give the two files of one recording", "the file has ended before message row %d", l.msg.n)
	}
	if err != nil {
		return err
	}
	l.row, l.prev = l.prev, l.row
	if err := parseLobsterRow(line, &l.row); err != nil {
		return l.book.refuse(err)
	}
	return nil
}

func (l *lobster) apply(d *desk) error {
	if l.opening = !l.seeded; l.opening {
		l.seeded = true
		return l.seed(d)
	}
	if l.m.kind == lobsterAdd && l.hidden[l.m.side][l.m.price] {
		// A new order out of view is not in the file: this price comes into view empty.
		l.forget(d, l.m.side, l.m.price)
		delete(l.hidden[l.m.side], l.m.price)
		if _, err := d.send(); err != nil {
			return err
		}
	}
	if err := l.enter(d); err != nil {
		return err
	}
	for side := range l.row.sides {
		l.window(d, engine.Side(side))
	}
	return l.sendAnonymous(d)
}

// seed makes the opening book: one order without a name per level, and behind it the
// order of the first message when that one is new.
func (l *lobster) seed(d *desk) error {
	for side, levels := range l.row.sides {
		for _, lvl := range levels {
			size := lvl.size
			if l.isNew(engine.Side(side), lvl.price) {
				if size -= l.m.size; size <= 0 {
					continue
				}
			}
			d.limit(d.maker, engine.Side(side), lvl.price, size, engine.GTC)
		}
	}
	if err := l.sendAnonymous(d); err != nil {
		return err
	}
	if !l.isNew(l.m.side, l.m.price) {
		return nil
	}
	return l.enter(d)
}

// isNew reports whether the message is a new order at that price of the book row.
func (l *lobster) isNew(side engine.Side, price int64) bool {
	return l.m.kind == lobsterAdd && l.m.side == side && l.m.price == price
}

// enter feeds the message.
func (l *lobster) enter(d *desk) error {
	o := d.orders[l.orders[l.m.id]]
	switch l.m.kind {
	case lobsterAdd:
		d.limit(d.maker, l.m.side, l.m.price, l.m.size, engine.GTC)
	case lobsterReduce, lobsterDelete:
		if o == nil {
			if o = d.orders[l.anonymous[l.m.side][l.m.price]]; o == nil {
				l.missing++
				return nil
			}
			l.take(d, o, l.m.size)
		} else if l.m.kind == lobsterDelete {
			d.cancel(o.id)
		} else {
			l.take(d, o, l.m.size)
		}
	case lobsterExecute:
		return l.execute(d)
	default:
		return nil
	}
	results, err := d.send()
	if err != nil {
		return err
	}
	if l.m.kind == lobsterAdd && results[0].order != 0 {
		l.orders[l.m.id] = results[0].order
	}
	if d.orders[l.orders[l.m.id]] == nil {
		delete(l.orders, l.m.id)
	}
	return nil
}

// take reduces an order in place, or ends it.
func (l *lobster) take(d *desk, o *resting, size int64) {
	if size >= o.open {
		d.cancel(o.id)
		return
	}
	d.setOpen(o, o.open-size)
}

// execute sends the aggressor of an execution and looks whom the engine filled.
func (l *lobster) execute(d *desk) error {
	want := l.orders[l.m.id]
	if d.orders[want] == nil { // never named, or forgotten while it was out of view
		want = l.anonymous[l.m.side][l.m.price]
	}
	d.limit(d.taker, l.m.side.Opposite(), l.m.price, l.m.size, engine.IOC)
	results, err := d.send()
	if err != nil {
		return err
	}
	l.executions.All++
	l.named.All++
	if f := results[0].fills; len(f) == 1 && f[0].price == l.m.price && f[0].amount == l.m.size {
		l.executions.Good++
		if f[0].maker == want {
			l.named.Good++
		}
	}
	if d.orders[want] == nil {
		delete(l.orders, l.m.id)
	}
	return nil
}

// window follows what the file shows of a deeper book. A level that slides out of view is
// kept, but who joins and leaves it there is invisible: when its price comes into view
// again it becomes one order without a name, as any other price that slides into view. The
// file has given that level only when its size is not the one we had.
func (l *lobster) window(d *desk, side engine.Side) {
	row, prev := &l.row, &l.prev
	if slices.Equal(row.sides[side], prev.sides[side]) {
		return
	}
	l.given.All++
	given, known := false, false
	for _, lvl := range row.sides[side] {
		delete(l.hidden[side], lvl.price)
		if prev.find(side, lvl.price) != 0 || l.isNew(side, lvl.price) {
			continue
		}
		if at := d.at(side, lvl.price); at != nil && at.amount == lvl.size {
			known = true
		} else {
			given = true
		}
		l.forget(d, side, lvl.price)
		d.limit(d.maker, side, lvl.price, lvl.size, engine.GTC)
	}
	if known && !given {
		l.known++
	}
	if given {
		l.given.Good++
	}
	worst := row.worst(side)
	for _, price := range sortedKeys(l.hidden[side]) {
		if !worse(side, price, worst) { // in view again, and not there
			l.forget(d, side, price)
			delete(l.hidden[side], price)
		}
	}
	for _, lvl := range prev.sides[side] {
		if row.find(side, lvl.price) == 0 && worse(side, lvl.price, worst) && d.at(side, lvl.price) != nil {
			l.hidden[side][lvl.price] = true
		}
	}
}

// forget cancels every order of ours at a price.
func (l *lobster) forget(d *desk, side engine.Side, price int64) {
	if lvl := d.at(side, price); lvl != nil {
		for _, o := range lvl.orders {
			d.cancel(o.id)
		}
	}
	delete(l.anonymous[side], price)
}

// sendAnonymous sends what window and seed asked for: each new order has no name.
func (l *lobster) sendAnonymous(d *desk) error {
	results, err := d.send()
	if err != nil {
		return err
	}
	for i := range results {
		if id := results[i].order; id != 0 {
			if o := d.orders[id]; o != nil {
				l.anonymous[o.side][o.price] = id
			}
		}
	}
	return nil
}
