package replay

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/sim/replay/format"
)

// logLate limits the delay between an event and its line in the log. Recorded books are compared with our
// states up to logLate earlier and later. When the log reports a fill that our engine did not make, the fill is
// enforced logLate later.
const logLate = int64(time.Second)

// logFeed feeds an order log. It enters created orders as limit orders, which the engine matches, and cancels
// the orders whose deletion the log reports. It enforces a fill of the log only where the engine did not make
// it.
type logFeed struct {
	*feeder
	logStart
	n       int  // number of records read
	started bool // the opening book has been entered

	gone   goneIDs
	odd    oddLines
	seen   [2]map[int64]bool // prices that a recorded book has had, by side
	due    []dueAmount
	newest map[uint64]int64 // time in ns of the newest entry in due, by order id
}

// dueAmount is the open amount that an order must have at ns, unless the log reports another one before.
type dueAmount struct {
	ns     int64
	id     uint64
	amount int64 // open lots
}

func newLogFeed(f *feeder, start logStart) *logFeed {
	return &logFeed{
		feeder: f, logStart: start, gone: newGoneIDs(start.most),
		seen: [2]map[int64]bool{{}, {}}, newest: map[uint64]int64{},
	}
}

func (l *logFeed) skip(r *format.Record) bool {
	if l.n++; l.n >= l.first {
		return false
	}
	if r.Kind == format.Cancel {
		l.gone.add(r.ID, r.Amount == 0)
	}
	return true
}

func (l *logFeed) feed(r *format.Record) error {
	if !l.started {
		l.started = true
		return l.seed(r)
	}
	if err := l.enforce(); err != nil {
		return err
	}
	switch r.Kind {
	case format.Place:
		return l.create(r)
	case format.Change:
		return l.change(r)
	case format.Cancel:
		return l.end(r)
	case format.Book:
		return l.conform(r)
	default:
		return nil
	}
}

// create enters an order, unless the log has already reported its deletion. A canceled order is then never
// entered. A filled order is entered and closed logLate later, so that it can trade.
func (l *logFeed) create(r *format.Record) error {
	if r.Amount == 0 {
		return nil // the order was filled on arrival, before its line
	}
	filled, late := l.gone.filled[r.ID]
	if late {
		l.odd.createdLate++
	}
	_, open := l.orders[r.ID]
	if open && !late {
		l.odd.createdTwice++
		return nil
	}
	if late && (!filled || open) {
		return nil
	}
	if err := l.place(r.ID, r.Side, r.Price, r.Amount, 0); err != nil || !late {
		return err
	}
	l.later(r.ID, 0)
	return nil
}

// change applies a line with a new price or amount. For a new price it moves the order: this exchange moves
// market orders from level to level. A lower amount at the same price is a fill, which the engine makes itself;
// enforce checks it when the log can be late no more.
func (l *logFeed) change(r *format.Record) error {
	_, known := l.orders[r.ID]
	switch o := l.open(r.ID); {
	case l.gone.has(r.ID):
		l.odd.changedLate++
	case !known:
		l.odd.changedUnknown++
	case o == nil: // our engine has already filled the order
	case o.price == r.Price || r.Amount == 0:
		l.later(r.ID, r.Amount)
	default:
		l.entry.move(o, r.Price, r.Amount)
		_, err := l.entry.send()
		return err
	}
	return nil
}

// later schedules a comparison of the order's open amount in logLate ns.
func (l *logFeed) later(id uint64, amount int64) {
	at := l.entry.now + logLate
	l.due = append(l.due, dueAmount{at, id, amount})
	l.newest[id] = at
}

// end applies the deletion of an order. It cancels an order that was canceled. It leaves a filled order to the
// engine until enforce checks it. A canceled order without an earlier line is subtracted from the unnamed order
// of its level, unless the log creates it later (early).
func (l *logFeed) end(r *format.Record) error {
	id, known := l.orders[r.ID]
	filled := r.Amount == 0
	if !l.gone.add(r.ID, filled) {
		l.odd.deletedTwice++
		return nil
	}
	o := l.entry.orders[id]
	switch {
	case filled && known:
		l.later(r.ID, 0)
		return nil
	case filled || l.early[r.ID]:
		return nil
	case known:
		delete(l.orders, r.ID)
		if o != nil {
			l.entry.cancel(id)
		}
	default:
		if o = l.unnamed(r.Side, r.Price); o != nil {
			l.entry.lower(o, o.open-r.Amount)
		}
	}
	_, err := l.entry.send()
	return err
}

