package exchangetest

import (
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// listener listens in memory, on a loopback address. Any goroutine may set a deadline on its
// connections, as on network connections: a shutdown sets one while the reader sets its own.
type listener struct {
	*fasthttputil.InmemoryListener
}

func newListener() *listener { return &listener{fasthttputil.NewInmemoryListener()} }

// Addr returns a loopback address.
func (*listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081} }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.InmemoryListener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

func (l *listener) dial(ip string) (net.Conn, error) {
	return l.DialWithLocalAddr(&net.TCPAddr{IP: net.ParseIP(ip), Port: 40_000})
}

type conn struct {
	net.Conn
	mu sync.Mutex
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}
