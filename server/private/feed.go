package private

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// maxWaiting bounds the private messages that wait for the hub. Beyond it, every private
// stream starts over with a snapshot, so that no message is lost silently.
const maxWaiting = 100_000

// Feed is the interface of the accounts and the order history for the hub. The hub's goroutine calls Watch,
// Take, Snapshot and Verify; the sequencer's goroutine calls Fold and Publish.
type Feed interface {
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
	Take() (messages []Message, all bool)
	// Snapshot appends the members of a channel's snapshot after its head.
	Snapshot(dst []byte, channel string, account engine.AccountID) []byte
	// Verify checks signed credentials of a socket from an address.
	Verify(remote netip.Addr, publicKey, timestamp, nonce, signature string) (Key, *refuse.Refusal)
	// OnKeyDeleted registers f, which is called with the number of every deleted key, on any
	// goroutine. f must not wait.
	OnKeyDeleted(f func(number uint64))
	// Join counts a socket whose account's orders are canceled graceNs after the last such socket is gone. Leave
	// ends Join; withdrawn: because the socket no longer asks for it.
	Join(account engine.AccountID)
	Leave(account engine.AccountID, graceNs int64, withdrawn bool)
}

// Message is one update of a private channel. Members holds the JSON members behind
// the head, for example `"order":{...}`.
type Message struct {
	Account engine.AccountID
	Channel string // orders, fills, balances
	Seq     uint64
	Members []byte
}

// Key is the API key with which a connection has authenticated.
type Key struct {
	Account   engine.AccountID
	Number    uint64 // the key's number in this process (auth.Principal)
	ExpiresNs int64  // 0: never
	PublicKey string
	CanTrade  bool
}

// Queue is the bounded queue between the sequencer and the hub.
type Queue struct {
	watched atomic.Pointer[map[engine.AccountID]bool]
	mu      sync.Mutex
	waiting []Message
	dropped bool

	// Messages of withheld pairs. Owner: the sequencer's goroutine.
	withheld map[engine.PairID][]Message
	kept     int         // in withheld
	released [][]Message // of pairs that are no longer withheld
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
	if len(q.waiting) >= maxWaiting {
		q.waiting, q.dropped = nil, true
	}
	if !q.dropped {
		q.waiting = append(q.waiting, m)
	}
}

// Withhold sets the pairs whose messages are kept back. Release queues those of the others.
func (q *Queue) Withhold(pairs []engine.PairID) {
	before := q.withheld
	q.withheld = make(map[engine.PairID][]Message, len(pairs))
	for _, p := range pairs {
		q.withheld[p] = before[p]
		delete(before, p)
	}
	for _, messages := range before {
		q.kept -= len(messages)
		q.released = append(q.released, messages)
	}
}

// Release queues the messages of pairs that are no longer withheld.
func (q *Queue) Release() {
	for _, messages := range q.released {
		q.put(messages)
	}
	q.released = nil
}

// PutOf queues a message about a pair, or keeps it back while the pair is withheld. Too many are dropped
// like those of a full queue.
func (q *Queue) PutOf(p engine.PairID, m Message) {
	list, held := q.withheld[p]
	switch {
	case !held:
		q.Put(m)
	case q.kept < maxWaiting:
		q.withheld[p] = append(list, m)
		q.kept++
	default:
		q.drop()
	}
}

// put queues messages.
func (q *Queue) put(messages []Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.waiting)+len(messages) > maxWaiting:
		q.waiting, q.dropped = nil, true
	case q.dropped:
	case len(q.waiting) == 0: // a hundred thousand are not copied
		q.waiting = messages
	default:
		q.waiting = append(q.waiting, messages...)
	}
}

// drop makes every private stream start over.
func (q *Queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.dropped = nil, true
}

// Take returns the queued messages.
func (q *Queue) Take() ([]Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out, all := q.waiting, q.dropped
	q.waiting, q.dropped = nil, false
	return out, all
}