// enforce applies the amounts that are due: when the log reported logLate ago that an order was filled or has
// another open amount, and the engine did not do the same, enforce lowers or ends the order.
func (l *logFeed) enforce() error {
	n := 0
	for ; n < len(l.due) && l.due[n].ns <= l.entry.now; n++ {
		due := &l.due[n]
		if l.newest[due.id] != due.ns {
			continue
		}
		delete(l.newest, due.id)
		o := l.open(due.id)
		if o == nil || o.open == due.amount {
			continue
		}
		l.entry.lower(o, due.amount)
		l.check.given.Good++
		if _, err := l.entry.send(); err != nil {
			return err
		}
	}
	l.due = l.due[n:]
	return nil
}

// conform corrects our book by a recorded book where the log has no information: at levels with an unnamed
// order, and at prices that no recorded book has had before.
func (l *logFeed) conform(r *format.Record) error {
	for side, levels := range r.Levels {
		if err := l.conformSide(engine.Side(side), levels); err != nil {
			return err
		}
	}
	return l.sendAnonymous()
}

func (l *logFeed) conformSide(side engine.Side, levels []format.Level) error {
	recorded := make(map[int64]bool, len(levels))
	for _, want := range levels {
		recorded[want.Price] = true
		l.check.given.All++
		o := l.unnamed(side, want.Price)
		if o == nil && l.seen[side][want.Price] {
			continue
		}
		l.seen[side][want.Price] = true
		have := int64(0)
		if at := l.entry.at(side, want.Price); at != nil {
			have = at.amount
		}
		if have == want.Amount {
			continue
		}
		l.check.given.Good++
		switch {
		case o != nil:
			l.entry.lower(o, o.open+want.Amount-have)
		case want.Amount > have:
			if err := l.prepend(side, want.Price, want.Amount-have); err != nil {
				return err
			}
		}
	}
	if len(levels) == 0 {
		return nil
	}
	worst := levels[len(levels)-1].Price
	for _, price := range sortedKeys(l.anonymous[side]) {
		o := l.unnamed(side, price)
		if o == nil {
			delete(l.anonymous[side], price)
		} else if !recorded[price] && format.Worse(side, worst, price) {
			l.entry.cancel(o.id)
			l.check.given.Good++
		}
	}
	return nil
}

// prepend enters an unnamed order in front of all our orders at a price: an order that the log does not name
// rested there before every named one.
func (l *logFeed) prepend(side engine.Side, price, amount int64) error {
	var behind []resting
	if at := l.entry.at(side, price); at != nil {
		for _, o := range at.orders {
			behind = append(behind, *o)
			l.entry.cancel(o.id)
		}
	}
	// post-only, because an order that the log does not name must not trade
	l.entry.place(side, price, amount, engine.FlagPostOnly)
	if err := l.sendAnonymous(); err != nil {
		return err
	}
	for _, o := range behind {
		if err := l.place(o.name, side, price, o.open, engine.FlagPostOnly); err != nil {
			return err
		}
	}
	return nil
}

// logStart holds the facts about a log that the replay needs before it feeds the first record.
type logStart struct {
	first int // number of the first record to feed; it is a book
	known map[uint64]knownOrder
	early map[uint64]bool // ids whose deletion comes before their creation
	most  int             // bound of the deleted ids to store
}

// knownOrder is an order that rests when the replay starts.
type knownOrder struct {
	side          engine.Side
	price, amount int64
}

// logReader holds the state of readStart.
type logReader struct {
	logStart
	fromNs  int64
	n       int
	gone    goneIDs
	created map[uint64]bool
	later   map[uint64]knownOrder // orders that are first named after the start and not created after it
	firstID uint64                // lowest id that is created after the start
}

// readStart reads the log once. It finds the first book at or after fromNs and the orders that rested at that
// time. These are the orders created before and not deleted, and the orders that a later line changes or
// cancels, with an id below every id created later. Each rested with at least the amount that the log first
// reports; an unnamed order covers the rest of the level. most bounds the deleted ids to store.
func readStart(r format.Reader, s *format.Survey, fromNs int64, most int) (logStart, error) {
	if err := r.Open(s); err != nil {
		return logStart{}, err
	}
	defer r.Close()
	l := logReader{
		logStart: logStart{known: map[uint64]knownOrder{}, early: map[uint64]bool{}, most: most}, fromNs: fromNs,
		gone: newGoneIDs(most), created: map[uint64]bool{}, later: map[uint64]knownOrder{}, firstID: ^uint64(0),
	}
	var rec format.Record
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return logStart{}, err
		}
		l.take(&rec)
	}
	if l.first == 0 {
		return logStart{}, fmt.Errorf("replay: no book at or after %s; start earlier", format.NsText(fromNs))
	}
	for id, o := range l.later {
		if id < l.firstID && !l.created[id] {
			l.known[id] = o
		}
	}
	return l.logStart, nil
}

