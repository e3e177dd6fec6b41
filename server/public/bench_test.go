package public_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/servertest"
)

// feedConn is an in-memory connection: it returns a given number of requests and counts the
// written bytes. Each read may change the market first.
type feedConn struct {
	requests []byte // whole requests, repeated
	each     int    // number of requests in it
	left     int
	pos      int
	change   func()
	written  int
	last     []byte
	keepLast bool
	done     chan struct{}
	once     sync.Once
}

func (c *feedConn) Read(p []byte) (int, error) {
	if c.left <= 0 && c.pos == 0 {
		return 0, io.EOF
	}
	if c.change != nil {
		c.change()
	}
	n := copy(p, c.requests[c.pos:])
	if c.pos += n; c.pos == len(c.requests) {
		c.pos, c.left = 0, c.left-c.each
	}
	return n, nil
}

func (c *feedConn) Write(p []byte) (int, error) {
	c.written += len(p)
	if c.keepLast {
		c.last = append(c.last, p...)
	}
	return len(p), nil
}

func (c *feedConn) Close() error { c.once.Do(func() { close(c.done) }); return nil }

func (c *feedConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (c *feedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (c *feedConn) SetDeadline(time.Time) error      { return nil }
func (c *feedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *feedConn) SetWriteDeadline(time.Time) error { return nil }

// oneListener is a listener that accepts the connections it is given.
type oneListener struct{ conns chan net.Conn }

func (l *oneListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, io.EOF
}
func (l *oneListener) Close() error   { return nil }
func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{} }

const benchPairs = 40

// benchMarket is a market without a loop, whose cost is not the server's. Each change is published.
type benchMarket struct {
	*markettest.Market
	pairs map[string]engine.PairID
	n     int
}

func newDirect() *benchMarket {
	return &benchMarket{Market: markettest.New(marketdata.Options{}), pairs: map[string]engine.PairID{}}
}

func (m *benchMarket) pair(code string) {
	i := markettest.Instrument(code, 2, 8)
	i.MakerFee, i.TakerFee = 100_000, 200_000
	m.pairs[code] = m.AddPair(i)
	m.Publish()
}

func (m *benchMarket) limit(code string, side engine.Side, price, amount int64) {
	m.Limit(m.pairs[code], side, price, amount)
	m.Publish()
}

// newBenchMarket returns a market of 40 pairs with deep books.
func newBenchMarket() *benchMarket {
	m := newDirect()
	for i := range benchPairs {
		code := benchCode(i)
		m.pair(code)
		for k := int64(1); k <= 100; k++ {
			m.limit(code, engine.Buy, 6_500_000-k*7, k*12_345_678)
			m.limit(code, engine.Sell, 6_500_000+k*11, k*54_321_012)
		}
		for range 110 {
			m.limit(code, engine.Buy, 6_500_011, 10_000)
		}
	}
	return m
}

func benchCode(i int) string { return fmt.Sprintf("B%02d_USDT", i) }

// change trades on the pairs in turn; a trade changes the pair's book, ticker and trades.
func (m *benchMarket) change() {
	m.n++
	m.limit(benchCode(m.n%benchPairs), engine.Buy, 6_500_011, 1)
}

// requests returns at least 1,000 distinct requests for a path, over all pairs.
func (m *benchMarket) requests(path, param, more string) ([]byte, int) {
	var all bytes.Buffer
	const n = 1000
	for i := range n {
		fmt.Fprintf(&all, "GET %s?%s=%s&n=%d%s HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: bench\r\nAccept: "+
			"*/*\r\n\r\n",
			path, param, benchCode(i*7%benchPairs), i, more)
	}
	return all.Bytes(), n
}

// run makes a server answer n requests over the in-memory connection.
func run(l *oneListener, c *feedConn) {
	c.done = make(chan struct{})
	l.conns <- c
	<-c.done
}

// runCPU does run and reports the CPU time per answer too, which is the better measure on a
// shared machine.
func runCPU(b *testing.B, l *oneListener, c *feedConn) {
	b.ReportAllocs()
	start := cpuNs()
	run(l, c)
	b.ReportMetric(float64(cpuNs()-start)/float64(b.N), "cpu-ns/op")
}

func (m *benchMarket) options() edge.Options {
	return edge.Options{
		Clock:     m.Clock,
		Resources: []edge.Resource{public.New(public.Options{Board: m.Feed.Board(), Clock: m.Clock}).Routes},
	}
}

func serveBench(b testing.TB, s *edge.Server, err error) *oneListener {
	if err != nil {
		b.Fatal(err)
	}
	s.SetReady()
	l := &oneListener{conns: make(chan net.Conn)}
	done := make(chan struct{})
	go func() { _ = s.Serve(l); close(done) }()
	b.Cleanup(func() { close(l.conns); <-done })
	return l
}

// BenchmarkHandler measures docs/internals/performance.md#h1: each route against constant bytes of
// the same size, answering the same request bytes, the market changing with every read in both.
func BenchmarkHandler(b *testing.B) {
	m := newBenchMarket()
	real, err := edge.New(m.options())
	realL := serveBench(b, real, err)
	for _, r := range []struct{ name, path, param, more string }{
		{"ticker", "/api/tickers", "currencyPairCode", ""},
		{"orderbook", "/api/orderbook", "currencyPairCode", ""},
		{"deals", "/api/deals", "currencyPairCode", ""},
		{"aggBook100", servertest.Agg + "/orderbook", "ticker_id", "&depth=100"},
		{"aggTrades100", servertest.Agg + "/historical_trades", "ticker_id", "&limit=100"},
		{"aggTickers", servertest.Agg + "/tickers", "x", ""},
	} {
		reqs, each := m.requests(r.path, r.param, r.more)
		probe := &feedConn{requests: reqs[:bytes.Index(reqs, []byte("\r\n\r\n"))+4], each: 1, left: 1, keepLast: true}
		run(realL, probe)
		_, body, _ := strings.Cut(string(probe.last), "\r\n\r\n")
		constant, err := edge.NewConstant(m.options(), []byte(body))
		constL := serveBench(b, constant, err)
		b.Run(fmt.Sprintf("%s-%dB/constant", r.name, len(body)), func(b *testing.B) {
			runCPU(b, constL, &feedConn{requests: reqs, each: each, left: b.N, change: m.change})
		})
		b.Run(fmt.Sprintf("%s-%dB/real", r.name, len(body)), func(b *testing.B) {
			runCPU(b, realL, &feedConn{requests: reqs, each: each, left: b.N, change: m.change})
		})
	}
}

// No handler allocates for a cached answer, measured over 1,000 distinct requests.
func TestKeptAnswersDoNotAllocate(t *testing.T) {
	if servertest.RaceOn {
		t.Skip("the race detector makes sync.Pool drop values: it allocates by itself")
	}
	m := newBenchMarket()
	s, err := edge.New(m.options())
	l := serveBench(t, s, err)
	for _, r := range [][3]string{
		{"/api/tickers", "currencyPairCode", ""},
		{"/api/orderbook", "currencyPairCode", ""},
		{"/api/deals", "currencyPairCode", ""},
		{servertest.Agg + "/orderbook", "ticker_id", "&depth=100"},
		{servertest.Agg + "/orderbook", "ticker_id", ""},
		{servertest.Agg + "/historical_trades", "ticker_id", "&limit=100"},
		{servertest.Agg + "/tickers", "x", ""},
		{servertest.Agg + "/pairs", "x", ""},
		{servertest.Agg + "/asset", "x", ""},
	} {
		requests, each := m.requests(r[0], r[1], r[2])
		run(l, &feedConn{requests: requests, each: each, left: each}) // renders
		var before, after runtime.MemStats
		const answers = 20_000
		runtime.ReadMemStats(&before)
		run(l, &feedConn{requests: requests, each: each, left: answers})
		runtime.ReadMemStats(&after)
		if n := float64(after.Mallocs-before.Mallocs) / answers; n > 0.02 {
			t.Errorf("GET %s%s: %.3f allocations an answer", r[0], r[2], n)
		}
	}
}
