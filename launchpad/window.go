package launchpad

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
type window struct {
	marks []mark
	head  int // number of marks at the front that have left
}

func (w *window) len() int { return len(w.marks) - w.head }

func (w *window) full() bool { return w.len() >= MaxWindowMarks }

func (w *window) push(m mark) {
	if n := len(w.marks); n > w.head && w.marks[n-1].sec == m.sec && w.marks[n-1].token == m.token {
		w.marks[n-1].quote = w.marks[n-1].quote.Add(m.quote)
		return
	}
	if w.head > 1024 && w.head > len(w.marks)/2 {
		w.marks = append(w.marks[:0], w.marks[w.head:]...)
		w.head = 0
	}
	w.marks = append(w.marks, m)
}

// nextExpiry returns the second at which the oldest mark leaves the window, 0 when there is no mark.
func (w *window) nextExpiry() int64 {
	if w.len() == 0 {
		return 0
	}
	return w.marks[w.head].sec + WindowSec
}

func (w *window) pop() mark {
	m := w.marks[w.head]
	w.head++
	return m
}

// slide removes the marks that no longer count at nowSec and lowers their tokens' windows.
func (s *State) slide(nowSec int64) {
	for s.window.len() > 0 && s.window.nextExpiry() <= nowSec {
		m := s.window.pop()
		t := s.edit(m.token)
		t.Window = t.Window.Sub(m.quote)
		t.derive(&s.opt)
		s.put(t)
	}
}
