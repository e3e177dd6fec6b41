package listen

import (
	"errors"
	"io"
	"net"
	"testing"
)

// A connection that arrives between two phases waits and is served by the second one. Listeners of the same address
// come back in their order.
func TestKeptOutlivesItsPhases(t *testing.T) {
	k := &Kept{Open: At}
	defer k.Close()
	phase := func() (first, second net.Listener) {
		t.Helper()
		var both [2]net.Listener
		for i := range both {
			ln, err := k.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			both[i] = ln
		}
		return both[0], both[1]
	}
	a1, b1 := phase()
	ended := make(chan error)
	go func() {
		_, err := a1.Accept()
		ended <- err
	}()
	for _, ln := range []net.Listener{a1, b1, a1} {
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed phase: %v", err)
	}
	c, err := net.Dial("tcp", a1.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	a2, b2 := phase()
	if a2.Addr().String() != a1.Addr().String() || b2.Addr().String() != b1.Addr().String() {
		t.Errorf("%s %s, and then %s %s", a1.Addr(), b1.Addr(), a2.Addr(), b2.Addr())
	}
	served, err := a2.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(io.LimitReader(served, 1)); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
}
