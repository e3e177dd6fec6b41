package private

import (
	"sync"
	"sync/atomic"

	"tickhive/engine"
)

// maxWaiting bounds the private messages that wait for the hub. Beyond it, every private
// stream starts over with a snapshot, so that no message is lost silently.
const maxWaiting = 100_000

// Queue is the bounded queue between the sequencer and the hub.
type Queue struct {
	watched atomic.Pointer[map[engine.AccountID]bool]
	mu      sync.Mutex
	waiting list
	dropped bool

	// Messages of withheld pairs. Owner: the sequencer's goroutine.
	withheld map[engine.PairID]*list
	kept     int    // in withheld
	released []list // of pairs that are no longer withheld
}

// list holds messages in chunks: one more never copies those that are there, for which the sequencer had to wait.
type list struct {
	chunks [][]Message
	n      int
}

// chunkMessages bounds a chunk.
const chunkMessages = 256

func (l *list) add(m Message) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		l.chunks = append(l.chunks, make([]Message, 0, min(max(l.n, 8), chunkMessages)))
		last++
	}
	l.chunks[last] = append(l.chunks[last], m)
	l.n++
}

// join moves the messages of another list behind those of l.
func (l *list) join(other list) {
	l.chunks = append(l.chunks, other.chunks...)
	l.n += other.n
}

// whole returns the messages as one slice.
func (l *list) whole() []Message {
	if len(l.chunks) == 1 {
		return l.chunks[0]
	}
	all := make([]Message, 0, l.n)
	for _, c := range l.chunks {
		all = append(all, c...)
	}
	return all
}

// Watch sets the accounts that have subscribers.
func (q *Queue) Watch(accounts map[engine.AccountID]bool) { q.watched.Store(&accounts) }

// Watched reports whether an account has subscribers. Any goroutine may call it.
func (q *Queue) Watched(a engine.AccountID) bool {
	m := q.watched.Load()
	return m != nil && (*m)[a]
}

// Idle reports whether no account has subscribers.
func (q *Queue) Idle() bool {
	m := q.watched.Load()
	return m == nil || len(*m) == 0
}

// Put queues a message.
func (q *Queue) Put(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.room(1) {
		q.waiting.add(m)
	}
}

// room reports whether n messages more may wait. If not, the queue drops all. The caller holds mu.
func (q *Queue) room(n int) bool {
	if q.waiting.n+n > maxWaiting {
		q.waiting, q.dropped = list{}, true
	}
	return !q.dropped
}

// Withhold sets the pairs whose messages are kept back. Release queues those of the others.
func (q *Queue) Withhold(pairs []engine.PairID) {
	before := q.withheld
	q.withheld = make(map[engine.PairID]*list, len(pairs))
	for _, p := range pairs {
		if q.withheld[p] = before[p]; before[p] == nil {
			q.withheld[p] = &list{}
		}
		delete(before, p)
	}
	for _, l := range before {
		q.kept -= l.n
		q.released = append(q.released, *l)
	}
}

// Release queues the messages of pairs that are no longer withheld.
func (q *Queue) Release() {
	for _, l := range q.released {
		q.mu.Lock()
		if q.room(l.n) {
			q.waiting.join(l)
		}
		q.mu.Unlock()
	}
	q.released = nil
}

// PutOf queues a message about a pair, or keeps it back while the pair is withheld. Too many are dropped
// like those of a full queue.
func (q *Queue) PutOf(p engine.PairID, m Message) {
	l, held := q.withheld[p]
	switch {
	case !held:
		q.Put(m)
	case q.kept < maxWaiting:
		l.add(m)
		q.kept++
	default:
		q.drop()
	}
}

// drop makes every private stream start over.
func (q *Queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.dropped = list{}, true
}

// Take returns the queued messages.
func (q *Queue) Take() (messages []Message, dropped bool) {
	q.mu.Lock()
	l := q.waiting
	dropped = q.dropped
	q.waiting, q.dropped = list{}, false
	q.mu.Unlock()
	return l.whole(), dropped
}
