package stream

import (
	"bufio"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/private"
)

// Limits of one connection's inbound side (docs/contract/limits.md#streams).
const (
	maxMessageBytes      = 64 << 10
	maxMessagesPerSecond = 20
	maxViolations        = 100              // the 100th message over the limit closes the connection
	defaultPingEvery     = 20 * time.Second // default of Options.PingEvery
	defaultPongWithin    = 60 * time.Second // default of Options.PongWithin
	closeHandshakeWait   = 2 * time.Second  // wait for the peer's close frame
)

// conn is the connection of one client. The reader goroutine (inside the upgrade callback)
// parses operations and passes them to the hub; a writer sends the messages in backlog. The hub's
// goroutine owns the fields of the group hub.
//
// A connection is attached to the hub until it is slow twice or its reader ends:
//
//	attached --update does not fit--> resyncing --all subscriptions live--> attached
//	    |                                 |
//	    |                                 +-- does not fit again within 10 s, or not
//	    |                                     live after 10 s: close with 1013 --+
//	    +-- reader ends, or too many answers queued ----------------------------+--> detached
//
//	resyncing  conn.hub.resyncing; resyncSlow dropped the backlog at conn.hub.fullNs.
//	detached   conn.hub.detached: it has no subscriptions, and its operations are ignored.
type conn struct {
	socket  net.Conn
	raw     syscall.RawConn   // the descriptor of socket; nil when it has none
	counted *edge.CountedConn // of socket; nil when it has none. The hub may use it when the reader has ended
	in      inbound
	backlog *backlog
	pongNs  atomic.Int64
	remote  netip.Addr // the client's address; compared with the allow-list of a key

	hub struct {
		subs             map[streamKey]*subscription // by subKey
		pending          []*subscription             // subscriptions that wait for a snapshot
		key              private.Key                 // the key that signed for the socket; valid while authed
		authed           bool
		guarded          bool   // the orders of the key's account are canceled graceNs after the socket is gone
		graceNs          int64  // of process time
		fullNs           int64  // machine time of the last update that did not fit
		lastFullDelivery uint64 // number of the last delivery with an update that did not fit
		resyncing        bool   // since fullNs, some subscription is not live yet
		pingNs           int64  // machine time of the next ping
		detached         bool   // the connection has no subscriptions any more; its operations are ignored
	}
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

// serve runs the connection until it ends. The upgrade callback calls it; serve owns the socket.
func (c *conn) serve(h *Hub, first []request) {
	c.pongNs.Store(h.opts.MachineNs())
	c.in = inbound{
		in: bufio.NewReaderSize(c.socket, inboundBuffer), now: h.opts.MachineNs,
		pong: func() { c.pongNs.Store(h.opts.MachineNs()) },
		ping: func(data []byte) {
			c.backlog.answerPing(data)
			c.backlog.writer.flush()
		},
	}
	c.backlog.writer.addConn()
	defer c.backlog.writer.removeConn()
	h.join(c, first)
	c.read(h)
	h.leave(c)
	c.backlog.endReader()
	<-c.backlog.done // a closing connection first writes its close frame
	_ = c.socket.Close()
}

func newConn(h *Hub, socket net.Conn, remote netip.Addr) *conn {
	c := &conn{socket: socket, raw: socketOf(socket), counted: edge.Counted(socket), remote: remote}
	c.backlog = &backlog{done: make(chan struct{}), writer: h.writers.assign(), conn: c, updates: h.opts.QueueBytes}
	return c
}

// setSpare tells the listener whether it may close the connection for another one when it is full. One with
// cancelOnDisconnect is as useful as one with a subscription: its end would cancel orders.
func (c *conn) setSpare() { c.counted.SetSpare(len(c.hub.subs) == 0 && !c.hub.guarded) }

// answer queues a frame from the reader's goroutine. It returns false when the connection is
// being closed because the client does not read its answers.
func (c *conn) answer(f frame) bool {
	ok := c.backlog.push(f, kindAnswer)
	c.backlog.writer.flush()
	return ok
}

// read parses operations until the socket closes.
func (c *conn) read(h *Hub) {
	var limit inboundLimit
	for {
		message, text, err := c.in.next()
		if err != nil {
			c.readFailed(err)
			return
		}
		ok, closing := limit.allow(h.opts.MachineNs())
		if !ok {
			h.stats.limited.Add(1)
		}
		switch {
		case closing: // by the hub, behind the answers to the messages before
			h.do(func() {
				c.backlog.closeWith(closeFrame(closePolicy, string(refuse.RateLimit)), false)
				c.backlog.writer.flush()
			})
			c.in.drain()
			return
		case !ok:
			req, _ := parseRequest(message)
			f := errorFrame(request{id: req.id}, "", refuse.RateLimit,
				"A connection may send at most 20 messages a second; send this one again later.")
			h.do(func() { h.answer(c, f) })
			ok = true
		case !text:
			ok = c.answer(errorFrame(request{}, "", refuse.InvalidParam, "A message must be JSON text, not binary."))
		default:
			ok = c.operate(h, message)
		}
		if !ok {
			c.in.drain()
			return
		}
	}
}

// readFailed closes the connection of a peer that closed it or violated the protocol.
func (c *conn) readFailed(err error) {
	var v *violation
	switch {
	case errors.As(err, &v):
		c.refuse(closeFrame(v.code, v.reason))
	case errors.Is(err, peerClosed{}):
		c.backlog.closeWith(closeFrame(closeNormal, ""), true)
		c.backlog.writer.flush()
	}
}

// operate passes one message to the hub. It returns false like answer.
func (c *conn) operate(h *Hub, message []byte) bool {
	req, bad := parseRequest(message)
	if bad != nil {
		return c.answer(errorFrame(req, "", refuse.InvalidParam, bad.Message))
	}
	if h.opts.Published != nil {
		hold(h, &req)
	}
	h.request(c, req)
	return true
}

// refuse closes the connection because of a protocol violation by the peer.
func (c *conn) refuse(f frame) {
	c.backlog.closeWith(f, false)
	c.backlog.writer.flush()
	c.in.drain()
}
