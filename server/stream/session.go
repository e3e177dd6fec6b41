package stream

import (
	"net/netip"

	"tickhive/internal/refuse"
)

// Limits of the messages of a client (docs/contract/limits.md#streams).
const (
	maxMessagesPerSecond = 20
	maxViolations        = 100 // the 100th message over the limit closes the connection
)

// session is the native side of a connection. Its reader parses operations and passes them to the hub. The hub's
// goroutine owns the fields of the group hub.
//
// A session is attached to the hub until it is slow twice or its reader ends:
//
//	attached --update does not fit--> resyncing --all subscriptions live--> attached
//	    |                                 |
//	    |                                 +-- does not fit again within 10 s, or not
//	    |                                     live after 10 s: close with 1013 --+
//	    +-- reader ends, or too many answers queued ----------------------------+--> detached
//
//	resyncing  hub.resyncing; resyncSlow dropped the backlog at hub.fullNs.
//	detached   hub.detached: it has no subscriptions, and its operations are ignored.
type session struct {
	*Conn
	of    *Hub
	limit inboundLimit

	hub struct {
		subs             map[streamKey]*subscription // by subKey
		pending          []*subscription             // subscriptions that wait for a snapshot
		key              SocketKey                   // the key that signed for the socket; valid while authed
		authed           bool
		guarded          bool   // the orders of the key's account are canceled graceNs after the socket is gone
		graceNs          int64  // of process time
		fullNs           int64  // machine time of the last update that did not fit
		lastFullDelivery uint64 // number of the last delivery with an update that did not fit
		resyncing        bool   // since fullNs, some subscription is not live yet
		detached         bool   // the connection has no subscriptions any more; its operations are ignored
	}
}

func newSession(h *Hub, c *Conn) *session {
	s := &session{Conn: c, of: h}
	s.hub.subs = make(map[streamKey]*subscription)
	return s
}

// inboundLimit limits the messages of one connection. Owner: the connection's reader.
type inboundLimit struct {
	messages   secondCount
	violations int
}

// allow reports whether a message at nowNs is within the limit, and whether the connection
// must be closed because it exceeded the limit too often.
func (l *inboundLimit) allow(nowNs int64) (ok, closing bool) {
	if l.messages.add(nowNs) <= maxMessagesPerSecond {
		return true, false
	}
	l.violations++
	return false, l.violations >= maxViolations
}

// Message implements Session.
func (s *session) Message(message []byte, text bool) bool {
	h := s.of
	ok, closing := s.limit.allow(h.opts.MachineNs())
	if !ok {
		h.stats.limited.Add(1)
	}
	switch {
	case closing: // by the hub, behind the answers to the messages before
		h.Do(func() { s.Close(closePolicy, string(refuse.RateLimit)) })
		return false
	case !ok:
		req, _ := parseRequest(message)
		f := errorFrame(request{id: req.id}, "", refuse.RateLimit,
			"A connection may send at most 20 messages a second; send this one again later.")
		h.Do(func() { h.answer(s, f) })
		return true
	case !text:
		return s.answer(errorFrame(request{}, "", refuse.InvalidParam, "A message must be JSON text, not binary."))
	default:
		return s.operate(message)
	}
}

// operate passes one message to the hub. It returns false like answer.
func (s *session) operate(message []byte) bool {
	req, bad := parseRequest(message)
	if bad != nil {
		return s.answer(errorFrame(req, "", refuse.InvalidParam, bad.Message))
	}
	if s.of.opts.Published != nil {
		hold(s.of, &req)
	}
	s.of.Do(func() { operation{s.of, s, req}.run() })
	return true
}

// Render implements Session: it queues the snapshots that waited.
func (s *session) Render() { s.of.startPending(s) }

// Spare implements Session. A socket with cancelOnDisconnect is as useful as one with a subscription: its end would
// cancel orders.
func (s *session) Spare() bool { return len(s.hub.subs) == 0 && !s.hub.guarded }

// Leave implements Session.
func (s *session) Leave() {
	s.hub.detached = true
	s.of.unsubscribeAll(s)
}

// MemoryConn is a connection without a socket, for a program that steps the hub: its owner sends the operations and
// takes the messages, so that no goroutine and no time of a network is involved. The hub must not be run by Run,
// whose writers need a socket.
//
// Owner: one goroutine, which may be the one that steps the hub.
type MemoryConn struct {
	*session
}

// Connect returns a new connection to a hub, which accepts it in one of its next steps.
func Connect(h *Hub) *MemoryConn {
	c := &Conn{sockets: h.Sockets, remote: netip.IPv6Loopback()}
	c.backlog = &backlog{
		done: make(chan struct{}), writer: &writer{wake: make(chan struct{}, 1)}, conn: c, updates: h.opts.QueueBytes,
	}
	m := &MemoryConn{newSession(h, c)}
	c.session = m.session
	c.heard()
	h.join(c, nil)
	return m
}

// Send passes an operation to the hub, which carries it out in one of its next steps.
func (m *MemoryConn) Send(operation []byte) { m.operate(operation) }

// Take removes the queued messages and returns their texts, and the code of the close frame, 0: none. It also counts
// as the client's pong.
func (m *MemoryConn) Take() (texts [][]byte, closed int) {
	m.heard()
	w := m.backlog.writer
	w.mu.Lock()
	w.due = w.due[:0] // the connection's entry: this call writes in its place
	w.mu.Unlock()
	for {
		var buf chunkBuffer // the texts stay in it
		t := m.backlog.takeChunk(&buf, false)
		if t.drained {
			m.sockets.drained(m.Conn)
		}
		if len(t.bytes) == 0 {
			return texts, closed
		}
		var code int
		if texts, code = splitFrames(texts, t.bytes); code != 0 {
			closed = code
		}
	}
}

// Close ends the connection.
func (m *MemoryConn) Close() { m.sockets.leave(m.Conn) }

// splitFrames appends the payloads of the text frames in all, and returns the code of the close frame, 0: none.
func splitFrames(texts [][]byte, all []byte) (_ [][]byte, closed int) {
	for len(all) > 0 {
		head := len(all) - len(frame(all).payload())
		n := int(all[1])
		if n >= 126 {
			n = 0
			for _, b := range all[2:head] {
				n = n<<8 | int(b)
			}
		}
		payload := all[head : head+n]
		switch all[0] & 0xF {
		case opText:
			texts = append(texts, payload)
		case opClose:
			closed = int(payload[0])<<8 | int(payload[1])
		}
		all = all[head+n:]
	}
	return texts, closed
}
