package edge

import (
	"container/list"
	"crypto/tls"
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
	// shutdownLook is the time between two looks of a shutdown at the open connections.
	shutdownLook = 5 * time.Millisecond
)

// ConnLimits are the limits of a table of connections; 0 means unlimited, except for Total.
type ConnLimits struct {
	Total      int
	PerAddress int // IPv6 by /64
	PerNetwork int // by /24 and /48; loopback is exempt
	// TLS encrypts the connections; nil: plain text.
	TLS *tls.Config
	// Connections from Exempt addresses have no limit but Total, and are not closed to make room for others.
	Exempt []netip.Prefix
}

// ConnTable counts the open connections, in total, per address and per network. Any goroutine may
// use it.
type ConnTable struct {
	limits ConnLimits

	mu      sync.Mutex
	perIP   map[netip.Addr]int
	perNet  map[netip.Addr]int
	conns   map[*CountedConn]struct{}
	open    int
	evicted uint64
	limited limitCounts
	// whole answers to connections that are refused; immutable
	answerFull, answerPerIP, answerPerNet []byte

	// connections without a complete request, as *CountedConn in the order of their accepts; some may have had
	// one since
	unserved list.List
	victims  []victim // the connections that had waited longest when they were last sorted, longest last
	nextLook time.Time
}

// NewConnTable returns an empty table with these limits.
func NewConnTable(limits ConnLimits) *ConnTable {
	t := &ConnTable{
		limits: limits, perIP: make(map[netip.Addr]int), perNet: make(map[netip.Addr]int),
		conns: make(map[*CountedConn]struct{}),
	}
	t.setAnswers()
	return t
}

// enter counts a connection and wraps it, or returns the answer that refuses it. When the table is full, it
// first closes the least useful connection.
func (t *ConnTable) enter(conn net.Conn, ip netip.Addr) (c *CountedConn, refusal []byte) {
	exempt := contains(t.limits.Exempt, ip)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !exempt && reached(t.perIP[clientKey(ip)], t.limits.PerAddress):
		t.limited[limitConnectionsAddress].Add(1)
		return nil, t.answerPerIP
	case !exempt && !ip.IsLoopback() && reached(t.perNet[networkOf(ip)], t.limits.PerNetwork):
		t.limited[limitConnectionsNetwork].Add(1)
		return nil, t.answerPerNet
	}
	for t.open >= t.limits.Total {
		v := t.leastUseful()
		if v == nil {
			t.limited[limitConnections].Add(1)
			return nil, t.answerFull
		}
		t.evicted++
		t.mu.Unlock()
		v.evict()
		t.mu.Lock()
	}
	t.open++
	t.perIP[clientKey(ip)]++
	t.perNet[networkOf(ip)]++
	c = newCounted(conn, t, ip, exempt)
	t.conns[c] = struct{}{}
	if !exempt {
		c.place = t.unserved.PushBack(c)
	}
	return c, nil
}

func reached(n, limit int) bool { return limit > 0 && n >= limit }

// untrack removes a connection from the ones that setShutdownDeadlines changes. The connection counts until
// uncount.
func (t *ConnTable) untrack(c *CountedConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
	if c.place != nil {
		t.unserved.Remove(c.place) // no effect when the list no longer has the connection
	}
}

// uncount stops counting a connection. It must be called after the descriptor is closed.
func (t *ConnTable) uncount(ip netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	decrement(t.perIP, clientKey(ip))
	decrement(t.perNet, networkOf(ip))
}

func decrement(counts map[netip.Addr]int, key netip.Addr) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// setShutdownDeadlines refuses requests that do not arrive within shutdownReadTime, by a read deadline.
func (t *ConnTable) setShutdownDeadlines() {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := time.Now().Add(shutdownReadTime)
	for c := range t.conns {
		_ = c.Conn.SetReadDeadline(until) // the error does not matter: a closed connection has no reader
	}
}

// Open returns the number of open connections.
func (t *ConnTable) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// Evicted returns the number of connections that were closed to make room for others.
func (t *ConnTable) Evicted() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evicted
}

// setAnswers renders the answers that refuse connections. They name the limit and the setting that moves it.
func (t *ConnTable) setAnswers() {
	const lifts = " %s raises it, rate.allow and server.trusted_proxies lift it."
	full := "The server has reached its limit of %d open connections (server.connections); try again in a second."
	t.answerFull = refusal("503 Service Unavailable", retryable(refuse.Unavailable, full, t.limits.Total))
	perIP := "This address has reached its limit of %d open connections; close one first." + lifts
	t.answerPerIP = refusal("429 Too Many Requests",
		retryable(refuse.RateLimit, perIP, t.limits.PerAddress, "server.connections_per_ip"))
	perNet := "This network (/24, or /48 of IPv6) has reached its share of %d open connections; close one first." +
		lifts
	t.answerPerNet = refusal("429 Too Many Requests",
		retryable(refuse.RateLimit, perNet, t.limits.PerNetwork, "server.connections"))
}

// retryable returns a refusal that another try in a second may not meet.
func retryable(code refuse.Code, format string, args ...any) *refuse.Refusal {
	return refuse.New(code, "", format, args...).After(1)
}

// refusal returns the complete answer to a connection that is refused.
func refusal(status string, r *refuse.Refusal) []byte {
	body, again := string(appendError(nil, r, []byte("connection"))), ""
	if r.RetryAfter > 0 {
		again = "Retry-After: " + itoa(int(r.RetryAfter)) + "\r\n"
	}
	return []byte("HTTP/1.1 " + status + "\r\nContent-Type: application/json; charset=utf-8\r\n" +
		"X-Request-Id: connection\r\n" + again + "Connection: close\r\n" +
		"X-Content-Type-Options: nosniff\r\nCross-Origin-Opener-Policy: same-origin\r\n" +
		"Cross-Origin-Resource-Policy: same-origin\r\nContent-Length: " +
		itoa(len(body)) + "\r\n\r\n" + body)
}

// CountedConn is a counted connection. Closing it removes it from the table. The close lingers when a request
// was refused unread.
type CountedConn struct {
	net.Conn
	socket net.Conn // below TLS
	table  *ConnTable
	ip     netip.Addr
	exempt bool
	place  *list.Element // its element in table.unserved; guarded by table.mu
	use    atomic.Int64  // rank of a waiting connection, or one of the values in conn_full.go
	// upgraded connections rank by SetSpare alone
	upgraded atomic.Bool
	served   bool // a request has been complete; owner: the connection's goroutine
	linger   atomic.Bool
	closed   atomic.Bool
	wait     waiter
}

// newCounted wraps a connection that has just been accepted.
func newCounted(conn net.Conn, t *ConnTable, ip netip.Addr, exempt bool) *CountedConn {
	c := &CountedConn{Conn: encrypt(conn, t.limits.TLS), socket: conn, table: t, ip: ip, exempt: exempt}
	if t.limits.TLS == nil {
		c.initWait()
	}
	c.use.Store(rankOf(false, time.Now()))
	return c
}

// lingerOnClose makes the close of c first read what the client still sends.
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
	_ = c.flush() // the peer may have gone
	if c.linger.Load() {
		c.lingerOn(c.Conn)
	}
	return c.Conn.Close()
}

// lingerOn ends what the server sends on the connection or its socket, and reads what the client still sends.
func (c *CountedConn) lingerOn(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
		c.discard(conn)
	}
}
