package conn

import (
	"bytes"
	"cmp"
	"container/list"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/refuse"
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

// Limits are the limits of a table of connections; 0 means unlimited, except for Total.
type Limits struct {
	Total      int
	PerAddress int // IPv6 by /64
	PerNetwork int // by /24 and /48; loopback is exempt
	// TLS encrypts the connections; nil: plain text.
	TLS *tls.Config
	// Connections from Exempt addresses have no limit but Total, and are not closed to make room for others.
	Exempt []netip.Prefix
	// Answer returns all that the server says to a client whose connection is refused; nil: it says nothing.
	Answer func(r *refuse.Refusal) []byte
}

// Table counts the open connections, in total, per address and per network. Any goroutine may use it. Several
// listeners may share it.
type Table struct {
	limits Limits

	mu      sync.Mutex
	perIP   map[netip.Addr]int
	perNet  map[netip.Addr]int
	conns   map[*Conn]struct{}
	open    int
	evicted uint64
	refused Refused
	// whole answers to connections that are refused; immutable
	answerFull, answerPerIP, answerPerNet, answerPlain []byte

	// connections without a complete request, as *Conn in the order of their accepts; some may have had
	// one since
	unserved list.List
	victims  []victim // the connections that had waited longest when they were last sorted, longest last
	nextLook time.Time
}

// NewTable returns an empty table with these limits.
func NewTable(limits Limits) *Table {
	t := &Table{
		limits: limits, perIP: make(map[netip.Addr]int), perNet: make(map[netip.Addr]int),
		conns: make(map[*Conn]struct{}),
	}
	t.setAnswers()
	return t
}

// enter counts a connection and wraps it, or returns the answer that refuses it. When the table is full, it
// first closes the least useful connection.
func (t *Table) enter(conn net.Conn, ip netip.Addr) (c *Conn, refusal []byte) {
	exempt := Contains(t.limits.Exempt, ip)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !exempt && reached(t.perIP[KeyOf(ip)], t.limits.PerAddress):
		t.refused.Address++
		return nil, t.answerPerIP
	case !exempt && !ip.IsLoopback() && reached(t.perNet[networkOf(ip)], t.limits.PerNetwork):
		t.refused.Network++
		return nil, t.answerPerNet
	}
	for t.open >= t.limits.Total {
		v := t.leastUseful()
		if v == nil {
			t.refused.Total++
			return nil, t.answerFull
		}
		t.evicted++
		t.mu.Unlock()
		v.evict()
		t.mu.Lock()
	}
	t.open++
	t.perIP[KeyOf(ip)]++
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
func (t *Table) untrack(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
	if c.place != nil {
		t.unserved.Remove(c.place) // no effect when the list no longer has the connection
	}
}

// uncount stops counting a connection. It must be called after the descriptor is closed.
func (t *Table) uncount(ip netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	decrement(t.perIP, KeyOf(ip))
	decrement(t.perNet, networkOf(ip))
}

func decrement(counts map[netip.Addr]int, key netip.Addr) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// Finish makes the connections end when a listener shuts down: a request that has not arrived within shutdownReadTime
// is refused. stop ends a second round, for connections that were accepted while the listener was closing.
func (t *Table) Finish() (stop func() bool) {
	t.setShutdownDeadlines()
	return time.AfterFunc(shutdownReadTime/2, t.setShutdownDeadlines).Stop
}

// setShutdownDeadlines refuses requests that do not arrive within shutdownReadTime, by a read deadline.
func (t *Table) setShutdownDeadlines() {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := time.Now().Add(shutdownReadTime)
	for c := range t.conns {
		_ = c.Conn.SetReadDeadline(until) // the error does not matter: a closed connection has no reader
	}
}

// Open returns the number of open connections.
func (t *Table) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// Evicted returns the number of connections that were closed to make room for others.
func (t *Table) Evicted() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evicted
}

