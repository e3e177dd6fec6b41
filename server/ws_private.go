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

// maxPrivate bounds the private messages that wait for the hub. Beyond it, every private
// stream starts over with a snapshot, so that no message is lost silently.
const maxPrivate = 100_000

// PrivateFeed is the part of accounts and order history that the hub needs. The hub's goroutine
// calls Watch, Take, Snapshot and Verify; the sequencer's goroutine calls Fold and Publish.
type PrivateFeed interface {
	// Fold records the events of watched accounts.
	Fold(events []engine.Event)
	// Publish turns the recorded events into messages.
	Publish()
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
}

// PrivateMessage is one update of a private channel. Members holds the JSON members behind
// the head, for example `"order":{...}`.
type PrivateMessage struct {
	Account engine.AccountID
	Channel string // orders, fills, balances
	Seq     uint64
	Members []byte
}

// PrivateQueue is the bounded queue between the sequencer and the hub.
type PrivateQueue struct {
	watched atomic.Pointer[map[engine.AccountID]bool]
	mu      sync.Mutex
	waiting []PrivateMessage
	dropped bool
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
	if len(q.waiting) >= maxPrivate {
		q.waiting, q.dropped = nil, true
	}
	if !q.dropped {
		q.waiting = append(q.waiting, m)
	}
}

// Take returns the queued messages.
func (q *PrivateQueue) Take() ([]PrivateMessage, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out, all := q.waiting, q.dropped
	q.waiting, q.dropped = nil, false
	return out, all
}

// private sends the messages of the private feed.
func (h *Hub) private() {
	if h.opts.Private == nil {
		return
	}
	// The order matters: events after a key's end must not reach the key's sockets.
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
	for _, sub := range slices.Clone(s.subs) { // feed delivers, which may shrink s.subs
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

// appendPrivateSnapshot appends the snapshot of a private channel. Each subscriber gets its own.
func (h *Hub) appendPrivateSnapshot(dst []byte, s *wsStream, nowMs int64) []byte {
	dst = appendWSHead(dst, "snapshot", "", s.key.name(), "")
	dst = appendSeqTime(dst, s.seq, nowMs)
	dst = h.opts.Private.Snapshot(append(dst, ','), s.key.name(), s.key.account)
	return append(dst, '}')
}

// watch notifies the feed which accounts have subscribers.
func (h *Hub) watch() {
	accounts := make(map[engine.AccountID]bool)
	for key, s := range h.streams {
		if key.private() && len(s.subs) > 0 {
			accounts[key.account] = true
		}
	}
	h.opts.Private.Watch(accounts)
}

// StatusView returns two functions for the hub: one renders /api/status, the other returns the
// age of the oldest unpublished event in ns, 0 if there is none.
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
