package edge

import (
	"io"
	"net"
	"net/netip"
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
	table := NewConnTable(ConnLimits{Total: 1})
	c, refused := table.enter(accepted, netip.MustParseAddr("192.0.2.1"))
	if refused != nil {
		t.Fatalf("%s", refused)
	}
	c.beginRequest()
	if _, err := c.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.beginRequest() // the next pipelined request
	if err := c.flush(); err != nil || c.use.Load() != useBusy {
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
	if err := c.flush(); err != nil {
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