// Refused counts the connections that were refused, by the limit.
type Refused struct{ Total, Address, Network uint64 }

// Refused returns the number of connections that were refused since the start.
func (t *Table) Refused() Refused {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// setAnswers renders the answers that refuse connections. They name the limit and the setting that moves it.
func (t *Table) setAnswers() {
	answer := t.limits.Answer
	if answer == nil {
		return
	}
	const lifts = " %s raises it, rate.allow and server.trusted_proxies lift it."
	full := "The server has reached its limit of %d open connections (server.connections); try again in a second."
	t.answerFull = answer(retryable(refuse.Unavailable, full, t.limits.Total))
	perIP := "This address has reached its limit of %d open connections; close one first." + lifts
	t.answerPerIP = answer(retryable(refuse.RateLimit, perIP, t.limits.PerAddress, "server.connections_per_ip"))
	perNet := "This network (/24, or /48 of IPv6) has reached its share of %d open connections; close one first." +
		lifts
	t.answerPerNet = answer(retryable(refuse.RateLimit, perNet, t.limits.PerNetwork, "server.connections"))
	t.answerPlain = answer(refuse.New(refuse.InvalidParam, "",
		"This port speaks TLS: the address must begin with https:// or wss://."))
}

// retryable returns a refusal that another try in a second may not meet.
func retryable(code refuse.Code, format string, args ...any) *refuse.Refusal {
	return refuse.New(code, "", format, args...).After(1)
}

// Conn is a counted connection. Closing it removes it from the table. The close lingers when a request
// was refused unread.
type Conn struct {
	net.Conn
	socket net.Conn // below TLS
	table  *Table
	ip     netip.Addr
	exempt bool
	place  *list.Element // its element in table.unserved; guarded by table.mu
	use    atomic.Int64  // rank of a waiting connection, useBusy or useEvicted
	// upgraded connections rank by SetSpare alone
	upgraded atomic.Bool
	served   bool // a request has been complete; owner: the connection's goroutine
	linger   atomic.Bool
	closed   atomic.Bool
	wait     waiter
}

// newCounted wraps a connection that has just been accepted.
func newCounted(conn net.Conn, t *Table, ip netip.Addr, exempt bool) *Conn {
	c := &Conn{Conn: encrypt(conn, t.limits.TLS), socket: conn, table: t, ip: ip, exempt: exempt}
	if t.limits.TLS == nil {
		c.initWait()
	}
	c.use.Store(rankOf(false, time.Now()))
	return c
}

// Linger makes the close of c first read what the client still sends.
func Linger(c net.Conn) {
	if cc, ok := c.(*Conn); ok {
		cc.linger.Store(true)
	}
}

// Close lingers, closes and then leaves the table, in this order: lingering connections count
// towards the limits, so a client cannot use them to hold more descriptors than the limits allow.
func (c *Conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return nil
	}
	defer c.table.uncount(c.ip)
	c.table.untrack(c)
	_ = c.Flush() // the peer may have gone
	if c.linger.Load() {
		c.lingerOn(c.Conn)
	}
	return c.Conn.Close()
}

// lingerOn ends what the server sends on the connection or its socket, and reads what the client still sends.
func (c *Conn) lingerOn(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
		c.discard(conn)
	}
}

// Contains reports whether one of the networks has the address.
func Contains(nets []netip.Prefix, a netip.Addr) bool {
	for _, p := range nets {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// KeyOf returns the key under which limits count a client: its address, or the /64 of an IPv6 address.
func KeyOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// networkOf returns the network by which connections are shared out: the /24, or the /48 of IPv6.
func networkOf(a netip.Addr) netip.Addr {
	bits := 24
	if a.Is6() {
		bits = 48
	}
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		panic("BUG: server: network of " + a.String())
	}
	return p.Addr()
}

// AddrOf returns the IP of a connection's address, 0.0.0.0 for an in-memory connection.
func AddrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}

