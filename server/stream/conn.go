package stream

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fasthttp/websocket"

	"tickhive/internal/refuse"
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
// goroutine owns the fields of the group hub. doc.go draws its states.
type conn struct {
	ws      *websocket.Conn
	raw     syscall.RawConn // the socket; nil when the connection has no descriptor
	backlog *backlog
	pongNs  atomic.Int64
	remote  netip.Addr // the client's address; compared with the allow-list of a key

	hub struct {
		subs             map[streamKey]*subscription // by subKey
		pending          []*subscription             // subscriptions that wait for a snapshot
		key              private.Key                 // the key that signed for the socket; valid while authed
		authed           bool
		fullNs           int64  // machine time of the last update that did not fit
		lastFullDelivery uint64 // number of the last delivery with an update that did not fit
		resyncing        bool   // since fullNs, some subscription is not live yet
		pingNs           int64  // machine time of the next ping
		detached         bool   // the connection has no subscriptions any more; its operations are ignored
	}
}

// inboundLimit limits the messages of one connection. Owner: the connection's reader.
type inboundLimit struct {
	second     int64
	count      int
	violations int
}

// allow reports whether a message at nowNs is within the limit, and whether the connection
// must be closed because it exceeded the limit too often.
func (l *inboundLimit) allow(nowNs int64) (ok, closing bool) {
	if sec := nowNs / int64(time.Second); sec != l.second {
		l.second, l.count = sec, 0
	}
	l.count++
	if l.count <= maxMessagesPerSecond {
		return true, false
	}
	l.violations++
	return false, l.violations >= maxViolations
}

// serve runs the connection until it ends. The upgrade callback calls it; serve owns the socket.
func (c *conn) serve(h *Hub, first []request) {
	c.pongNs.Store(h.opts.MachineNs())
	c.ws.SetPongHandler(func(string) error {
		c.pongNs.Store(h.opts.MachineNs())
		return nil
	})
	// Handle control frames here: the library's handlers would write their replies into a frame that is still
	// being written.
	c.ws.SetPingHandler(func(data string) error {
		c.backlog.answerPing([]byte(data))
		c.backlog.writer.flush()
		return nil
	})
	c.ws.SetCloseHandler(func(int, string) error {
		c.backlog.closeWith(closeFrame(closeNormal, ""), true)
		c.backlog.writer.flush()
		return nil
	})
	_ = c.ws.SetWriteDeadline(time.Time{})
	c.backlog.writer.addConn()
	defer c.backlog.writer.removeConn()
	h.join(c, first)
	c.read(h)
	h.leave(c)
	c.backlog.endReader()
	<-c.backlog.done // a closing connection first writes its close frame
	_ = c.ws.Close()
}

func newConn(h *Hub, ws *websocket.Conn, remote netip.Addr) *conn {
	c := &conn{ws: ws, raw: socketOf(ws.NetConn()), remote: remote}
	c.backlog = &backlog{done: make(chan struct{}), writer: h.writers.assign(), conn: c}
	return c
}

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
	buf := make([]byte, 0, 512)
	for {
		kind, r, err := c.ws.NextReader()
		if err != nil {
			return
		}
		if buf, err = readAtMost(r, buf[:0], maxMessageBytes); err != nil {
			return
		}
		ok, closing := limit.allow(h.opts.MachineNs())
		switch {
		case len(buf) > maxMessageBytes:
			c.refuse(closeFrame(closeTooBig, "at most 64 KiB a message"))
			return
		case closing:
			c.refuse(closeFrame(closePolicy, string(refuse.RateLimit)))
			return
		case !ok:
			ok = c.answer(errorFrame(request{}, "", refuse.RateLimit,
				"A connection may send at most 20 messages a second; send this one again later."))
		case kind != websocket.TextMessage:
			ok = c.answer(errorFrame(request{}, "", refuse.InvalidParam, "A message must be JSON text, not binary."))
		default:
			ok = c.operate(h, buf)
		}
		if !ok {
			c.discard()
			return
		}
	}
}

// operate passes one message to the hub. It returns false like answer.
func (c *conn) operate(h *Hub, message []byte) bool {
	req, bad := parseRequest(message)
	if bad != nil {
		return c.answer(errorFrame(req, "", refuse.InvalidParam, bad.Message))
	}
	h.request(c, req)
	return true
}

// readAtMost appends a message to buf and stops one byte beyond limit.
func readAtMost(r io.Reader, buf []byte, limit int) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, min(len(buf)+512, limit+1-len(buf)))
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit || errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, fmt.Errorf("server: read message: %w", err)
		}
	}
}

// refuse closes the connection because of a protocol violation by the peer.
func (c *conn) refuse(f frame) {
	c.backlog.closeWith(f, false)
	c.backlog.writer.flush()
	c.discard()
}

// discard reads until the peer closes: closing a socket with unread bytes would reset the
// connection and lose the close frame.
func (c *conn) discard() {
	for {
		if _, _, err := c.ws.NextReader(); err != nil {
			return
		}
	}
}
