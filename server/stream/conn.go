package stream

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/conn"
)

// Limits of one connection's inbound side (docs/contract/limits.md#streams).
const (
	maxMessageBytes    = 64 << 10
	defaultPingEvery   = 20 * time.Second // default of SocketOptions.PingEvery
	defaultPongWithin  = 60 * time.Second // default of SocketOptions.PongWithin
	closeHandshakeWait = 2 * time.Second  // wait for the peer's close frame
)

// Conn is the connection of one client. The reader goroutine (inside the upgrade callback) passes messages to the
// session; a writer sends the messages in backlog.
type Conn struct {
	sockets *Sockets
	session Session
	socket  net.Conn
	raw     syscall.RawConn // the descriptor of socket; nil when it has none
	counted *conn.Conn      // of socket; nil when it has none. Any goroutine may use it when the reader has ended
	in      inbound
	taken   secondCount // pings, and the messages that the session counts; the reader's
	backlog *backlog
	pongNs  atomic.Int64
	remote  netip.Addr // the client's address; compared with the allow-list of a key

	// Owner: the goroutine of the Sockets.
	pingNs    int64 // machine time of the next ping
	endNs     int64 // machine time of the end that SocketOptions.Life sets
	announced bool  // the end has been announced
}

func newConn(s *Sockets, socket net.Conn, remote netip.Addr) *Conn {
	c := &Conn{sockets: s, socket: socket, raw: socketOf(socket), counted: conn.Of(socket), remote: remote}
	c.backlog = &backlog{done: make(chan struct{}), writer: s.writers.assign(), conn: c, updates: s.opts.QueueBytes}
	return c
}

// serve runs the connection until it ends. The upgrade callback calls it; serve owns the socket.
func (c *Conn) serve(joined func()) {
	s := c.sockets
	c.heard()
	c.in = inbound{
		in: bufio.NewReaderSize(c.socket, inboundBuffer), now: s.opts.MachineNs, pong: c.heard, ping: c.pinged,
	}
	c.backlog.writer.addConn()
	defer c.backlog.writer.removeConn()
	s.join(c, joined)
	if s.Stopping() { // perhaps the Sockets no longer knows of c
		c.Close(closeGoingAway, shutdownReason)
	}
	c.read()
	s.leave(c)
	c.backlog.endReader()
	<-c.backlog.done // a closing connection first writes its close frame
	_ = c.socket.Close()
}

// heard notes that the client lives.
func (c *Conn) heard() { c.pongNs.Store(c.sockets.opts.MachineNs()) }

// pinged answers a ping, unless there are too many.
func (c *Conn) pinged(data []byte) error {
	if c.Count() > c.sockets.opts.MaxPings {
		return errTooMany
	}
	if c.sockets.opts.AnyFrame {
		c.heard()
	}
	c.backlog.answerPing(data)
	c.backlog.writer.flush()
	return nil
}

// Count counts a message of the client, and returns the number of its pings and of counted messages in this second. The
// reader calls it.
func (c *Conn) Count() int { return c.taken.add(c.sockets.opts.MachineNs()) }

// read passes the client's messages to the session until the socket closes.
func (c *Conn) read() {
	for {
		message, text, err := c.in.next()
		if err != nil {
			c.readFailed(err)
			return
		}
		if c.sockets.opts.AnyFrame {
			c.heard()
		}
		if !c.session.Message(message, text) {
			c.in.drain()
			return
		}
	}
}

// readFailed closes the connection of a peer that closed it or violated the protocol.
func (c *Conn) readFailed(err error) {
	var v *violation
	switch {
	case errors.As(err, &v):
		c.Close(v.code, v.reason)
		c.in.drain()
	case errors.Is(err, peerClosed{}):
		c.backlog.closeWith(closeFrame(closeNormal, ""), true)
		c.backlog.writer.flush()
	}
}