// Pauses after a failed accept, and the time after the last failure for which the listener still counts as
// failing. (Ending connections let single accepts succeed meanwhile.)
const (
	acceptPauseMin   = 5 * time.Millisecond
	acceptPauseMax   = time.Second
	acceptFailingFor = 5 * time.Second
)

// shortages lists the transient errors of accept: the process or the machine lacks descriptors or memory at the
// moment, or the client has already gone. The listener continues after them. fasthttp would end Serve, and
// thereby the program.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED}

func isShortage(err error) bool {
	for _, e := range shortages {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// listener refuses connections beyond the table's limits, counts the others, and retries after shortages. One
// goroutine calls Accept; any goroutine may call Close.
type listener struct {
	net.Listener
	table *Table
	stats *Accepts
	pause time.Duration // before the next accept; 0 after a connection
	once  sync.Once
	ended chan struct{} // closed by Close
}

// Listener returns ln with the limits of the table: its connections are of type *Conn. stats counts failed accepts.
func (t *Table) Listener(ln net.Listener, stats *Accepts) net.Listener { return t.listener(ln, stats) }

func (t *Table) listener(ln net.Listener, stats *Accepts) *listener {
	return &listener{Listener: ln, table: t, stats: stats, ended: make(chan struct{})}
}

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !isShortage(err) {
				return nil, err
			}
			l.stats.failed(l.Addr(), err)
			l.wait()
			continue
		}
		l.pause = 0
		ip := AddrOf(c.RemoteAddr())
		counted, why := l.table.enter(c, ip)
		if counted != nil {
			return counted, nil
		}
		if l.table.limits.TLS != nil {
			_ = c.Close() // the client would take the text for a broken handshake
			continue
		}
		// The write does not block, because the socket's send buffer is empty.
		_ = c.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = c.Write(why)
		_ = c.Close()
	}
}

// wait waits before the next accept, twice as long as before, or until Close.
func (l *listener) wait() {
	l.pause = min(max(2*l.pause, acceptPauseMin), acceptPauseMax)
	timer := time.NewTimer(l.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ended:
	}
}

// Close closes the listener and ends a wait in progress.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// AcceptStat is the state of a listener's accepts.
type AcceptStat struct {
	Listener string // public, aggregator or internal
	Failures uint64 // since the start
	// Reason is the error with which accept currently fails; empty while it succeeds.
	Reason  string
	SinceNs int64 // process clock; time of the first of the current failures
}

// Accepts counts the failed accepts of a listener. Any goroutine may use it.
type Accepts struct {
	clock clock.Clock
	log   *slog.Logger

	mu       sync.Mutex
	failures uint64
	reason   string
	sinceNs  int64     // process clock, of the first failure in a row
	last     time.Time // of the last failure; monotonic, so a clock step does not end the failure
}

// NewAccepts returns counters that report the first of several failures to log.
func NewAccepts(clock clock.Clock, log *slog.Logger) *Accepts {
	return &Accepts{clock: clock, log: log}
}

// failed records a failure. It logs only the first one after acceptFailingFor without failures.
func (a *Accepts) failed(at net.Addr, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.failing() {
		a.sinceNs = a.clock.NowNs()
		a.log.Warn("a listener cannot accept connections; it tries again until it can", "listener",
			at.String(), "error", err,
			"remedy", "raise the limit of open files: ulimit -n, LimitNOFILE= of the unit, fs.file-max of the machine")
	}
	a.failures++
	a.reason, a.last = err.Error(), time.Now()
}

// failing reports whether the listener still counts as failing. The caller holds mu.
func (a *Accepts) failing() bool { return a.failures > 0 && time.Since(a.last) < acceptFailingFor }

// Stat returns a copy, labelled with the listener's name.
func (a *Accepts) Stat(name string) AcceptStat {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := AcceptStat{Listener: name, Failures: a.failures}
	if a.failing() {
		s.Reason, s.SinceNs = a.reason, a.sinceNs
	}
	return s
}

