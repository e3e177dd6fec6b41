package server

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/refuse"
)

// maxPrivate bounds the private messages that wait for the hub; beyond it every private
// stream starts over with a snapshot, so that nothing is missing unnoticed.
const maxPrivate = 100_000

// PrivateFeed is what the hub needs of accounts and order history. Watch, Render and
// Verify are called on the hub's goroutine; Fold and Publish on the engine loop's.
type PrivateFeed interface {
	// Fold notes the events of watched accounts.
	Fold(events []engine.Event)
	// Publish turns what was noted into messages.
	Publish()
	// Watch says which accounts have listeners; the map is not changed afterwards.
	Watch(accounts map[engine.AccountID]bool)
	// Take hands out the messages since the last call; all: some were dropped and every
	// private stream must start over.
	Take() (messages []PrivateMessage, all bool)
	// Snapshot appends the members of a channel's snapshot after its head.
	Snapshot(dst []byte, channel string, account engine.AccountID) []byte
	// Verify checks signed credentials of a socket from an address.
	Verify(remote netip.Addr, publicKey, timestamp, nonce, signature string) (SocketKey, *refuse.Refusal)
	// OnKeyDeleted has f called with the number of every key that is deleted, on any
	// goroutine; f does not wait.
	OnKeyDeleted(f func(number uint64))
}

// PrivateMessage is one update of a private channel: Members is what follows the head,
// as in `"order":{...}`.
type PrivateMessage struct {
	Account engine.AccountID
	Channel string // orders, fills, balances
	Seq     uint64
	Members []byte
}

// PrivateQueue is the bounded hand-over between the loop and the hub.
type PrivateQueue struct {
	watched atomic.Pointer[map[engine.AccountID]bool]
	mu      sync.Mutex
	waiting []PrivateMessage
	dropped bool
}

// Watch says which accounts have listeners.
func (q *PrivateQueue) Watch(accounts map[engine.AccountID]bool) { q.watched.Store(&accounts) }

// Watched reports whether anybody listens to an account. Any goroutine.
func (q *PrivateQueue) Watched(a engine.AccountID) bool {
	m := q.watched.Load()
	return m != nil && (*m)[a]
}

// Idle reports that nobody listens at all.
func (q *PrivateQueue) Idle() bool {
	m := q.watched.Load()
	return m == nil || len(*m) == 0
}

// Put queues a message.
func (q *PrivateQueue) Put(m PrivateMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxPrivate {
		q.waiting, q.dropped = nil, true
	}
	if !q.dropped {
		q.waiting = append(q.waiting, m)
	}
}

// Take hands out what waits.
func (q *PrivateQueue) Take() ([]PrivateMessage, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out, all := q.waiting, q.dropped
	q.waiting, q.dropped = nil, false
	return out, all
}

// private sends what the private feed has.
func (h *Hub) private() {
	if h.opts.Private == nil {
		return
	}
	// In this order: what happened after a key has ended is sent to none of its sockets.
	messages, all := h.opts.Private.Take()
	h.endKeys()
	if all {
		for _, s := range h.streams {
			if s.key.private() {
				h.startOver(s)
			}
		}
	}
	for _, m := range messages {
		key, _ := parseChannel(m.Channel)
		key.account = m.Account
		for _, text := range [...]bool{false, true} {
			key.text = text
			if s := h.streams[key]; s != nil && len(s.subs) > 0 {
				h.sendPrivate(s, m)
			}
		}
	}
}

func (h *Hub) startOver(s *wsStream) {
	for _, sub := range slices.Clone(s.subs) { // feed delivers, which may take some out of s.subs
		h.wait(sub, "slow")
		h.feed(sub.conn)
	}
}

func (h *Hub) sendPrivate(s *wsStream, m PrivateMessage) {
	s.seq = m.Seq
	dst := appendWSHead(h.buf[:0], "update", "", m.Channel, "")
	dst = appendSeqTime(dst, m.Seq, h.nowMs())
	h.send(s, append(append(append(dst, ','), m.Members...), '}'))
}

// appendPrivateSnapshot is the snapshot of a private channel, made for each subscriber.
func (h *Hub) appendPrivateSnapshot(dst []byte, s *wsStream, nowMs int64) []byte {
	dst = appendWSHead(dst, "snapshot", "", s.key.name(), "")
	dst = appendSeqTime(dst, s.seq, nowMs)
	dst = h.opts.Private.Snapshot(append(dst, ','), s.key.name(), s.key.account)
	return append(dst, '}')
}

// watch tells the feed which accounts have listeners now.
func (h *Hub) watch() {
	accounts := make(map[engine.AccountID]bool)
	for key, s := range h.streams {
		if key.private() && len(s.subs) > 0 {
			accounts[key.account] = true
		}
	}
	h.opts.Private.Watch(accounts)
}

// StatusView renders /api/status and its rows for the hub.
func (s *Server) StatusView() (whole func(dst []byte) []byte, ageNs func() int64) {
	info := func() StatusInfo {
		i := StatusInfo{Recovering: !s.ready.Load(), ProgressPPM: -1}
		if s.opt.Status != nil {
			i = s.opt.Status()
		}
		return i
	}
	whole = func(dst []byte) []byte {
		i := info()
		return s.appendStatus(dst, &i, s.board.Load(), clock.MachineNs())
	}
	ageNs = func() int64 {
		if at := info().OldestUnpublishedNs; at != 0 {
			return max(clock.MachineNs()-at, 0)
		}
		return 0
	}
	return whole, ageNs
}

func appendIDOrNull(dst []byte, id string) []byte {
	if id == "" {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}
