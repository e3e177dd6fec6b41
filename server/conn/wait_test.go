package conn

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A connection may be closed for another one once its answer is sent, not while it is kept for the next ones.
func TestAKeptAnswerProtectsItsConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable(Limits{Total: 1})
	c, refused := table.enter(accepted, netip.MustParseAddr("192.0.2.1"))
	if refused != nil {
		t.Fatalf("%s", refused)
	}
	c.BeginRequest()
	if _, err := c.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.BeginRequest() // the next pipelined request
	if err := c.Flush(); err != nil || c.use.Load() != useBusy {
		t.Fatalf("%v: a connection was free to be closed during a request", err)
	}
	if _, err := c.Write([]byte("second")); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Minute)
	if err := c.SetReadDeadline(until); err != nil {
		t.Fatal(err)
	}
	if other, _ := table.enter(nil, netip.MustParseAddr("192.0.2.2")); other != nil || c.use.Load() != useBusy {
		t.Fatal("a connection with an unsent answer was closed for another one")
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 12)
	if _, err := io.ReadFull(client, got); err != nil || string(got) != "answersecond" {
		t.Fatalf("%q %v", got, err)
	}
	if got, want := c.use.Load(), rankOf(true, until); got != want {
		t.Errorf("rank %d, want %d", got, want)
	}
}

// tcpPair returns a counted connection and its client.
func tcpPair(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	far, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, why := NewTable(Limits{Total: 1}).enter(near, AddrOf(nil))
	if why != nil {
		t.Fatalf("%s", why)
	}
	t.Cleanup(func() { _ = far.Close(); _ = c.Close() })
	return c, far
}

// A read that its deadline ends has an error of a constant text, which is a timeout to everybody who asks.
func TestALateReadHasACheapError(t *testing.T) {
	t.Parallel()
	c, _ := tcpPair(t)
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 512} { // the wait for a request, and its rest
		_, err := c.Read(make([]byte, size))
		var late net.Error
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("%d bytes: %v is no timeout", size, err)
		}
		if err == nil || err.Error() != "server: read: i/o timeout" {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// A lingering connection drops what the client sends, and holds no buffer while that sends nothing.
func TestALingeringConnectionHoldsNoBuffer(t *testing.T) {
	const conns, most = 100, 4 << 10
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 { // pools give up what they hold in two collections
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var ended sync.WaitGroup
	var fars []net.Conn
	var begun []chan struct{}
	near := make([]*Conn, conns)
	for i := range near {
		c, far := tcpPair(t)
		near[i], fars, begun = c, append(fars, far), append(begun, make(chan struct{}))
	}
	before := heap()
	for i, c := range near {
		ended.Add(1)
		go func() { defer ended.Done(); close(begun[i]); c.discard(c.Conn) }()
	}
	for i, far := range fars {
		<-begun[i]
		if _, err := far.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	each := int64(most + 1)
	for range 100 { // until the last bytes are dropped
		if each = (heap() - before) / conns; each <= most {
			break
		}
	}
	if each > most {
		t.Errorf("a lingering connection holds %d bytes, want at most %d", each, most)
	}
	for _, far := range fars {
		if err := far.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ended.Wait()
}
