package stream

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// PrivateFeed is the interface of the accounts and the order history for the hub. The hub's goroutine calls Watch,
// Take, Snapshot and Verify; the sequencer's goroutine calls Fold and Publish.
type PrivateFeed interface {
	// Fold records the events of watched accounts.
	Fold(events []engine.Event)
	// Publish makes messages from the recorded events.
	Publish()
	// Withhold sets the pairs whose messages are kept back, because their command is unfinished.
	Withhold(pairs []engine.PairID)
	// Watch sets the accounts that have subscribers. The caller must not change the map afterwards.
	Watch(accounts map[engine.AccountID]bool)
	// Take returns the messages since the last call; all reports that some were dropped, so
	// every private stream must start over.
	Take() (messages []PrivateMessage, all bool)
	// Snapshot appends the members of a channel's snapshot after its head.
	Snapshot(dst []byte, channel string, account engine.AccountID) []byte
	// Verify checks signed credentials of a socket from an address.
	Verify(remote netip.Addr, publicKey, timestamp, nonce, signature string) (SocketKey, *refuse.Refusal)
	// OnKeyDeleted registers f, which is called with the number of every deleted key, on any
	// goroutine. f must not wait.
	OnKeyDeleted(f func(number uint64))
	// Join counts a socket whose account's orders are canceled graceNs after the last such socket is gone. Leave
	// ends Join; withdrawn: because the socket no longer asks for it.
	Join(account engine.AccountID)
	Leave(account engine.AccountID, graceNs int64, withdrawn bool)
}

// PrivateMessage is one update of a private channel.
type PrivateMessage struct {
	Account engine.AccountID
	Channel string // orders, fills, balances
	Seq     uint64
	// Append appends the JSON members behind the head, for example `"order":{...}`. The hub calls it, so that the
	// sequencer does not render messages.
	Append func(dst []byte) []byte
}

// SocketKey is the API key with which a connection has authenticated.
type SocketKey struct {
	Account   engine.AccountID
	Number    uint64 // the key's number in this process (auth.Principal)
	ExpiresNs int64  // 0: never
	PublicKey string
	CanTrade  bool
}

// maxPrivateWaiting bounds the private messages that wait for the hub. Beyond it, every private
// stream starts over with a snapshot, so that no message is lost silently.
const maxPrivateWaiting = 100_000

// PrivateQueue is the bounded queue between the sequencer and the hub. The sequencer's goroutine puts messages in, the
// hub's goroutine takes them out; mu protects what both use.
type PrivateQueue struct {
	watched atomic.Pointer[map[engine.AccountID]bool]
	mu      sync.Mutex
	waiting messageList
	dropped bool

	// Messages of withheld pairs. Owner: the sequencer's goroutine.
	withheld map[engine.PairID]*messageList
	kept     int           // in withheld
	released []messageList // of pairs that are no longer withheld
}

// messageList holds messages in chunks, so that one more message never copies the others: the sequencer would have to
// wait for the copy.
type messageList struct {
	chunks [][]PrivateMessage
	n      int
}

// chunkPrivate bounds a chunk.
const chunkPrivate = 256

func (l *messageList) add(m PrivateMessage) {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		l.chunks = append(l.chunks, make([]PrivateMessage, 0, min(max(l.n, 8), chunkPrivate)))
		last++
	}
	l.chunks[last] = append(l.chunks[last], m)
	l.n++
}

// join moves the messages of another messageList behind the messages of l.
func (l *messageList) join(other messageList) {
	l.chunks = append(l.chunks, other.chunks...)
	l.n += other.n
}

// whole returns the messages as one slice.
func (l *messageList) whole() []PrivateMessage {
	if len(l.chunks) == 1 {
		return l.chunks[0]
	}
	all := make([]PrivateMessage, 0, l.n)
	for _, c := range l.chunks {
		all = append(all, c...)
	}
	return all
}

// Watch sets the accounts that have subscribers.
func (q *PrivateQueue) Watch(accounts map[engine.AccountID]bool) { q.watched.Store(&accounts) }

// Watched reports whether an account has subscribers. Any goroutine may call it.
func (q *PrivateQueue) Watched(a engine.AccountID) bool {
	m := q.watched.Load()
	return m != nil && (*m)[a]
}

// Idle reports whether no account has subscribers.
func (q *PrivateQueue) Idle() bool {
	m := q.watched.Load()
	return m == nil || len(*m) == 0
}

// Put queues a message.
func (q *PrivateQueue) Put(m PrivateMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.room(1) {
		q.waiting.add(m)
	}
}

// room reports whether n messages more may wait. If not, the queue drops all. The caller holds mu.
func (q *PrivateQueue) room(n int) bool {
	if q.waiting.n+n > maxPrivateWaiting {
		q.waiting, q.dropped = messageList{}, true
	}
	return !q.dropped
}

// Withhold sets the pairs whose messages are kept back. Release queues the kept messages of the other pairs.
func (q *PrivateQueue) Withhold(pairs []engine.PairID) {
	before := q.withheld
	q.withheld = make(map[engine.PairID]*messageList, len(pairs))
	for _, p := range pairs {
		if q.withheld[p] = before[p]; before[p] == nil {
			q.withheld[p] = &messageList{}
		}
		delete(before, p)
	}
	for _, l := range before {
		q.kept -= l.n
		q.released = append(q.released, *l)
	}
}

// Release queues the messages of pairs that are no longer withheld.
func (q *PrivateQueue) Release() {
	for _, l := range q.released {
		q.mu.Lock()
		if q.room(l.n) {
			q.waiting.join(l)
		}
		q.mu.Unlock()
	}
	q.released = nil
}

// PutOf queues a message about a pair, or keeps it back while the pair is withheld. When too many are kept back, PutOf
// drops all messages, as Put does when the queue is full.
func (q *PrivateQueue) PutOf(p engine.PairID, m PrivateMessage) {
	l, held := q.withheld[p]
	switch {
	case !held:
		q.Put(m)
	case q.kept < maxPrivateWaiting:
		l.add(m)
		q.kept++
	default:
		q.drop()
	}
}

// drop discards the queued messages, so every private stream starts over.
func (q *PrivateQueue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.dropped = messageList{}, true
}

// Take returns the queued messages.
func (q *PrivateQueue) Take() (messages []PrivateMessage, dropped bool) {
	q.mu.Lock()
	l := q.waiting
	dropped = q.dropped
	q.waiting, q.dropped = messageList{}, false
	q.mu.Unlock()
	return l.whole(), dropped
}
