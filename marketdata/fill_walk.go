package marketdata

// Fills returns a page of an account's fills, newest first. A trade of the account with itself
// is two fills.
//
// turn is the same as for Orders. The rows are the rows that the first turn would have found:
// the walk never reaches later fills, and a fill never changes. The oldest fills may be evicted
// before the walk reaches them; then the list ends there.
func (h *History) Fills(q Query, turn func(func()) error) ([]Fill, error) {
	if q.Limit <= 0 || q.Offset < 0 {
		return nil, nil
	}
	w := fillWalk{history: h, query: q}
	for !w.done {
		if err := turn(w.turn); err != nil {
			return nil, err
		}
	}
	return w.rows, nil
}

// fillWalk finds the fills of a page, some in each turn. Numbers of fills are never reused, so
// its position stays valid while it waits.
//
// Owner: the history's goroutine during a turn, the caller's between two turns.
type fillWalk struct {
	history  *History
	query    Query
	started  bool
	done     bool
	restored uint64 // the history's restored count when the walk started
	next     uint64 // 1 + number of the next fill, 0: none
	skip     int    // rows still to skip
	rows     []Fill
}

// turn reads at most walkRecords records, on the owner's goroutine.
func (w *fillWalk) turn() {
	h, q := w.history, &w.query
	if !w.started || w.restored != h.restored {
		w.started, w.restored, w.skip, w.rows = true, h.restored, q.Offset, w.rows[:0]
		if int(q.Account) >= len(h.accounts) || q.Offset >= int(h.accounts[q.Account].fillCount) {
			w.done = true
			return
		}
		w.next = h.accounts[q.Account].fill
	}
	for range walkRecords {
		if w.next == 0 || !h.fills.has(w.next-1) {
			w.done = true
			return
		}
		h.visited++
		if w.read(h.fills.at(w.next - 1)); w.done {
			return
		}
	}
}

// read adds the rows of one trade and steps to the account's next older one.
func (w *fillWalk) read(f *fillRec) {
	q := &w.query
	if f.timeNs < q.SinceNs {
		w.done = true
		return
	}
	for _, maker := range [...]bool{false, true} {
		if (maker && f.makerAccount != q.Account) || (!maker && f.takerAccount != q.Account) ||
			!q.matches(f.taker.Pair(), f.timeNs) {
			continue
		}
		if w.skip > 0 {
			w.skip--
			continue
		}
		w.rows = append(w.rows, f.fill(maker, w.history.pairs[f.taker.Pair()].instrument.DigitsTotal()))
		if len(w.rows) == q.Limit {
			w.done = true
			return
		}
	}
	back := f.takerAccountPrev
	if f.takerAccount != q.Account {
		back = f.makerAccountPrev
	}
	if back == 0 {
		w.next = 0
		return
	}
	w.next -= uint64(back)
}
