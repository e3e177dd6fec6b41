package stream

import (
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
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
		f := errorFrame(request{id: req.id}, "", refuse.New(refuse.RateLimit, "",
			"A connection may send at most 20 messages a second; send this one again later."))
		h.Do(func() { h.answer(s, f) })
		return true
	case !text:
		return s.answer(errorFrame(request{}, "", refuse.Param("", "A message must be JSON text, not binary.")))
	default:
		return s.operate(message)
	}
}

// operate passes one message to the hub. It returns false like answer.
func (s *session) operate(message []byte) bool {
	req, bad := parseRequest(message)
	if bad != nil {
		return s.answer(errorFrame(req, "", refuse.Param(bad.Field, "%s", bad.Message)))
	}
	hold(s.of, &req)
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

// Farewell implements Session.
func (s *session) Farewell() []byte {
	var w json.Writer
	writeHead(&w, "shutdown", "", "", "")
	w.Name("time").Int(s.of.opts.nowMs())
	w.Name("message").Word("The server is shutting down; reconnect in a few seconds.")
	w.EndObject()
	return w.Bytes()
}
