package server

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
)

// Bounds of one connection's inbound side (docs/contract/limits.md#streams).
const (
	wsMessageBytes   = 64 << 10
	wsMessagesSecond = 20
	wsViolations     = 100              // the 100th message over the limit closes
	wsPingEvery      = 20 * time.Second // default of HubOptions.PingEvery
	wsPongWithin     = 60 * time.Second // default of HubOptions.PongWithin
	wsGoodbye        = 2 * time.Second  // for the peer's half of the closing handshake
)

// wsConn is one client. The reader goroutine (inside the upgrade) parses operations and
// hands them to the hub; a pump drains out; everything in the group named hub belongs to
// the hub's goroutine.
type wsConn struct {
	ws     *websocket.Conn
	raw    syscall.RawConn // the socket; nil when it is none
	out    *wsOut
	pongNs atomic.Int64
	remote netip.Addr // the client's address, for keys that are bound to some

	hub struct {
		subs     map[wsKey]*wsSub
		pending  []*wsSub  // wait for a snapshot
		key      SocketKey // signed for the socket; while authed
		authed   bool
		lastFull time.Time
		fullIn   uint64 // the delivery that found the queue full last
		behind   bool   // since lastFull: some stream has not started over yet
		pingAt   time.Time
		gone     bool
	}
}

// wsInbound counts the messages of one connection. Owner: its reader.
type wsInbound struct {
	second     int64
	count      int
	violations int
}

// allow reports whether a message at nowNs is within the limit, and whether the
// connection has broken it too often.
func (l *wsInbound) allow(nowNs int64) (ok, closing bool) {
	if sec := nowNs / int64(time.Second); sec != l.second {
		l.second, l.count = sec, 0
	}
	l.count++
	if l.count <= wsMessagesSecond {
		return true, false
	}
	l.violations++
	return false, l.violations >= wsViolations
}

// serve runs the connection until it ends; it is called inside the upgrade callback and
// owns the socket.
func (c *wsConn) serve(h *Hub, first []wsRequest) {
	c.pongNs.Store(machineNs())
	c.ws.SetPongHandler(func(string) error {
		c.pongNs.Store(machineNs())
		return nil
	})
	// The library would write these by itself, into the middle of a frame that is being
	// written when the peer is slow.
	c.ws.SetPingHandler(func(data string) error {
		c.out.answerPing([]byte(data))
		c.out.pump.flush()
		return nil
	})
	c.ws.SetCloseHandler(func(int, string) error {
		c.out.close(closeFrame(wsCloseNormal, ""), true)
		c.out.pump.flush()
		return nil
	})
	_ = c.ws.SetWriteDeadline(time.Time{})
	c.out.pump.enter()
	defer c.out.pump.leave()
	h.join(c, first)
	c.read(h)
	h.leave(c)
	c.out.end()
	<-c.out.done // a connection that is being closed writes its close frame first
	_ = c.ws.Close()
}

func newWSConn(h *Hub, ws *websocket.Conn, remote netip.Addr) *wsConn {
	c := &wsConn{ws: ws, raw: rawConn(ws.NetConn()), remote: remote}
	c.out = &wsOut{done: make(chan struct{}), pump: h.pumps.assign(), conn: c}
	return c
}

// answer queues a frame from the reader's side; false: the connection is being closed for
// the answers that nobody reads.
func (c *wsConn) answer(f wsFrame) bool {
	ok := c.out.push(f, wsAnswer)
	c.out.pump.flush()
	return ok
}

// read parses operations until the socket ends.
func (c *wsConn) read(h *Hub) {
	var limit wsInbound
	buf := make([]byte, 0, 512)
	for {
		kind, r, err := c.ws.NextReader()
		if err != nil {
			return
		}
		if buf, err = readAtMost(r, buf[:0], wsMessageBytes); err != nil {
			return
		}
		ok, closing := limit.allow(machineNs())
		switch {
		case len(buf) > wsMessageBytes:
			c.refuse(closeFrame(wsCloseTooBig, "at most 64 KiB a message"))
			return
		case closing:
			c.refuse(closeFrame(wsClosePolicy, string(refuse.RateLimit)))
			return
		case !ok:
			ok = c.answer(wsErrorFrame(wsRequest{}, "", refuse.RateLimit, "At most 20 messages a second are taken."))
		case kind != websocket.TextMessage:
			ok = c.answer(wsErrorFrame(wsRequest{}, "", refuse.InvalidParam, "Messages are JSON text."))
		default:
			ok = c.operate(h, buf)
		}
		if !ok {
			c.discard()
			return
		}
	}
}

// operate hands one message to the hub; false as for answer.
func (c *wsConn) operate(h *Hub, message []byte) bool {
	req, bad := parseWSRequest(message)
	if bad != nil {
		return c.answer(wsErrorFrame(req, "", refuse.InvalidParam, bad.Message))
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

// refuse closes the connection for what the peer did.
func (c *wsConn) refuse(f wsFrame) {
	c.out.close(f, false)
	c.out.pump.flush()
	c.discard()
}

// discard reads on until the peer ends: closing a socket with unread bytes would reset
// it and lose the close frame.
func (c *wsConn) discard() {
	for {
		if _, _, err := c.ws.NextReader(); err != nil {
			return
		}
	}
}
