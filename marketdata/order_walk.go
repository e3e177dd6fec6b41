package marketdata

import (
	"slices"

	"tickhive/engine"
)

// walkRecords is how many records of the history a list reads in one turn on the owner's
// goroutine, which matches no command meanwhile. It limits how long a request delays the
// commands: less than 0.1 ms (BenchmarkWorstTurn). A shorter list takes one turn.
const walkRecords = 1_000

// Orders returns a page of an account's orders, newest first by creation, ties by id.
//
// Orders runs on the caller's goroutine. turn runs a function on the owner's goroutine between
// two commands and waits for it (sequencer.Loop.Query). Each turn reads at most walkRecords
// records, and commands run between turns. The long work, merging and sorting, runs on the
// caller's goroutine.
//
// A page that takes one turn shows one instant. A page that takes more ranks the orders that the
// first turn found: an order that was in the list from the first turn to the last has one place
// in it; an order that entered or left meanwhile has one or none. Rows show their orders at the
// time of the last turn. An order that has closed meanwhile (in a list of open orders) or was
// evicted leaves its row to the next one; the walk collects one spare page for this.
func (h *History) Orders(q Query, turn func(func()) error) ([]OrderRecord, error) {
	if q.Limit <= 0 || q.Offset < 0 {
		return nil, nil
	}
	w := orderWalk{history: h, query: q, page: orderPage{want: q.Offset + 2*q.Limit}}
	for w.phase != walkDone {
		w.prepare()
		if err := turn(w.turn); err != nil {
			return nil, err
		}
	}
	return w.rows, nil
}

// walkPhase is the phase of a walk; phases follow each other in this order.
type walkPhase uint8

const (
	walkStart  walkPhase = iota
	walkOpen             // the account's open orders, newest first
	walkClosed           // the account's closed orders, by their end
	walkSort             // nothing more to find
	walkPick             // rows of the sorted page
	walkDone
)

// orderWalk finds the orders of a page, some in each turn.
//
// While it waits, open orders close and closed ones are evicted. The order that it continues
// from is therefore pinned (see pin). An order can close before or after the walk reaches it, so
// the walk also reads the orders closed since the first turn and leaves out the ones that are
// already in the page (see late).
//
// Owner: the history's goroutine during a turn, the caller's between two turns.
type orderWalk struct {
	history  *History
	query    Query
	phase    walkPhase
	left     int    // records that this turn may still read
	restored uint64 // the history's restored count when the walk started

	open   uint32 // 1 + slab place of the next open order, 0: none
	closed uint64 // 1 + number of the next closed order, 0: none
	since  uint64 // number of the first order that closed after the first turn

	page   orderPage
	found  []orderKey // of this turn, not yet in page
	late   []orderKey // closed since the first turn, not yet in page
	picked int        // place in page of the next row
	rows   []OrderRecord
}

// prepare does the work that needs no history, on the caller's goroutine.
func (w *orderWalk) prepare() {
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
	case w.phase == walkPick:
	case w.deep():
		w.found = slices.Grow(w.found, walkRecords)
	default:
		w.page.reserve(walkRecords)
	}
}

// deep reports whether the page is so far from the newest order that a turn only collects the
// keys and leaves adding them to prepare: adding one costs the height of the heap. The walk then
// reads on for up to one turn after the page is complete.
func (w *orderWalk) deep() bool { return w.page.want > walkRecords }

func (w *orderWalk) add(o *orderRec) {
	if w.deep() {
		w.found = append(w.found, o.key())
		return
	}
	w.page.add(o.key())
}

// addLate adds the orders that closed meanwhile, except those that were found while they were
// open. An order that was found and was too old for the page is still too old.
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

// turn reads at most walkRecords records, on the owner's goroutine.
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
		w.page.sort() // so short that another turn would take longer
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
	case q.Account == 0: // its open orders are not counted, and no API key signs for it
		h.walkBuiltin(func(o *orderRec) bool {
			if q.matches(o.id.Pair(), o.createdNs) && q.Status.matches(o.status) {
				w.add(o)
			}
			return true
		})
		return
	case q.Status == OnlyOpen:
		count = int(a.openCount)
	case q.Status == OnlyCanceled:
		count, w.open = int(a.closedCount), 0
	}
	if q.Offset >= count {
		w.phase = walkDone
	}
}

// findOpen continues through the account's open orders.
func (w *orderWalk) findOpen() {
	h, q := w.history, &w.query
	h.unpin(w)
	for w.open != 0 {
		if w.left == 0 {
			h.pin(w)
			return
		}
		w.left--
		o := h.open.at(w.open - 1)
		if w.page.complete(o.createdNs) || o.createdNs < q.SinceNs {
			break
		}
		if q.matches(o.id.Pair(), o.createdNs) && q.Status.matches(o.status) {
			w.add(o)
		}
		w.open = o.next
	}
	w.phase, w.closed = walkClosed, h.accounts[q.Account].closed
	if q.Status == OnlyOpen {
		w.phase = walkSort
	}
}

// findClosed continues through the closed orders, newest end first. An order cannot have been
// created after its end, so the walk stops once every order of the page is newer.
func (w *orderWalk) findClosed() {
	h, q := w.history, &w.query
	for w.closed != 0 && h.closed.has(w.closed-1) {
		if w.left == 0 {
			return
		}
		w.left--
		o := h.closed.at(w.closed - 1)
		if w.page.complete(o.endedNs) || o.endedNs < q.SinceNs {
			break
		}
		switch {
		case !q.matches(o.id.Pair(), o.createdNs) || !q.Status.matches(o.status):
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

// pick reads the rows of the page.
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

// pin makes the walk advance to the next older order when the order that it continues from
// closes: another order may own the slab place by the next turn.
func (h *History) pin(w *orderWalk) {
	h.open.at(w.open - 1).bits |= bitPinned
	if h.pinned == nil {
		h.pinned = map[uint32][]*orderWalk{}
	}
	h.pinned[w.open] = append(h.pinned[w.open], w)
}

// unpin ends the hold of a walk that continues.
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
		h.open.at(w.open - 1).bits &^= bitPinned
	}
}

// advancePinned moves the walks that hold a closing order to the next older open order.
func (h *History) advancePinned(i uint32, o *orderRec) {
	walks := h.pinned[i+1]
	delete(h.pinned, i+1)
	o.bits &^= bitPinned
	for _, w := range walks {
		w.open = o.next
	}
	if o.next != 0 {
		h.open.at(o.next - 1).bits |= bitPinned
		h.pinned[o.next] = append(h.pinned[o.next], walks...)
	}
}
