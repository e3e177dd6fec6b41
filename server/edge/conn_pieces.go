package edge

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"tickhive/internal/refuse"
)

// Limits of answers that are written in pieces (docs/contract/limits.md#http). Without them, a few hundred
// clients that hardly read could hold a gigabyte of kernel memory for hours.
const (
	maxPieceAnswers = 2         // answers in progress per address
	minPieceRate    = 64 << 10  // bytes a second that a client must read
	sendBufferBytes = 256 << 10 // bytes that the kernel holds for a client because they are sent but not read
)

// pieceTable counts the answers in progress that are written in pieces, per address. Any goroutine may use it.
type pieceTable struct {
	exempt []netip.Prefix
	mu     sync.Mutex
	count  map[netip.Addr]int
}

func newPieceTable(exempt []netip.Prefix) *pieceTable {
	return &pieceTable{exempt: exempt, count: make(map[netip.Addr]int)}
}

// enter counts an answer to ip. ok is false when the address has as many answers in progress as it may.
func (t *pieceTable) enter(ip netip.Addr) (leave func(), ok bool) {
	if contains(t.exempt, ip) {
		return func() {}, true
	}
	key := clientKey(ip)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count[key] >= maxPieceAnswers {
		return nil, false
	}
	t.count[key]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		decrement(t.count, key)
	}, true
}

// SendPieces makes r the body of the answer; size is its length or -1. Within each write timeout the client
// must read at minPieceRate on average.
func (c *Ctx) SendPieces(r io.Reader, size int) *refuse.Refusal {
	leave, ok := c.edge.pieces.enter(c.ClientAddr())
	if !ok {
		c.edge.limited[limitStreamed].Add(1)
		c.dropBodyHeaders()
		return refuse.New(refuse.RateLimit, "", "An address may read %d streamed answers at a time; "+
			"read one to its end first.", maxPieceAnswers).After(1)
	}
	if counted, ok := c.Conn().(*CountedConn); ok {
		counted.boundSendBuffer()
	}
	c.Response.SetBodyStream(&pieceReader{
		r: r, conn: c.Conn(), window: c.edge.Write, quota: int(c.edge.Write.Seconds() * minPieceRate), leave: leave,
	}, size)
	return nil
}

// dropBodyHeaders removes the headers that describe the body which the client does not get.
func (c *Ctx) dropBodyHeaders() {
	h := &c.Response.Header
	h.DisableNormalizing() // the normal form of ETag is Etag
	for _, name := range bodyHeaders {
		h.DelBytes(name)
	}
	h.EnableNormalizing()
}

// boundSendBuffer limits the bytes that the kernel holds for the client. Linux doubles the value that is set,
// for its own overhead.
func (c *CountedConn) boundSendBuffer() {
	if tcp, ok := c.socket.(*net.TCPConn); ok {
		// an error means that the socket is closed, and then the write fails too
		_ = tcp.SetWriteBuffer(sendBufferBytes / 2)
	}
}

// pieceReader is the body of an answer in pieces. When the client has read the quota of the current window, it
// extends the write deadline by another window.
type pieceReader struct {
	r      io.Reader
	conn   net.Conn
	window time.Duration
	quota  int // bytes that the client must read in a window
	left   int // bytes to read until the next window begins
	leave  func()
}

// Read implements io.Reader.
func (p *pieceReader) Read(b []byte) (int, error) {
	if p.left <= 0 {
		p.left += max(p.quota, 1)
		if err := p.conn.SetWriteDeadline(time.Now().Add(p.window)); err != nil {
			return 0, fmt.Errorf("edge: write deadline: %w", err)
		}
	}
	n, err := p.r.Read(b)
	p.left -= n
	return n, err
}

// Close implements io.Closer. fasthttp calls it once, after the answer or its failure.
func (p *pieceReader) Close() error {
	p.leave()
	return nil
}

// SendPaced makes body the body of the answer, size bytes. The client must read quota bytes in each window. An answer
// of the internal listener has no other limit.
func (c *Ctx) SendPaced(body io.ReadCloser, size int64, quota int, window time.Duration) {
	c.Response.SetBodyStream(&pieceReader{
		r: body, conn: c.Conn(), window: window, quota: quota,
		leave: func() { _ = body.Close() }, // after the answer no one is left to report to
	}, int(size))
}