// take applies one record of the log.
func (l *logReader) take(r *format.Record) {
	l.n++
	o := knownOrder{r.Side, r.Price, r.Amount}
	late, again := l.gone.has(r.ID), l.created[r.ID]
	switch r.Kind {
	case format.Book:
		if l.first == 0 && r.NS >= l.fromNs {
			l.first = l.n
		}
		return
	case format.Cancel:
		l.gone.add(r.ID, r.Amount == 0)
	case format.Place:
		l.created[r.ID] = true
		if l.first != 0 {
			l.firstID = min(l.firstID, r.ID)
		}
		if late && len(l.early) < l.most {
			l.early[r.ID] = true
		}
	case format.Change:
	default:
		return
	}
	_, known := l.known[r.ID]
	_, later := l.later[r.ID]
	switch before := l.first == 0; {
	case late:
	case before && r.Kind == format.Place && !again, before && r.Kind == format.Change && known:
		l.known[r.ID] = o
	case before && r.Kind == format.Cancel:
		delete(l.known, r.ID)
	case !before && r.Kind != format.Place && r.Amount != 0 && !again && !later:
		l.later[r.ID] = o
	}
}

// bookPlace is a price on one side of the book.
type bookPlace struct {
	side  engine.Side
	price int64
}

// seed enters the opening book. At each price it first enters an unnamed order for the amount that no known
// order accounts for, then the known orders by ascending id. All are post-only, because unnamed orders must not
// trade.
func (l *logFeed) seed(r *format.Record) error {
	explained := map[bookPlace]int64{}
	ids := slices.Sorted(maps.Keys(l.known))
	for _, id := range ids {
		o := l.known[id]
		explained[bookPlace{o.side, o.price}] += o.amount
	}
	for i, levels := range r.Levels {
		side := engine.Side(i)
		for _, level := range levels {
			l.seen[side][level.Price] = true
			if rest := level.Amount - explained[bookPlace{side, level.Price}]; rest > 0 {
				l.entry.place(side, level.Price, rest, engine.FlagPostOnly)
			}
		}
	}
	if err := l.sendAnonymous(); err != nil {
		return err
	}
	for _, id := range ids {
		o := l.known[id]
		if err := l.place(id, o.side, o.price, o.amount, engine.FlagPostOnly); err != nil {
			return err
		}
	}
	return nil
}

// maxGone bounds the deleted ids that are stored: about two days of the log. Lines about a deleted order
// usually come near its deletion. At the bound the oldest id is dropped and counted. A later line with that id
// is treated as a line about an order that rested before the log begins.
const maxGone = 262_144

// goneIDs stores the newest deleted ids, and for each whether its order was filled.
type goneIDs struct {
	filled    map[uint64]bool
	ring      []uint64 // in order of deletion; a ring once it is full, whose oldest id is at index at
	at        int
	most      int
	forgotten int
}

func newGoneIDs(most int) goneIDs { return goneIDs{filled: map[uint64]bool{}, most: most} }

// has reports whether the id is a stored deleted id.
func (g *goneIDs) has(id uint64) bool {
	_, ok := g.filled[id]
	return ok
}

// add stores a deleted id. It returns false when the id was stored before.
func (g *goneIDs) add(id uint64, filled bool) bool {
	if g.has(id) {
		return false
	}
	g.filled[id] = filled
	if len(g.ring) < g.most {
		g.ring = append(g.ring, id)
		return true
	}
	delete(g.filled, g.ring[g.at])
	g.ring[g.at] = id
	g.at = (g.at + 1) % g.most
	g.forgotten++
	return true
}

// oddLines counts lines of a log that contradict earlier lines.
type oddLines struct {
	deletedTwice, createdLate, createdTwice, changedLate, changedUnknown int
}

func (l *logFeed) notes() []string {
	notes := noted(nil, l.odd.deletedTwice, "%d deletions of ids that were deleted before: left out")
	notes = noted(notes, l.odd.createdLate,
		"%d creations of ids that were deleted before: they do not stay in the book")
	notes = noted(notes, l.odd.createdTwice, "%d creations of ids that are open: left out")
	notes = noted(notes, l.odd.changedLate, "%d changes of ids that were deleted before: left out")
	notes = noted(notes, l.odd.changedUnknown, "%d changes of ids that the log never created: left out")
	return noted(notes, l.gone.forgotten, "%d deleted ids forgotten, the oldest: too many to remember")
}
