package servertest

import (
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// pipeListener is an in-memory listener. Any goroutine may set a deadline on its connections, as
// on network connections: a shutdown sets one while the reader sets its own.
type pipeListener struct {
	*fasthttputil.InmemoryListener
}

func newPipeListener() *pipeListener {
	return &pipeListener{fasthttputil.NewInmemoryListener()}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	c, err := l.InmemoryListener.Accept()
	if err != nil {
		return nil, err
	}
	return &pipeConn{Conn: c}, nil
}

type pipeConn struct {
	net.Conn
	mu sync.Mutex
}

func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}