// Values of Conn.use besides ranks.
const (
	useBusy    = 0  // a request is being answered, or the connection was upgraded and is used: never closed for others
	useEvicted = -1 // closed for another connection
)

// useServed is the bit of a rank that says that the connection has sent a complete request.
const useServed = 1 << 62

// victimBatch is the number of victims that one look at all connections picks: each new connection
// to a full table costs a share of the look.
const victimBatch = 64

// victimPause is the pause after a look that found none. Connections that a client upgraded may
// fill the table, and each refused connection would cost a look.
const victimPause = 100 * time.Millisecond

// victim is a connection with its rank at the time of the look.
type victim struct {
	conn *Conn
	rank int64
}

// rankOf returns the usefulness of a connection that waits for a request since a time: the
// connections that never sent one are the least useful, then the ones that wait longest.
func rankOf(served bool, since time.Time) int64 {
	rank := since.UnixNano() >> 2
	if served {
		rank |= useServed
	}
	return rank
}

// leastUseful takes the least useful connection that waits for a request, nil without one. The
// caller holds mu and closes the connection after it has released mu.
func (t *Table) leastUseful() *Conn {
	for e := t.unserved.Front(); e != nil; e = t.unserved.Front() {
		c := t.unserved.Remove(e).(*Conn)
		if rank := c.use.Load(); 0 < rank && rank < useServed && c.use.CompareAndSwap(rank, useEvicted) {
			return c
		}
	}
	if c := t.takeVictim(); c != nil {
		return c
	}
	now := time.Now()
	if now.Before(t.nextLook) {
		return nil
	}
	for c := range t.conns {
		rank := c.use.Load()
		if rank <= 0 || c.exempt || len(t.victims) == victimBatch && rank >= t.victims[0].rank {
			continue
		}
		i, _ := slices.BinarySearchFunc(t.victims, rank, func(v victim, rank int64) int {
			return cmp.Compare(rank, v.rank)
		})
		t.victims = slices.Insert(t.victims, i, victim{c, rank})
		if len(t.victims) > victimBatch {
			t.victims = slices.Delete(t.victims, 0, 1)
		}
	}
	if len(t.victims) == 0 {
		t.nextLook = now.Add(victimPause)
	}
	return t.takeVictim()
}

// takeVictim takes the last victim of the last look that still waits as it did then.
func (t *Table) takeVictim() *Conn {
	for n := len(t.victims); n > 0; n = len(t.victims) {
		v := t.victims[n-1]
		t.victims[n-1] = victim{}
		t.victims = t.victims[:n-1]
		if _, open := t.conns[v.conn]; open && v.conn.use.CompareAndSwap(v.rank, useEvicted) {
			return v.conn
		}
	}
	return nil
}

// BeginRequest marks the connection as busy when a request has arrived. It returns false if the connection was closed
// to make room for another one: its request must not run, because no answer can arrive.
func (c *Conn) BeginRequest() bool {
	c.served = true
	c.wait.mu.Lock()
	c.wait.idleUntil = time.Time{} // answers that are still kept no longer end a wait
	c.wait.mu.Unlock()
	return c.use.Swap(useBusy) != useEvicted
}

// evict closes the connection at once: no lingering, and no farewell of TLS, which could wait for
// the peer.
func (c *Conn) evict() {
	if c.closed.CompareAndSwap(false, true) {
		c.table.untrack(c)
		_ = c.socket.Close() // its requests fail either way
		c.table.uncount(c.ip)
	}
}

// Of returns the listener's connection of an upgraded one, nil when it has none. Only the upgrade callback may
// call it: once it has returned, the server gives upgraded to another client. The result stays with its client.
func Of(upgraded net.Conn) *Conn {
	if u, ok := upgraded.(interface{ UnsafeConn() net.Conn }); ok {
		upgraded = u.UnsafeConn()
	}
	c, _ := upgraded.(*Conn)
	return c
}

