package bench

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/server/edge"
)

// hotDocument is a document of H1 at one size of the market (docs/internals/performance.md#h1).
type hotDocument struct {
	size   string
	pairs  int // number of pairs in the market
	target string
	gzip   float64 // target of H8; 0: none
}

func hotDocuments() []hotDocument {
	return []hotDocument{
		{"0.3 KB", 130, "/api/tickers?currencyPairCode=P0000_USDT", 0},
		{"4 KB", 130, "/api/orderbook?currencyPairCode=P0001_USDT", 0},
		{"28 KB", 130, aggregator + "/tickers", 1},
		{"280 KB", 1300, aggregator + "/tickers", 2.5},
	}
}

// runHTTP measures H1, H4 and H8 (docs/internals/performance.md#http).
func runHTTP(r *Run) error {
	if len(r.Targets) > 0 {
		return httpTargets(r)
	}
	markets := map[int]*product{}
	for _, n := range []int{130, 1300} {
		r.say("a market of %d pairs", n)
		p, err := r.startFilled(contents{n, 2, 10})
		if err != nil {
			return err
		}
		defer p.end()
		markets[n] = p
		if err := errors.Join(p.fill(0, 1, 110, 200), p.fill(1, 1, 15, 0)); err != nil {
			return err
		}
	}
	for _, d := range hotDocuments() {
		if err := hotRoute(r, markets[d.pairs], d); err != nil {
			return err
		}
	}
	for _, d := range changedDocuments() {
		if err := d.measure(r); err != nil {
			return err
		}
	}
	return nil
}

// hotRoute compares the CPU of a document with that of constant bytes, and the rate of its gzip with its own.
func hotRoute(r *Run, p *product, d hotDocument) error {
	body, err := p.body(d.target)
	if err != nil {
		return err
	}
	constant, stop, err := r.constant(body)
	if err != nil {
		return err
	}
	defer stop()
	own, plain := side{"product", p.public, p.CPU}, load.Get(d.size, d.target)
	err = r.rounds(d.size, r.cpuRounds(), own.us(r, d.size+" CPU", d.size, httpConns, plain),
		constant.us(r, "constant", d.size, httpConns, plain))
	if err != nil || d.gzip == 0 {
		return err
	}
	rate := func(figure, route string, req *load.Request) turn {
		return func(f figures) error {
			res, err := own.measure(r, route, httpConns, req)
			if err == nil {
				f[figure] = res.Rate()
			}
			return err
		}
	}
	return r.rounds(d.size+" gzip", r.Rounds, rate("identity", d.size, plain),
		rate(d.size+" gzip against identity", d.size+" gzip", load.Get(d.size, d.target, "Accept-Encoding: gzip")))
}

// changedDocument is a document of H4 (docs/internals/performance.md#h4).
type changedDocument struct {
	name         string
	pairs, level int
	request      string
	target       float64
}

func changedDocuments() []changedDocument {
	return []changedDocument{
		{"book 40x40", 1, 60, "/api/orderbook?currencyPairCode=" + pairName(0), 2},
		{"100 tickers", 100, 2, aggregator + "/tickers", 6},
		{"1,000 tickers", 1000, 2, aggregator + "/tickers", 50},
	}
}

// documentChanges is the number of changes of a round of H4, each followed by a request.
const documentChanges = 2000

// measure calls the real server in memory, without sockets, over a market that this goroutine changes.
func (d changedDocument) measure(r *Run) error {
	w := newMarket(d.pairs, d.level)
	o := serverOptions(w.feed)
	// The clock advances by 10 ms a request, so that no cache interval hides a change.
	var machine atomic.Int64
	o.MachineNs = func() int64 { return machine.Add(10_000_000) }
	s, err := edge.New(o)
	if err != nil {
		return err
	}
	s.SetReady()
	ln := &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	go func() { _ = s.Serve(ln) }()
	defer func() { _ = ln.Close() }()
	request := []byte("GET " + d.request + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	return r.rounds(d.name, r.Rounds, func(f figures) error {
		still := ln.ask(request, documentChanges, nil)
		both := ln.ask(request, documentChanges, func(i int) { w.touch(int64(i)) })
		alone := proc.CPUNs(func() {
			for i := range int64(documentChanges) {
				w.touch(i)
			}
		}) / documentChanges
		f["document after one change, "+d.name] = max(both-still-alone, 1) / 1e3
		return nil
	})
}

// memListener accepts the connections that ask passes to it, in memory instead of sockets.
type memListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// ask sends a request n times, one after the other, and returns the CPU ns a request. It calls before(i) ahead of
// each; the result includes that call.
func (l *memListener) ask(request []byte, n int, before func(i int)) float64 {
	c := &memConn{request: request, left: n, before: before, ended: make(chan struct{})}
	return proc.CPUNs(func() {
		l.conns <- c
		<-c.ended
	}) / float64(n)
}

// memConn returns a request again and again and discards what the server writes. A server that holds no buffer while
// it waits reads the first byte alone.
type memConn struct {
	request []byte
	rest    []byte // of the request that is being read
	next    int
	left    int
	before  func(i int)
	once    sync.Once
	ended   chan struct{}
}

func (c *memConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.left == 0 {
			return 0, io.EOF
		}
		if c.before != nil {
			c.before(c.next)
		}
		c.left--
		c.rest = c.request
		c.next++
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *memConn) Write(p []byte) (int, error) { return len(p), nil }

func (c *memConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return nil
}

func (c *memConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (c *memConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2} }
func (c *memConn) SetDeadline(time.Time) error      { return nil }
func (c *memConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memConn) SetWriteDeadline(time.Time) error { return nil }

// httpTargets measures the running servers of Options.Targets in alternating rounds; the first one is the
// reference.
func httpTargets(r *Run) error {
	routes := []string{
		"/api/currencies/pairs", aggregator + "/pairs", aggregator + "/tickers", aggregator + "/asset",
	}
	codes, err := pairsOf(r.Targets[0])
	if err != nil {
		return err
	}
	pair := codes[0]
	routes = append(routes, "/api/tickers?currencyPairCode="+pair, "/api/orderbook?currencyPairCode="+pair,
		aggregator+"/orderbook?depth=100&ticker_id="+pair, aggregator+"/historical_trades?limit=100&ticker_id="+pair)
	for _, route := range routes {
		var turns []turn
		for i, base := range r.Targets {
			addr, prefix, err := load.Target(base)
			if err != nil {
				return err
			}
			name, reference := route+" "+base, ""
			if i > 0 {
				reference = route + " " + r.Targets[0]
			}
			r.also(row{name: name, unit: "answers/s", reference: reference, how: higher})
			turns = append(turns, func(f figures) error {
				res, err := side{name: base, addr: addr}.measure(r, route, httpConns, load.Get(route, prefix+route))
				if err == nil {
					f[name] = res.Rate()
				}
				return err
			})
		}
		if err := r.rounds(route, r.Rounds, turns...); err != nil {
			return err
		}
	}
	r.S.Note("the servers are not this process's children: their CPU is not known, rates alone are compared")
	return nil
}
