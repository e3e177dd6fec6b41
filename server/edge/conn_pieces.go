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

// Limits of an answer that is written in pieces (docs/contract/limits.md#http): without them a few
// hundred clients that hardly read would hold a gigabyte of the kernel's memory for hours.
const (
	maxPieceAnswers = 2         // of one address at a time
	minPieceRate    = 64 << 10  // bytes a second that the client must read
	sendBufferBytes = 256 << 10 // of the kernel's memory for what is sent and not read
)

// pieceTable counts the answers in pieces that are under way, per address. Any goroutine may use it.
type pieceTable struct {
	exempt []netip.Prefix
	mu     sync.Mutex
	count  map[netip.Addr]int
}

func newPieceTable(exempt []netip.Prefix) *pieceTable {
	return &pieceTable{exempt: exempt, count: make(map[netip.Addr]int)}
}

// enter counts an answer to ip. It returns false when the address has its share already.
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

// SendPieces makes r the body of the answer, of size bytes or -1. The client must read
// minPieceRate on the average of each write timeout.
func (c *Ctx) SendPieces(r io.Reader, size int) *refuse.Refusal {
	leave, ok := c.edge.pieces.enter(c.ClientAddr())
	if !ok {
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

// boundSendBuffer limits what the kernel holds for the client. Linux doubles the value, for its
// own overhead.
func (c *CountedConn) boundSendBuffer() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBufferBytes / 2) // of a closed socket: the write fails as well
	}
}

// pieceReader is a body of pieces. It extends the write deadline by a window when the client has
// taken the quota of the last window.
type pieceReader struct {
	r      io.Reader
	conn   net.Conn
	window time.Duration
	quota  int // bytes of a window
	left   int // bytes until the next window begins
	leave  func()
}

// Read implements io.Reader.
func (p *pieceReader) Read(b []byte) (int, error) {
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

// Close implements io.Closer. fasthttp calls it once, after the answer or its failure.
func (p *pieceReader) Close() error {
	p.leave()
	return nil
}
