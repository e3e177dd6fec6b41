package node

import (
	"sync"
	"time"

	"github.com/tickhive/tickhive/internal/stream"
)

const (
	// stateEvery is the time between two states that States keeps, by the time of their messages.
	stateEvery = 100 * time.Millisecond
	maxStates  = 1024
)

// States keeps some of the states that a stream had, so that a snapshot can name one whose records it has all: the
// first one, the newest one, and between them one each stateEvery, the older the fewer. Any goroutine may use it.
type States struct {
	mu   sync.Mutex
	kept []stream.State // oldest first
}

// Note notes the state behind a message that counts.
func (s *States) Note(at stream.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.kept)
	if n > 1 && at.SentNs-s.kept[n-2].SentNs < int64(stateEvery) {
		s.kept[n-1] = at
		return
	}
	if n == maxStates { // every other one of the older half goes
		thin := s.kept[:0]
		for i := range s.kept {
			if i%2 == 0 || i >= maxStates/2 {
				thin = append(thin, s.kept[i])
			}
		}
		s.kept = thin
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
