package marketdata

import (
	"cmp"
	"slices"

	"github.com/tickhive/tickhive/engine"
)

// orderKey holds the members by which a list sorts an order. It is a copy, so the caller's goroutine can sort
// without reading the history.
type orderKey struct {
	createdNs int64
	id        engine.OrderID
}

func (o *orderRec) key() orderKey { return orderKey{o.createdNs, o.id} }

// newer compares orders by creation, newest first, ties by id descending.
func newer(a, b *orderRec) int { return newerKey(a.key(), b.key()) }

func newerKey(a, b orderKey) int {
	if c := cmp.Compare(b.createdNs, a.createdNs); c != 0 {
		return c
	}
	return cmp.Compare(b.id, a.id)
}

// orderPage collects the newest orders, at most want of them, in a heap whose root is the oldest.
type orderPage struct {
	want int
	heap []orderKey
}

// reserve allocates room for n more orders, up to want in total, so that adding them does not reallocate.
func (p *orderPage) reserve(n int) {
	p.heap = slices.Grow(p.heap, min(n, p.want-len(p.heap)))
}

// complete reports that the page is full and that every order in it was created after timeNs: an order created
// earlier cannot enter it.
func (p *orderPage) complete(timeNs int64) bool {
	return len(p.heap) >= p.want && p.heap[0].createdNs > timeNs
}

// add adds an order unless the page is full of newer ones. It costs at most the heap's height. Adding an order
// that was dropped before changes nothing.
func (p *orderPage) add(o orderKey) {
	if len(p.heap) < p.want {
		p.heap = append(p.heap, o)
		for i := len(p.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if newerKey(p.heap[i], p.heap[up]) <= 0 {
				return
			}
			p.heap[i], p.heap[up] = p.heap[up], p.heap[i]
			i = up
		}
		return
	}
	if newerKey(o, p.heap[0]) > 0 {
		return
	}
	p.heap[0] = o
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(p.heap) {
			return
		}
		if c+1 < len(p.heap) && newerKey(p.heap[c+1], p.heap[c]) > 0 {
			c++
		}
		if newerKey(p.heap[c], p.heap[i]) <= 0 {
			return
		}
		p.heap[i], p.heap[c] = p.heap[c], p.heap[i]
		i = c
	}
}

// sort turns the heap into a list, newest first. No order may be added afterwards.
func (p *orderPage) sort() { slices.SortFunc(p.heap, newerKey) }

// walkRecords limits the history records that a list query reads in one turn on the owner's goroutine. No
// command is matched during a turn, so the limit bounds the delay that a query causes: less than 0.1 ms
// (BenchmarkWorstTurn). A query of fewer records takes one turn.
const walkRecords = 1_000

// Orders returns a page of an account's orders, newest first by creation, ties by id descending.
//
// Orders runs on the caller's goroutine. turn must run a function on the owner's goroutine between
// two commands and wait for it (sequencer.Loop.Query). Each turn reads at most walkRecords
// records, and commands run between turns. The long work, merging and sorting, runs on the
// caller's goroutine.
//
// A page that takes one turn shows one instant. A page that takes several turns ranks the orders that
// the first turn found. An order that was in the list during all turns appears exactly once; an order
// that entered or left the list between turns appears at most once. Each row shows its order at the
// time of the last turn. An order that left the list meanwhile (it closed, or was evicted) is replaced
// by the next one; the walk collects one more page of orders for this.
func (h *History) Orders(q Query, turn func(func()) error) ([]OrderRecord, error) {
	if q.Limit <= 0 || q.Offset < 0 {
		return nil, nil
	}
	w := orderWalk{history: h, query: q, page: orderPage{want: q.Offset + 2*q.Limit}}
	for w.phase != walkDone {
		w.addFound()
		if err := turn(w.turn); err != nil {
			return nil, err
		}
	}
	return w.rows, nil
}

// walkPhase is the phase of a walk. A walk goes through the phases in this order.
type walkPhase uint8

