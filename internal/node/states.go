package node

import (
	"sync"

	"tickhive/internal/stream"
)

// maxStates is the number of states that States keeps.
const maxStates = 256

// States keeps some of the states that a stream had, so that a snapshot can name one whose records it has all. Any
// goroutine may use it.
type States struct {
	mu   sync.Mutex
	kept []stream.State // oldest first
}

// Note notes the state behind a message that counts.
func (s *States) Note(at stream.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == maxStates { // every other one goes: the newest and the oldest ones matter
		half := s.kept[:0]
		for i := range s.kept {
			if i%2 == 0 || i >= maxStates-8 {
				half = append(half, s.kept[i])
			}
		}
		s.kept = half
	}
	s.kept = append(s.kept, at)
}

// Before returns the newest state whose records all are at or before a position; the zero State: none is known.
func (s *States) Before(pos uint64) (at stream.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.kept {
		if s.kept[i].End.Seq <= pos {
			at = s.kept[i]
		}
	}
	return at
}