// SetSpare tells the listener whether it may close the connection for another one when it is full.
func (c *Conn) SetSpare() { c.counted.SetSpare(c.session.Spare()) }

// answer queues a frame from the reader's goroutine. It returns false when the connection is
// being closed because the client does not read its answers.
func (c *Conn) answer(f frame) bool {
	ok := c.backlog.push(f, kindAnswer)
	c.backlog.writer.flush()
	return ok
}

// Close queues a close frame behind the queued messages.
func (c *Conn) Close(code int, reason string) {
	c.backlog.closeWith(closeFrame(code, reason), false)
	c.backlog.writer.flush()
}

// Limits of the frames of one connection (docs/contract/limits.md#streams). A frame without a
// message costs the server as much as one with a message, and no limit of messages counts it.
const (
	maxFramesPerSecond = 200       // control frames and empty ones
	maxFragments       = 128       // frames of a message
	maxControlBytes    = 125       // RFC 6455 section 5.5
	inboundBuffer      = 4 << 10   // of each connection
	minFrameBytes      = 6         // an empty frame of a client
	maxDrainBytes      = 256 << 10 // read after a close frame was sent, to find the peer's
)

// violation is the reason why the server closes a connection.
type violation struct {
	code   int
	reason string
}

// Error implements error.
func (v *violation) Error() string { return fmt.Sprintf("close %d: %s", v.code, v.reason) }

// errTooMany closes a connection that sends too much in a second.
var errTooMany = &violation{closePolicy, string(refuse.RateLimit)}

// peerClosed is the error after the peer's close frame.
type peerClosed struct{}

// Error implements error.
func (peerClosed) Error() string { return "the peer closed" }

// inbound reads the messages of a client (RFC 6455). It reads frames itself because the library
// counts none, and because the library would write its own close frame into the middle of a frame
// that is being written. Owner: the connection's reader.
type inbound struct {
	in      *bufio.Reader
	now     func() int64 // machine ns
	ping    func(data []byte) error
	pong    func()
	message []byte
	left    int64 // bytes of the current frame's payload that are not read
	frames  secondCount
	scratch [maxControlBytes]byte
}

// secondCount counts events in a second.
type secondCount struct {
	second int64
	count  int
}

// add counts an event at nowNs and returns the count of its second.
func (s *secondCount) add(nowNs int64) int {
	if sec := nowNs / int64(time.Second); sec != s.second {
		s.second, s.count = sec, 0
	}
	s.count++
	return s.count
}

// frameHead is the head of a client's frame.
type frameHead struct {
	op    byte
	final bool
	size  int64
	mask  [4]byte
}

// next returns the next message; the slice is valid until the next call. The error is a
// *violation, peerClosed, or what the socket returned.
func (r *inbound) next() (message []byte, text bool, err error) {
	r.message = r.message[:0]
	op := byte(opContinuation) // of the message; opContinuation: none has begun
	for fragments := 0; ; {
		h, err := r.head()
		if err != nil {
			return nil, false, err
		}
		if h.op >= opClose {
			if err := r.control(h); err != nil {
				return nil, false, err
			}
			continue
		}
		if (h.op == opContinuation) == (op == opContinuation) {
			return nil, false, &violation{closeProtocol, "a fragment is out of place"}
		}
		if h.op != opContinuation {
			op = h.op
		}
		if fragments++; fragments > maxFragments || h.size == 0 && r.frames.add(r.now()) > maxFramesPerSecond {
			return nil, false, errTooMany
		}
		if h.size > int64(maxMessageBytes-len(r.message)) {
			return nil, false, &violation{closeTooBig, "at most 64 KiB a message"}
		}
		if err := r.payload(h); err != nil {
			return nil, false, err
		}
		if !h.final {
			continue
		}
		if op == opText && !utf8.Valid(r.message) {
			return nil, false, &violation{closeInvalidText, "text must be UTF-8"}
		}
		return r.message, op == opText, nil
	}
}