const (
	walkStart  walkPhase = iota
	walkOpen             // read the account's open orders, newest first
	walkClosed           // read the account's closed orders, most recently ended first
	walkSort             // sort the collected keys
	walkPick             // read the rows of the sorted page
	walkDone
)

// orderWalk finds the orders of a page in one or more turns.
//
// Commands between two turns may close open orders and evict closed ones. The open order at which the
// walk continues is therefore pinned (History.pin). An order may close before the walk reaches it or
// after, so the walk also reads the orders that closed since its first turn, and leaves out those that
// the page already has (addLate).
//
// Owner: the history's goroutine during a turn, the caller's between two turns.
type orderWalk struct {
	history  *History
	query    Query
	phase    walkPhase
	left     int    // records that this turn may still read
	restored uint64 // History.restored when the walk started

	open   int32  // slot of the next open order to read, 0: none
	closed uint64 // 1 + number of the next closed order to read, 0: none
	since  uint64 // number of the first order that closed after the first turn

	page   orderPage
	found  []orderKey // found in this turn, not yet in page
	late   []orderKey // closed since the first turn, not yet in page
	picked int        // index in page of the next row to read
	rows   []OrderRecord
}

// addFound adds the keys found in the last turn to the page. It runs on the caller's goroutine, because it does
// not read the history.
func (w *orderWalk) addFound() {
	for _, k := range w.found {
		w.page.add(k)
	}
	w.found = w.found[:0]
	if len(w.late) > 0 {
		w.addLate()
	}
	switch {
	case w.phase == walkSort:
		w.page.sort()
		w.phase = walkPick
		// The owner's goroutine copies no rows.
		w.rows = slices.Grow(w.rows, max(0, min(w.query.Limit, len(w.page.heap)-w.picked)))
	case w.phase == walkPick:
	case w.deep():
		w.found = slices.Grow(w.found, walkRecords)
	default:
		w.page.reserve(walkRecords)
	}
}

// deep reports whether the page is far from the newest order. A turn then only collects keys, and prepare adds
// them to the heap, whose height makes each addition expensive. The walk may then read up to one turn more than
// the page needs.
func (w *orderWalk) deep() bool { return w.page.want > walkRecords }

func (w *orderWalk) add(o *orderRec) {
	if w.deep() {
		w.found = append(w.found, o.key())
		return
	}
	w.page.add(o.key())
}

// addLate adds the orders that closed during the walk, except those that were found while they were open. An
// order that was already too old for the page still is.
func (w *orderWalk) addLate() {
	found := make(map[engine.OrderID]bool, len(w.page.heap))
	for _, k := range w.page.heap {
		found[k.id] = true
	}
	for _, k := range w.late {
		if !found[k.id] {
			w.page.add(k)
		}
	}
	w.late = w.late[:0]
}

// turn reads at most walkRecords records. It runs on the history's goroutine.
func (w *orderWalk) turn() {
	w.left = walkRecords
	w.history.endCommand()
	if w.phase == walkStart || w.restored != w.history.restored {
		w.start()
	}
	if w.phase == walkOpen {
		w.findOpen()
	}
	if w.phase == walkClosed {
		w.findClosed()
	}
	if w.phase == walkSort && len(w.late)+len(w.found) == 0 && len(w.page.heap) <= walkRecords {
		w.page.sort() // so short that another turn would take longer than sorting here
		w.phase = walkPick
	}
	if w.phase == walkPick {
		w.pick()
	}
	w.history.visited += uint64(walkRecords - w.left)
}

