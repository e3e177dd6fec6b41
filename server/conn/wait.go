package conn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// waitBuffer is the size of the buffers of a connection: for the beginning of a request, and for short answers.
const waitBuffer = 16 << 10

var waitBuffers = sync.Pool{New: func() any { return new([waitBuffer]byte) }}

// waiter makes a connection that waits for a request cheap. fasthttp waits with a read of one byte and writes each
// answer on its own, so that it holds no buffers meanwhile (ReduceMemoryUsage). The waiter reads all that has arrived
// with the first byte, and sends the answers to pipelined requests together, before the next read that can block. It
// holds a buffer only while it has bytes.
type waiter struct {
	raw syscall.RawConn       // nil: the connection is encrypted, has no descriptor, or was upgraded
	try func(fd uintptr) bool // readArrived, made once

	// owner: the connection's goroutine
	kept *[waitBuffer]byte // nil: everything that was read is taken
	rest []byte            // of kept
	err  error             // of the last read

	mu        sync.Mutex // Close may come from another goroutine
	corked    *[waitBuffer]byte
	unsent    []byte    // of corked
	idleUntil time.Time // the deadline that was set while answers were unsent; else zero
}

func (c *Conn) initWait() {
	if s, ok := c.Conn.(syscall.Conn); ok {
		c.wait.raw, _ = s.SyscallConn() // an error means that the socket is closed, and then Read fails too
		c.wait.try = c.wait.readArrived
	}
}

// PassThrough makes reads and writes go to the socket at once: an upgraded connection has other owners. Bytes that
// were read before it are still delivered first.
func (c *Conn) PassThrough() {
	_ = c.Flush() // after an error the next write fails too
	c.wait.raw = nil
}

// Read implements io.Reader. A read of one byte waits for the next request.
func (c *Conn) Read(p []byte) (int, error) {
	w := &c.wait
	if w.kept == nil {
		if w.raw == nil {
			n, err := c.Conn.Read(p)
			if err != nil && c.Encrypted() {
				c.answerPlain(err)
			}
			return n, err
		}
		if err := c.Flush(); err != nil {
			return 0, err
		}
		if len(p) != 1 {
			n, err := c.Conn.Read(p)
			return n, plainTimeout(err)
		}
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.rest)
	if w.rest = w.rest[n:]; len(w.rest) == 0 {
		waitBuffers.Put(w.kept)
		w.kept, w.rest = nil, nil
	}
	return n, nil
}

// fill waits until bytes arrive, and only then takes a buffer for them.
func (w *waiter) fill() error {
	if err := w.raw.Read(w.try); err != nil {
		if late := plainTimeout(err); errors.Is(late, errReadTimeout) {
			return late
		}
		return fmt.Errorf("server: wait for a request: %w", err)
	}
	if w.err != nil {
		return os.NewSyscallError("read", w.err)
	}
	if w.kept == nil {
		return io.EOF
	}
	return nil
}

// errReadTimeout is the error of a read that its deadline has ended.
var errReadTimeout error = readTimeout{}

type readTimeout struct{}

// Error implements error.
func (readTimeout) Error() string { return "server: read: " + os.ErrDeadlineExceeded.Error() }

// Timeout implements net.Error.
func (readTimeout) Timeout() bool { return true }

// Temporary implements net.Error.
func (readTimeout) Temporary() bool { return true }

// Unwrap returns the error of package net for a deadline.
func (readTimeout) Unwrap() error { return os.ErrDeadlineExceeded }

// plainTimeout replaces the error of a deadline by one with a constant text: fasthttp formats every error, and package
// net writes both addresses for it.
func plainTimeout(err error) error {
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return errReadTimeout
	}
	return err
}

// discard reads and drops lingerBytes of the connection or its socket at most, until the client's end or the read
// deadline. It holds a buffer only while it has bytes: a flood of slow requests ends in as many lingering connections.
func (c *Conn) discard(from net.Conn) {
	if c.wait.raw == nil {
		_, _ = io.CopyN(io.Discard, from, lingerBytes)
		return
	}
	left := lingerBytes
	_ = c.wait.raw.Read(func(fd uintptr) bool {
		b, _ := waitBuffers.Get().(*[waitBuffer]byte)
		defer waitBuffers.Put(b)
		for left > 0 {
			n, err := syscall.Read(int(fd), b[:])
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case n <= 0:
				return true
			}
			left -= max(n, 0)
		}
		return true
	})
}

// readArrived reads what has arrived. It returns false when nothing has.
func (w *waiter) readArrived(fd uintptr) bool {
	b, _ := waitBuffers.Get().(*[waitBuffer]byte)
	var n int
	for {
		n, w.err = syscall.Read(int(fd), b[:])
		if !errors.Is(w.err, syscall.EINTR) {
			break
		}
	}
	if n > 0 {
		w.kept, w.rest = b, b[:n]
		return true
	}
	waitBuffers.Put(b)
	return !errors.Is(w.err, syscall.EAGAIN)
}

