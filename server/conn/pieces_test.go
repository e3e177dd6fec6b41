package conn

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// deadlineConn records the write deadlines of a connection.
type deadlineConn struct {
	net.Conn
	set []time.Time
}

func (c *deadlineConn) SetWriteDeadline(t time.Time) error { c.set = append(c.set, t); return nil }

// The deadline of an answer in pieces moves by a window only when the client has taken the quota of
// the window before, so a byte now and then does not keep an answer alive.
func TestPiecesNeedTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, left := &deadlineConn{}, 0
		p := Paced(conn, strings.NewReader(strings.Repeat("x", 2500)), 1000, 30*time.Second, func() { left++ })
		start := time.Now()
		buf := make([]byte, 100)
		for {
			if _, err := p.Read(buf); errors.Is(err, io.EOF) {
				break
			}
			<-time.After(time.Second)
		}
		want := []time.Duration{30 * time.Second, 40 * time.Second, 50 * time.Second}
		if len(conn.set) != len(want) {
			t.Fatalf("%d deadlines: %v", len(conn.set), conn.set)
		}
		for i, d := range want {
			if got := conn.set[i].Sub(start); got != d {
				t.Errorf("deadline %d after %v, want %v", i, got, d)
			}
		}
		if err := p.Close(); err != nil || left != 1 {
			t.Errorf("%v, left %d times", err, left)
		}
	})
}

// The kernel holds at most 256 KiB of an answer in pieces.
func TestSendBufferIsBounded(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	far, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	BoundSendBuffer(&Conn{Conn: near, socket: near})
	raw, err := near.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	if cerr := raw.Control(func(fd uintptr) {
		size, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	}); cerr != nil || err != nil || size > 256<<10 || size < 64<<10 {
		t.Errorf("the send buffer has %d bytes: %v %v", size, cerr, err)
	}
}