func (w *orderWalk) start() {
	h, q := w.history, &w.query
	if int(q.Account) >= len(h.accounts) {
		w.phase = walkDone
		return
	}
	a := &h.accounts[q.Account]
	w.since, w.open, w.phase, w.restored = h.closed.end, a.openHead, walkOpen, h.restored
	w.page.heap, w.found, w.late, w.rows, w.picked = w.page.heap[:0], w.found[:0], w.late[:0], w.rows[:0], q.Offset
	count := int(a.openCount) + int(a.closedCount)
	switch {
	case q.Account == 0: // the built-in account: its open orders are not counted, and no API key belongs to it
		h.walkBuiltin(func(o *orderRec) bool {
			if q.selects(o) {
				w.add(o)
			}
			return true
		})
		return
	case q.Status == OnlyOpen:
		count = int(a.openCount)
	case q.Status != AnyStatus:
		count, w.open = int(a.closedCount), 0
	}
	if q.Offset >= count {
		w.phase = walkDone
	}
}

// findOpen continues reading the account's open orders.
func (w *orderWalk) findOpen() {
	h, q := w.history, &w.query
	h.unpin(w)
	for w.open != 0 {
		if w.left == 0 {
			h.pin(w)
			return
		}
		w.left--
		o := h.open.At(w.open)
		if w.page.complete(o.createdNs) || o.createdNs < q.SinceNs {
			break
		}
		if q.selects(o) {
			w.add(o)
		}
		w.open = o.next
	}
	w.phase, w.closed = walkClosed, h.accounts[q.Account].closed
	if q.Status == OnlyOpen {
		w.phase = walkSort
	}
}

// findClosed continues reading the account's closed orders, most recently ended first. An order is never
// created after its end, so the walk stops when every order in the full page was created after the next one's
// end.
func (w *orderWalk) findClosed() {
	h, q := w.history, &w.query
	for w.closed != 0 && h.closed.has(w.closed-1) {
		if w.left == 0 {
			return
		}
		w.left--
		o := h.closed.at(w.closed - 1)
		if w.page.complete(o.changedNs) || o.changedNs < q.SinceNs {
			break
		}
		switch {
		case !q.selects(o):
		case w.closed > w.since:
			w.late = append(w.late, o.key())
		default:
			w.add(o)
		}
		if o.prev == 0 {
			break
		}
		w.closed -= uint64(o.prev)
	}
	w.phase = walkSort
}

// pick reads the orders of the sorted page and fills the rows.
func (w *orderWalk) pick() {
	h, q := w.history, &w.query
	for ; w.picked < len(w.page.heap) && len(w.rows) < q.Limit; w.picked++ {
		if w.left == 0 {
			return
		}
		w.left--
		o, at := h.lookup(w.page.heap[w.picked].id)
		if o != nil && at&^placeMask != inRemembered && q.Status.matches(o.status) {
			w.rows = append(w.rows, h.record(o))
		}
	}
	w.phase = walkDone
}

// pin records that walk w continues at the open order w.open. If that order closes, advancePinned moves the
// walk to the next older one; otherwise another order could own the slot by the next turn.
func (h *History) pin(w *orderWalk) {
	h.open.At(w.open).bits |= bitPinned
	if h.pinned == nil {
		h.pinned = map[int32][]*orderWalk{}
	}
	h.pinned[w.open] = append(h.pinned[w.open], w)
}

// unpin removes the record that pin made, when the walk continues.
func (h *History) unpin(w *orderWalk) {
	walks := h.pinned[w.open]
	for i, held := range walks {
		if held == w {
			walks = append(walks[:i], walks[i+1:]...)
			break
		}
	}
	if len(walks) > 0 {
		h.pinned[w.open] = walks
		return
	}
	if delete(h.pinned, w.open); w.open != 0 {
		h.open.At(w.open).bits &^= bitPinned
	}
}

// advancePinned moves the walks that continue at a closing order to the next older open order.
func (h *History) advancePinned(i int32, o *orderRec) {
	walks := h.pinned[i]
	delete(h.pinned, i)
	o.bits &^= bitPinned
	for _, w := range walks {
		w.open = o.next
	}
	if o.next != 0 {
		h.open.At(o.next).bits |= bitPinned
		h.pinned[o.next] = append(h.pinned[o.next], walks...)
	}
}
