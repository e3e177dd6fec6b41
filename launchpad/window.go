package launchpad

import "tickhive/internal/fifo"

// WindowSec is the length of the volume window: at second T a swap at t counts while
// T - 86400 < floor(t) <= T (docs/contract/market-data.md#ticker).
const WindowSec = 86400

// mark holds the amount of quote currency that one token traded in one second.
type mark struct {
	sec   int64
	token uint32
	quote Amount
}

// window holds the marks of all tokens that are within the 24 h, oldest first. The length is the same for every
// token, so one first-in, first-out queue serves all.
type window struct{ fifo.Queue[mark] }

// fullAt reports whether there are limit marks at nowSec. Marks that have left by then do not count, whether or not they
// have been removed.
func (w *window) fullAt(nowSec int64, limit int) bool {
	return w.Len() >= limit && w.At(w.Len()-limit).sec+WindowSec > nowSec
}

func (w *window) push(m mark) {
	if n := w.Len(); n > 0 {
		if last := w.At(n - 1); last.sec == m.sec && last.token == m.token {
			last.quote = last.quote.Add(m.quote)
			return
		}
	}
	w.Push(m)
}

// nextExpiry returns the second at which the oldest mark leaves the window.
func (w *window) nextExpiry() int64 { return w.At(0).sec + WindowSec }

// slideOne removes the oldest mark and lowers its token's window.
func (s *State) slideOne() {
	m := s.window.Pop()
	t := s.edit(m.token)
	t.Window = t.Window.Sub(m.quote)
	t.derive(&s.opt)
	s.put(t)
}
