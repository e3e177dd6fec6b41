package load

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Limits of a connection.
const (
	connBuffer  = 64 << 10
	maxHead     = 32 << 10
	maxBody     = 256 << 20
	dialTimeout = 5 * time.Second
	// answerTimeout is the time after which a connection without an answer is closed. It is far longer than any
	// latency that a run should measure.
	answerTimeout = 30 * time.Second
)

// ErrNotLocal refuses a target on another machine.
var ErrNotLocal = errors.New("load: the target is not a loopback address")

// Conn is one keep-alive connection. Owner: one goroutine.
type Conn struct {
	c    net.Conn
	buf  []byte
	r, w int // buf[r:w] has been received and not been parsed yet
	body []byte
}

// Local returns an error unless host:port is on this machine.
func Local(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%w: %s", ErrNotLocal, addr)
	}
	return nil
}

// Dial opens a connection to a loopback address.
func Dial(addr string) (*Conn, error) {
	if err := Local(addr); err != nil {
		return nil, err
	}
	return DialAny(addr, nil)
}

// DialAny opens a connection to any address, with TLS unless secure is nil.
func DialAny(addr string, secure *tls.Config) (*Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	c, err := dialer.Dial("tcp", addr)
	if err == nil && secure != nil {
		t := tls.Client(c, secure)
		_ = c.SetDeadline(time.Now().Add(dialTimeout)) // the handshake fails on a closed connection
		if err = t.Handshake(); err != nil {
			_ = c.Close()
		}
		c = t
	}
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return &Conn{c: c, buf: make([]byte, connBuffer)}, nil
}

// Close closes the connection.
func (c *Conn) Close() { _ = c.c.Close() }

// Send writes the bytes of a request.
func (c *Conn) Send(req []byte) error {
	_, err := c.c.Write(req)
	return err
}

// deadline sets the deadline of the connection. It is called once for a batch of answers, because setting a
// timer costs 1 us.
func (c *Conn) deadline() error { return c.c.SetDeadline(time.Now().Add(answerTimeout)) }

// fill makes room in the buffer and reads more bytes into it.
func (c *Conn) fill() error {
	if c.r > 0 && c.w == len(c.buf) {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.buf) {
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	n, err := c.c.Read(c.buf[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}
