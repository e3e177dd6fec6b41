package fault

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Switch holds the rules in force. Any goroutine may call its methods. The nil Switch has no rules.
type Switch struct {
	requests atomic.Pointer[[]*Active] // nil: none
	streams  atomic.Pointer[[]*Active]
	kept     atomic.Int64 // bytes of all stores

	mu   sync.Mutex // guards the fields below
	all  []*Active
	next uint64
}

// Requests returns the rules for requests, nil when there are none.
func (s *Switch) Requests() []*Active {
	if s == nil {
		return nil
	}
	return listOf(&s.requests)
}

// Streams returns the rules for messages of streams, nil when there are none.
func (s *Switch) Streams() []*Active {
	if s == nil {
		return nil
	}
	return listOf(&s.streams)
}

func listOf(at *atomic.Pointer[[]*Active]) []*Active {
	if list := at.Load(); list != nil {
		return *list
	}
	return nil
}

// Add puts rules in force together. nowNs is the time of the process clock at which For begins.
func (s *Switch) Add(rules []Rule, nowNs int64) ([]*Active, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge(nowNs)
	if len(s.all)+len(rules) > MaxRules {
		return nil, fmt.Errorf("at most %d rules may be in force; remove some first", MaxRules)
	}
	var added []*Active
	for _, r := range rules {
		if r.For != 0 {
			r.UntilNs, r.For = max(nowNs, r.FromNs)+int64(r.For), 0
		}
		s.next++
		a := &Active{Rule: r, ID: s.next, Ended: make(chan struct{}), identity: identityOf(&r)}
		if r.Action == Stale {
			a.Answers = &Store{kept: &s.kept}
		}
		added = append(added, a)
	}
	s.all = append(s.all, added...)
	s.publish()
	return added, nil
}

// purge removes the rules whose time is over.
func (s *Switch) purge(nowNs int64) {
	s.remove(func(a *Active) bool { return a.UntilNs != 0 && a.UntilNs <= nowNs })
}

// Remove takes a rule out of force; id 0 takes out all. It returns their number.
func (s *Switch) Remove(id uint64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(func(a *Active) bool { return id == 0 || a.ID == id })
}

func (s *Switch) remove(leaves func(*Active) bool) int {
	before := len(s.all)
	s.all = slices.DeleteFunc(s.all, func(a *Active) bool {
		if !leaves(a) {
			return false
		}
		close(a.Ended)
		a.Answers.drop()
		return true
	})
	s.publish()
	return before - len(s.all)
}

// publish makes the rules visible to readers.
func (s *Switch) publish() {
	var requests, streams []*Active
	for _, a := range s.all {
		if a.Stream() {
			streams = append(streams, a)
		} else {
			requests = append(requests, a)
		}
	}
	for at, list := range map[*atomic.Pointer[[]*Active]][]*Active{&s.requests: requests, &s.streams: streams} {
		if list == nil {
			at.Store(nil)
		} else {
			at.Store(&list)
		}
	}
}

// List returns the rules in force at a time of the process clock, and removes those whose time is over.
func (s *Switch) List(nowNs int64) []*Active {
	if s == nil || s.requests.Load() == nil && s.streams.Load() == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purge(nowNs)
	return slices.Clone(s.all)
}

// Bounds of the answers that all Stale rules keep.
const (
	maxKeptBytes   = 32 << 20
	maxKeptAnswers = 1000 // of a rule
)

// StaleAnswer is an answer of the exchange that a Stale rule has kept to send it again later.
type StaleAnswer struct {
	Headers [][2]string
	Body    []byte
	At      time.Time
}

// Store keeps the answers that a Stale rule repeats. Any goroutine may use it.
type Store struct {
	kept    *atomic.Int64
	mu      sync.Mutex
	answers map[string]*StaleAnswer
	dropped bool
}

// Get returns the answer kept for a target, nil when there is none younger than age.
func (s *Store) Get(target string, now time.Time, age time.Duration) *StaleAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[target]
	if a == nil || now.Sub(a.At) < age {
		return a
	}
	s.kept.Add(-int64(len(a.Body)))
	delete(s.answers, target)
	return nil
}

// Put keeps an answer. It reports false when a bound is reached.
func (s *Store) Put(target string, a *StaleAnswer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.answers[target]; old != nil {
		s.kept.Add(-int64(len(old.Body)))
		delete(s.answers, target)
	}
	if s.dropped || len(s.answers) >= maxKeptAnswers {
		return false
	}
	if s.kept.Add(int64(len(a.Body))) > maxKeptBytes {
		s.kept.Add(-int64(len(a.Body)))
		return false
	}
	if s.answers == nil {
		s.answers = make(map[string]*StaleAnswer)
	}
	s.answers[target] = a
	return true
}

// drop discards the answers of a rule that is removed.
func (s *Store) drop() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		s.kept.Add(-int64(len(a.Body)))
	}
	s.answers, s.dropped = nil, true
}