// head reads and checks the head of a frame.
func (r *inbound) head() (h frameHead, err error) {
	b := r.scratch[:8]
	if _, err := io.ReadFull(r.in, b[:2]); err != nil {
		return h, err
	}
	h.op, h.final, h.size = b[0]&0xf, b[0]&0x80 != 0, int64(b[1]&0x7f)
	wrong := ""
	switch {
	case b[0]&0x70 != 0:
		wrong = "no extension was agreed"
	case b[1]&0x80 == 0:
		wrong = "a client masks its frames"
	case h.op > opBinary && h.op < opClose || h.op > opPong:
		wrong = "unknown opcode"
	case h.op >= opClose && (!h.final || h.size > maxControlBytes):
		wrong = "a control frame has at most 125 bytes in one piece"
	}
	if wrong != "" {
		return h, &violation{closeProtocol, wrong}
	}
	switch h.size {
	case 126:
		_, err = io.ReadFull(r.in, b[:2])
		h.size = int64(binary.BigEndian.Uint16(b))
	case 127:
		_, err = io.ReadFull(r.in, b)
		if h.size = int64(binary.BigEndian.Uint64(b)); h.size < 0 {
			return h, &violation{closeProtocol, "a length has 63 bits"}
		}
	}
	if err != nil {
		return h, err
	}
	_, err = io.ReadFull(r.in, h.mask[:])
	r.left = h.size
	return h, err
}

// payload appends the payload of a data frame to the message.
func (r *inbound) payload(h frameHead) error {
	at := len(r.message)
	for r.left > 0 {
		n := min(r.left, inboundBuffer) // grows with what arrives, not with what a head announces
		from := len(r.message)
		r.message = append(r.message, make([]byte, n)...)
		if _, err := io.ReadFull(r.in, r.message[from:]); err != nil {
			return err
		}
		r.left -= n
	}
	unmask(r.message[at:], h.mask)
	return nil
}

// control reads and handles a control frame.
func (r *inbound) control(h frameHead) error {
	data := r.scratch[:h.size]
	if _, err := io.ReadFull(r.in, data); err != nil {
		return err
	}
	r.left = 0
	unmask(data, h.mask)
	if r.frames.add(r.now()) > maxFramesPerSecond {
		return errTooMany
	}
	switch h.op {
	case opPing:
		return r.ping(data)
	case opPong:
		r.pong()
	case opClose:
		switch {
		case len(data) == 0:
		case len(data) == 1 || !validCloseCode(binary.BigEndian.Uint16(data)):
			return &violation{closeProtocol, "unknown close code"}
		case !utf8.Valid(data[2:]):
			return &violation{closeInvalidText, "text must be UTF-8"}
		}
		return peerClosed{}
	}
	return nil
}

// drain reads until the peer's close frame: closing a socket with unread bytes would reset the
// connection and lose ours. A peer that sends on is not read for long.
func (r *inbound) drain() {
	for budget := int64(maxDrainBytes); budget > 0; {
		n, err := io.CopyN(io.Discard, r.in, min(r.left, budget))
		if err != nil {
			return
		}
		budget -= n + minFrameBytes
		if r.left -= n; r.left > 0 {
			break
		}
		h, err := r.head()
		if v := (*violation)(nil); errors.As(err, &v) {
			break
		}
		if err != nil || h.op == opClose {
			return
		}
	}
	time.Sleep(closeHandshakeWait) // unread: the peer's kernel stops it, and it can read our frame
}

func unmask(b []byte, mask [4]byte) {
	for i := range b {
		b[i] ^= mask[i&3]
	}
}

// validCloseCode reports whether a peer may send the code (RFC 6455 section 7.4).
func validCloseCode(code uint16) bool {
	switch {
	case code >= 3000 && code <= 4999:
		return true
	case code < 1000 || code > 1014:
		return false
	}
	return code < 1004 || code > 1006
}
