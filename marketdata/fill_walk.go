package marketdata

// Fills returns a page of an account's fills, newest first. A trade of the account with itself is two fills.
//
// turn has the same meaning as in Orders. Trades that happen during the walk do not change the
// page: the walk starts at the newest fill of its first turn and goes back, and a fill never
// changes. When the oldest fills are evicted before the walk reaches them, the list ends there.
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

// fillWalk collects the fills of a page in one or more turns. It stores the number of the next fill between
// turns; numbers are never reused, so it stays valid.
//
// Owner: the history's goroutine during a turn, the caller's between two turns.
type fillWalk struct {
	history  *History
	query    Query
	started  bool
	done     bool
	restored uint64 // History.restored when the walk started
	next     uint64 // 1 + number of the next fill to read, 0: no more
	skip     int    // rows to skip before the page begins
	rows     []Fill
}

// turn reads at most walkRecords fill records. It runs on the history's goroutine.
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

// read adds the rows of one trade to the page and sets next to the account's next older fill.
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
