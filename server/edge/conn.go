package edge

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/internal/refuse"
)

// Limits of a lingering close: the server reads the rest of a request that was refused unread before it closes
// the connection. Closing with unread data would send a reset, and the client's kernel would then drop the
// answer.
const (
	lingerBytes = 8 << 20 // twice the body limit of the internal listener
	lingerTime  = 500 * time.Millisecond
	// shutdownReadTime bounds a shutdown's wait for the rest of a request that has begun to
	// arrive, and for the first byte of a connection that has sent none.
	shutdownReadTime = time.Second
)

// ConnTable counts the open connections, in total and per address (IPv6 by /64).
type ConnTable struct {
	mu     sync.Mutex
	perIP  map[netip.Addr]int
	conns  map[*CountedConn]struct{}
	open   int
	limit  int // in total
	each   int // per address; below 0: unlimited
	exempt []netip.Prefix
}

// NewConnTable returns a table of at most limit connections, and at most each of them per address that is not
// in exempt.
func NewConnTable(limit, each int, exempt []netip.Prefix) *ConnTable {
	return &ConnTable{
		perIP: make(map[netip.Addr]int), conns: make(map[*CountedConn]struct{}), limit: limit,
		each: each, exempt: exempt,
	}
}

// count counts a connection, or returns the answer that refuses it.
func (t *ConnTable) count(ip netip.Addr) (refusal []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open >= t.limit {
		return answerFull
	}
	key := clientKey(ip)
	if t.each >= 0 && t.perIP[key] >= t.each && !contains(t.exempt, ip) {
		return answerPerIP
	}
	t.open++
	t.perIP[key]++
	return nil
}

// untrack removes a connection from the ones that setShutdownDeadlines changes. The connection still counts.
func (t *ConnTable) untrack(c *CountedConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
}

// uncount stops counting a connection. It must be called after the descriptor is closed.
func (t *ConnTable) uncount(ip netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := clientKey(ip)
	t.open--
	if t.perIP[key]--; t.perIP[key] == 0 {
		delete(t.perIP, key)
	}
}

// track wraps a connection that enter has counted.
func (t *ConnTable) track(conn net.Conn, ip netip.Addr) *CountedConn {
	c := &CountedConn{Conn: conn, table: t, ip: ip}
	t.mu.Lock()
	t.conns[c] = struct{}{}
	t.mu.Unlock()
	return c
}

// setShutdownDeadlines refuses requests that do not arrive within shutdownReadTime, by a read deadline.
func (t *ConnTable) setShutdownDeadlines() {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := time.Now().Add(shutdownReadTime)
	for c := range t.conns {
		_ = c.SetReadDeadline(until) // the error does not matter: a closed connection has no reader
	}
}

// Open returns the number of open connections.
func (t *ConnTable) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

var (
	answerFull = refusal("503 Service Unavailable", refuse.Unavailable,
		"The server has reached its limit of open connections; try again in a second.")
	answerPerIP = refusal("429 Too Many Requests", refuse.RateLimit,
		"This address has reached its limit of open connections; close one first.")
)

// refusal returns the complete answer to a connection that is refused.
func refusal(status string, code refuse.Code, message string) []byte {
	body := string(appendError(nil, &refuse.Refusal{Code: code, Message: message}, []byte("connection")))
	return []byte("HTTP/1.1 " + status + "\r\nContent-Type: application/json; charset=utf-8\r\n" +
		"X-Request-Id: connection\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: " +
		itoa(len(body)) + "\r\n\r\n" + body)
}

// CountedConn is a counted connection. Closing it removes it from the table. The close lingers when a request
// was refused unread.
type CountedConn struct {
	net.Conn
	table  *ConnTable
	ip     netip.Addr
	linger atomic.Bool
	closed atomic.Bool
}

// lingerOnClose makes Close read what the client still sends.
func lingerOnClose(c net.Conn) {
	if cc, ok := c.(*CountedConn); ok {
		cc.linger.Store(true)
	}
}

// Close lingers, closes and then leaves the table, in this order: lingering connections count
// towards the limits, so a client cannot use them to hold more descriptors than the limits allow.
func (c *CountedConn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return nil
	}
	defer c.table.uncount(c.ip)
	c.table.untrack(c)
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.linger.Load() {
		if half.CloseWrite() == nil {
			_ = c.SetReadDeadline(time.Now().Add(lingerTime))
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}
	return c.Conn.Close()
}

// extendingReader extends the write deadline for each piece of a streamed body, so that a slow
// client receives a large answer as long as it keeps reading.
type extendingReader struct {
	r       io.Reader
	conn    net.Conn
	timeout time.Duration
}

// Read implements io.Reader.
func (p *extendingReader) Read(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(p.timeout)); err != nil {
		return 0, fmt.Errorf("server: write deadline: %w", err)
	}
	return p.r.Read(b)
}
