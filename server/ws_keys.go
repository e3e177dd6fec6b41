package server

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"tickhive/internal/refuse"
)

// wsKeys maps keys to their sockets. When a key ends, the hub finds the key's sockets here, so
// no message needs a check of its key.
type wsKeys struct {
	mu      sync.Mutex
	sockets map[uint64]map[*wsConn]struct{} // by key; only the hub's goroutine changes it
	deleted []uint64                        // deleted keys whose sockets the hub must end

	nextNs int64 // no key expires before this time; owner: the hub's goroutine
}

// keyDeleted records a deleted key for the hub. It runs on the deleting goroutine, never waits.
func (k *wsKeys) keyDeleted(number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sockets[number] != nil {
		k.deleted = append(k.deleted, number)
	}
}

// bind records that a key signed for a socket.
func (k *wsKeys) bind(c *wsConn, key SocketKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sockets == nil {
		k.sockets, k.nextNs = make(map[uint64]map[*wsConn]struct{}), math.MaxInt64
	}
	if k.sockets[key.Number] == nil {
		k.sockets[key.Number] = make(map[*wsConn]struct{})
	}
	k.sockets[key.Number][c] = struct{}{}
	if key.ExpiresNs != 0 {
		k.nextNs = min(k.nextNs, key.ExpiresNs)
	}
	c.hub.key, c.hub.authed = key, true
}

// unbind removes the key of a socket.
func (k *wsKeys) unbind(c *wsConn) {
	if !c.hub.authed {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	number := c.hub.key.Number
	c.hub.key, c.hub.authed = SocketKey{}, false
	delete(k.sockets[number], c)
	if len(k.sockets[number]) == 0 {
		delete(k.sockets, number)
	}
}

// takeDeleted returns the sockets of the keys deleted since the last call.
func (k *wsKeys) takeDeleted() (ended []*wsConn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, number := range k.deleted {
		for c := range k.sockets[number] {
			ended = append(ended, c)
		}
	}
	k.deleted = k.deleted[:0]
	return ended
}

// takeExpired returns the sockets of expired keys. It scans the keys only when one has expired.
func (k *wsKeys) takeExpired(nowNs int64) (ended []*wsConn) {
	if len(k.sockets) == 0 || nowNs < k.nextNs {
		return nil
	}
	k.nextNs = math.MaxInt64
	for _, sockets := range k.sockets {
		for c := range sockets {
			switch at := c.hub.key.ExpiresNs; {
			case at == 0:
			case at <= nowNs:
				ended = append(ended, c)
			default:
				k.nextNs = min(k.nextNs, at)
			}
		}
	}
	return ended
}

// endKeys ends the private subscriptions of sockets whose key is no longer valid.
func (h *Hub) endKeys() {
	for _, c := range h.keys.takeDeleted() {
		h.endKey(c, "The API key of this socket was deleted; auth with another one.")
	}
	for _, c := range h.keys.takeExpired(h.opts.Clock.NowNs()) {
		h.endKey(c, "The API key of this socket has expired; auth with another one.")
	}
}

// endKey notifies a client which of its subscriptions ended, or that its key ended.
func (h *Hub) endKey(c *wsConn, message string) {
	h.keys.unbind(c)
	ended := h.endPrivate(c)
	for _, key := range ended {
		h.refuse(c, wsRequest{channel: key.name()}, "", refuse.Unauthorized, message)
	}
	if len(ended) == 0 {
		h.refuse(c, wsRequest{}, "", refuse.Unauthorized, message)
	}
}

// endPrivate removes a connection from its private streams, withdraws its queued private
// messages and returns the keys of the streams.
func (h *Hub) endPrivate(c *wsConn) (ended []wsKey) {
	for key, sub := range c.hub.subs {
		if key.private() {
			sub.stream.remove(sub)
			delete(c.hub.subs, key)
			ended = append(ended, key)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	slices.SortFunc(ended, func(a, b wsKey) int { return cmp.Compare(a.channel, b.channel) })
	h.watch()
	c.out.withdraw()
	return ended
}

// authenticate binds a key to the connection. Private subscriptions belong to the key that
// signed for them: a different key ends them, the same key keeps them.
func (h *Hub) authenticate(c *wsConn, r wsRequest) {
	if h.opts.Private == nil {
		h.refuse(c, r, "", refuse.Unauthorized, "The key is unknown or the signature is wrong.")
		return
	}
	key, err := h.opts.Private.Verify(c.remote, r.publicKey, r.timestamp, r.nonce, r.signature)
	if err != nil {
		h.refuse(c, r, "", err.Code, err.Message)
		return
	}
	if !c.hub.authed || c.hub.key.Number != key.Number {
		h.keys.unbind(c)
		for _, ended := range h.endPrivate(c) {
			h.acknowledge(c, wsRequest{}, "unsubscribed", ended, nil)
		}
		h.keys.bind(c, key)
	}
	dst := appendIDOrNull([]byte(`{"type":"authenticated","id":`), r.id)
	h.answer(c, newFrame(wsOpText, append(dst, '}')))
}