// SetSpare says whether an upgraded connection may be closed for another one. It then ranks as if it waited for a
// request since the first of these calls. It returns false when the connection was closed for another. Any goroutine
// may call it, also after the connection has ended. On nil it does nothing and returns true.
func (c *Conn) SetSpare(spare bool) bool {
	if c == nil {
		return true
	}
	c.upgraded.Store(true)
	switch rank := c.use.Load(); {
	case spare && rank == useBusy:
		c.use.CompareAndSwap(useBusy, rankOf(true, time.Now()))
	case !spare && rank > useBusy:
		c.use.CompareAndSwap(rank, useBusy) // fails when the connection was closed for another
	}
	return c.use.Load() != useEvicted
}

// Certificate is the certificate of listeners. Reload replaces it; connections that are open keep theirs. Any
// goroutine may use it.
type Certificate struct {
	section           string // of the configuration: the keys are section.cert and section.key
	certFile, keyFile string
	now               func() time.Time
	current           atomic.Pointer[tls.Certificate]
}

// NewCertificate reads a certificate chain and its key, both PEM. The section of the configuration names them.
func NewCertificate(section, certFile, keyFile string, now func() time.Time) (*Certificate, error) {
	c := &Certificate{section: section, certFile: certFile, keyFile: keyFile, now: now}
	_, err := c.Reload()
	return c, err
}

// Reload reads the files again and reports whether they have another chain than the one in force. On an error the old
// certificate stays in force.
func (c *Certificate) Reload() (changed bool, err error) {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return false, fmt.Errorf("%s.cert %s, %s.key %s: %w: name a PEM certificate chain and the PEM key of its "+
			"first certificate, both readable by this user", c.section, c.certFile, c.section, c.keyFile, err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return false, fmt.Errorf("%s.cert %s: %w", c.section, c.certFile, err)
	}
	if now := c.now(); now.After(leaf.NotAfter) {
		return false, fmt.Errorf("%s.cert %s: the certificate ended on %s: renew it", c.section, c.certFile,
			leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	old := c.current.Swap(&pair)
	return old == nil || !slices.EqualFunc(old.Certificate, pair.Certificate, bytes.Equal), nil
}

// Config returns the settings of a listener. HTTP/1.1 is the only protocol that the server speaks. other returns
// another certificate for a client that asks for it, else nil; other may be nil.
func (c *Certificate) Config(other func(*tls.ClientHelloInfo) *tls.Certificate) *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if other != nil {
				if certificate := other(hello); certificate != nil {
					return certificate, nil
				}
			}
			return c.current.Load(), nil
		},
	}
}

// Encrypted reports whether the connection has TLS. A write to it that timed out cannot be repeated.
func (c *Conn) Encrypted() bool { return c.Conn != c.socket }

// answerPlain answers a client whose first bytes are a request instead of a handshake. Without it, the client would
// see an empty answer or a reset. The goroutine of the connection calls it with the error of the handshake.
func (c *Conn) answerPlain(handshake error) {
	var head tls.RecordHeaderError
	if !errors.As(handshake, &head) || head.Conn == nil || !isRequest(head.RecordHeader) {
		return
	}
	_ = c.socket.SetWriteDeadline(time.Now().Add(lingerTime))
	if _, err := c.socket.Write(c.table.answerPlain); err == nil {
		c.lingerOn(c.socket)
	}
}

// isRequest reports whether a connection begins with the method and the path of a request.
func isRequest(head [5]byte) bool {
	for _, begin := range []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"} {
		if string(head[:]) == begin {
			return true
		}
	}
	return false
}

// encrypt puts TLS on an accepted connection. The handshake takes place at the first read, on the
// connection's goroutine and within its read timeout.
func encrypt(c net.Conn, config *tls.Config) net.Conn {
	if config == nil {
		return c
	}
	return tls.Server(c, config)
}