// Write implements io.Writer. It keeps short answers until the next read that can block, or Close.
func (c *Conn) Write(p []byte) (int, error) {
	w := &c.wait
	if w.raw == nil {
		return c.Conn.Write(p)
	}
	w.mu.Lock()
	if len(p) <= waitBuffer-len(w.unsent) && !c.closed.Load() {
		if w.corked == nil {
			w.corked, _ = waitBuffers.Get().(*[waitBuffer]byte)
		}
		w.unsent = append(w.corked[:len(w.unsent)], p...)
		w.mu.Unlock()
		return len(p), nil
	}
	w.mu.Unlock()
	if err := c.Flush(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Gathers reports whether WriteParts is one call of the system, which a connection with TLS does not have.
func (c *Conn) Gathers() bool {
	_, ok := c.Conn.(*net.TCPConn)
	return ok
}

// WriteParts writes parts to the socket with one call, after what Write kept. It consumes the slice.
func (c *Conn) WriteParts(parts net.Buffers) (int64, error) {
	if err := c.Flush(); err != nil {
		return 0, err
	}
	return parts.WriteTo(c.Conn)
}

// Flush sends the answers that Write kept, and then lets the connection be closed for others.
func (c *Conn) Flush() error {
	w := &c.wait
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.corked == nil {
		return nil
	}
	_, err := c.Conn.Write(w.unsent)
	waitBuffers.Put(w.corked)
	w.corked, w.unsent = nil, nil
	if until := w.idleUntil; !until.IsZero() {
		w.idleUntil = time.Time{}
		c.idleSince(until)
	}
	return err
}

// SetReadDeadline implements net.Conn. fasthttp sets the deadline when it begins to wait for the next request, which
// makes the connection's rank without another reading of the clock. Answers that are not sent yet postpone the
// rank. Deadlines of a WebSocket's reader say nothing about its use.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.use.Load() == useBusy && !t.IsZero() && !c.upgraded.Load() {
		c.wait.mu.Lock()
		if c.wait.corked != nil {
			c.wait.idleUntil = t
		} else {
			c.idleSince(t)
		}
		c.wait.mu.Unlock()
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *Conn) idleSince(t time.Time) { c.use.CompareAndSwap(useBusy, rankOf(c.served, t)) }

var _ net.Conn = (*Conn)(nil)

// Limits of answers that are written in pieces (docs/contract/limits.md#http). Without them, a few hundred
// clients that hardly read could hold a gigabyte of kernel memory for hours.
const (
	MaxPieceAnswers = 2         // answers in progress per address
	MinPieceRate    = 64 << 10  // bytes a second that a client must read
	sendBufferBytes = 256 << 10 // bytes that the kernel holds for a client because they are sent but not read
)

// Pieces counts the answers in progress that are written in pieces, per address. Any goroutine may use it.
type Pieces struct {
	exempt []netip.Prefix
	mu     sync.Mutex
	count  map[netip.Addr]int
}

// NewPieces returns an empty table. Addresses of exempt have no limit.
func NewPieces(exempt []netip.Prefix) *Pieces {
	return &Pieces{exempt: exempt, count: make(map[netip.Addr]int)}
}

// Enter counts an answer to ip. ok is false when the address has as many answers in progress as it may.
func (t *Pieces) Enter(ip netip.Addr) (leave func(), ok bool) {
	if Contains(t.exempt, ip) {
		return func() {}, true
	}
	key := KeyOf(ip)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count[key] >= MaxPieceAnswers {
		return nil, false
	}
	t.count[key]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		decrement(t.count, key)
	}, true
}

// BoundSendBuffer limits the bytes that the kernel holds for the client of c. Linux doubles the value that is set,
// for its own overhead.
func BoundSendBuffer(c net.Conn) {
	counted, _ := c.(*Conn)
	if counted == nil {
		return
	}
	if tcp, ok := counted.socket.(*net.TCPConn); ok {
		// an error means that the socket is closed, and then the write fails too
		_ = tcp.SetWriteBuffer(sendBufferBytes / 2)
	}
}

// paced is the body of an answer in pieces. When the client has read the quota of the current window, it
// extends the write deadline by another window.
type paced struct {
	r      io.Reader
	conn   net.Conn
	window time.Duration
	quota  int // bytes that the client must read in a window
	left   int // bytes to read until the next window begins
	leave  func()
}

// Paced returns r as the body of an answer on c, of which the client must read quota bytes in each window. leave is
// called once, after the answer or its failure.
func Paced(c net.Conn, r io.Reader, quota int, window time.Duration, leave func()) io.ReadCloser {
	return &paced{r: r, conn: c, window: window, quota: quota, leave: leave}
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	if p.left <= 0 {
		p.left += max(p.quota, 1)
		if err := p.conn.SetWriteDeadline(time.Now().Add(p.window)); err != nil {
			return 0, fmt.Errorf("server: write deadline: %w", err)
		}
	}
	n, err := p.r.Read(b)
	p.left -= n
	return n, err
}

// Unread puts bytes that were read back in front of the others. The next read begins a window.
func (p *paced) Unread(b []byte) { p.r, p.left = io.MultiReader(bytes.NewReader(b), p.r), 0 }

// Close implements io.Closer. The HTTP server calls it once.
func (p *paced) Close() error {
	p.leave()
	return nil
}
