package peer

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tickhive/bench/proc"
)

// Handlers passes requests to servers in memory, without sockets, to measure the cost of a request without the
// kernel. The hidden subcommand `handler` runs it.
type Handlers struct {
	Writer *Writer
	// Product and Constant serve the connections of a listener until it is closed.
	Product, Constant func(net.Listener) error
	Pairs             int
}

// Numbers of requests in one pass.
const (
	HandlerRequests = 20_000
	handlerChanges  = 2_000 // changes of H4 (docs/internals/performance.md#h4), each followed by a request
)

// ServeLines answers each line of in with a line of figures:
//
//	handler   ns of a request to Constant, ns to Product, allocations of Product; there is one
//	          request for each pair, and a pair changes every thousand requests
//	document  ns of a request for a document that does not change, ns of a change and a
//	          request, ns of a change alone
func (h *Handlers) ServeLines(in io.Reader, out io.Writer) error {
	product, constant := newMemory(h.Product), newMemory(h.Constant)
	defer product.end()
	defer constant.end()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		switch lines.Text() {
		case "handler":
			h.handler(out, product, constant)
		case "document":
			h.document(out, product)
		default:
			return fmt.Errorf("peer: unknown line %q", lines.Text())
		}
	}
	return lines.Err()
}

func (h *Handlers) handler(out io.Writer, product, constant *memory) {
	requests := make([][]byte, h.Pairs)
	for i := range requests {
		requests[i] = []byte("GET /api/tickers?currencyPairCode=" + PairName(i) +
			" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	product.ask(requests, 2*len(requests), nil)
	before := proc.Mallocs()
	ref := constant.ask(requests, HandlerRequests, nil)
	middle := proc.Mallocs()
	product.ask(requests, HandlerRequests, nil)
	// Both figures include the cost of a connection, so their difference is the cost of the handler.
	allocations := max(float64(proc.Mallocs()-middle)-float64(middle-before), 0) / HandlerRequests
	n := int64(0)
	own := product.ask(requests, HandlerRequests, func(i int) {
		if i%1000 == 0 {
			h.Writer.Change(n)
			n++
		}
	})
	fmt.Fprintln(out, ref, own, allocations)
}

func (h *Handlers) document(out io.Writer, product *memory) {
	target := Aggregator + "/tickers"
	if h.Pairs == 1 {
		target = "/api/orderbook?currencyPairCode=" + PairName(0)
	}
	requests := [][]byte{[]byte("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n")}
	still := product.ask(requests, handlerChanges, nil)
	both := product.ask(requests, handlerChanges, func(i int) { h.Writer.touch(int64(i)) })
	alone := proc.CPUNs(func() {
		for i := range int64(handlerChanges) {
			h.Writer.touch(i)
		}
	}) / handlerChanges
	fmt.Fprintln(out, still, both, alone)
}

// touch changes the best price of the first pair, and thereby its book and its ticker.
func (w *Writer) touch(i int64) {
	if i%2 == 0 {
		w.limit(0, 0, 6_500_000, 1000+i%1000)
	} else {
		w.limit(0, 1, 6_500_000, 1000+(i-1)%1000)
	}
	w.Feed.Publish(w.now)
}

// memory is a server with connections in memory instead of sockets.
type memory struct {
	ln   *memListener
	done chan struct{}
}

func newMemory(serve func(net.Listener) error) *memory {
	m := &memory{ln: &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}, done: make(chan struct{})}
	go func() {
		_ = serve(m.ln)
		close(m.done)
	}()
	return m
}

func (m *memory) end() { _ = m.ln.Close() }

// ask sends n requests, one after the other, and returns the CPU ns a request. It calls before(i) ahead of
// each; the result includes that call.
func (m *memory) ask(requests [][]byte, n int, before func(i int)) float64 {
	c := &memConn{requests: requests, left: n, before: before, ended: make(chan struct{})}
	return proc.CPUNs(func() {
		m.ln.conns <- c
		<-c.ended
	}) / float64(n)
}

// memListener accepts the connections that ask passes to it.
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

// memConn returns one request after the other and discards what the server writes. A server that holds no buffer while
// it waits reads the first byte alone.
type memConn struct {
	requests [][]byte
	rest     []byte // of the request that is being read
	next     int
	left     int
	before   func(i int)
	once     sync.Once
	ended    chan struct{}
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
		c.rest = c.requests[c.next%len(c.requests)]
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
