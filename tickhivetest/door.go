package tickhivetest

import (
	"net"
	"sync"
	"syscall"

	"github.com/tickhive/tickhive/internal/listen"
)

// door holds the sockets of an exchange over its restarts. While no exchange runs it resets every connection at once,
// so that no client waits.
//
// Owner: the test's goroutine opens and closes it; the exchange accepts connections of its outlets.
type door struct {
	kept   listen.Kept
	asked  []string // addresses of the outlets
	closed []net.Listener
	ended  sync.WaitGroup // of the goroutines that reset connections

	mu     sync.Mutex
	conns  []*net.TCPConn // accepted ones, of which some may have ended
	limit  int            // of conns, before those that have ended are dropped
	killed bool           // by cut, until open: no connection is served
}

// manyConns is the least number of connections that are looked through for ended ones.
const manyConns = 64

func newDoor() *door { return &door{kept: listen.Kept{Open: listen.At}, limit: manyConns} }

// outlet is a listener that remembers its connections.
type outlet struct {
	net.Listener
	of *door
}

// Accept implements net.Listener.
func (o outlet) Accept() (net.Conn, error) {
	for {
		c, err := o.Listener.Accept()
		if tcp, ok := c.(*net.TCPConn); ok && err == nil && !o.of.remember(tcp) {
			reset(c)
			continue
		}
		return c, err
	}
}

// remember reports whether the exchange may serve a connection.
func (d *door) remember(c *net.TCPConn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed {
		return false
	}
	if len(d.conns) >= d.limit {
		open := d.conns[:0]
		for _, c := range d.conns {
			if isOpen(c) {
				open = append(open, c)
			}
		}
		clear(d.conns[len(open):])
		d.conns, d.limit = open, 2*len(open)+manyConns
	}
	d.conns = append(d.conns, c)
	return true
}

func isOpen(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	return err == nil && raw.Control(func(uintptr) {}) == nil
}

// listen opens a listener for the exchange.
func (d *door) listen(address string) (net.Listener, error) {
	ln, err := d.kept.Listen(address)
	if err != nil {
		return nil, err
	}
	d.asked = append(d.asked, address)
	return outlet{ln, d}, nil
}

// open lets an exchange listen.
func (d *door) open() {
	for _, ln := range d.closed {
		_ = ln.Close() // ends its Accept
	}
	d.ended.Wait()
	d.asked, d.closed = nil, nil
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed = false
}

// close resets connections until open. No exchange listens.
func (d *door) close() {
	for _, address := range d.asked {
		ln, err := d.kept.Listen(address)
		if err != nil {
			continue // the socket was never opened
		}
		d.closed = append(d.closed, ln)
		d.ended.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				reset(c)
			}
		})
	}
}

// cut breaks off every connection and lets in no other one until open: what the exchange still does nobody hears.
func (d *door) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		// The server reads and writes these connections. It finds them broken, as if the process had ended.
		if raw, err := c.SyscallConn(); err == nil {
			_ = c.SetLinger(0)
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
		}
	}
	d.conns, d.killed = nil, true
}

// end closes the sockets.
func (d *door) end() {
	d.open()
	d.kept.Close()
}

// reset closes a connection that nobody serves.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
