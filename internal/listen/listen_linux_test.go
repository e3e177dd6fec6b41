package listen

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// A connection that has sent nothing costs the process nothing: the kernel holds it until its first bytes arrive, or
// forgets it when the client resets it. Accepted ones have the keep-alive probes of the listener.
func TestTheKernelHoldsConnectionsThatSendNothing(t *testing.T) {
	if !synCookies() {
		t.Skip("the kernel has no SYN cookies, so no listener lets connections wait")
	}
	ln, err := At("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dial := func(send string) *net.TCPConn {
		t.Helper()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err == nil {
			_, err = c.Write([]byte(send))
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.(*net.TCPConn)
	}
	accepts := func(want *net.TCPConn) *net.TCPConn {
		t.Helper()
		c, err := ln.Accept()
		if err != nil || c.RemoteAddr().String() != want.LocalAddr().String() {
			t.Fatalf("accepted %v, %v; want %v", c, err, want.LocalAddr())
		}
		return c.(*net.TCPConn)
	}
	silent := dial("")
	defer silent.Close()
	for range 10 {
		c := dial("")
		if err := c.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	speaking := dial("G")
	defer speaking.Close()
	defer accepts(speaking).Close()
	if _, err := silent.Write([]byte("G")); err != nil {
		t.Fatal(err)
	}
	accepted := accepts(silent)
	defer accepted.Close()

	raw, err := accepted.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct{ level, name, want int }{
		{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, keepAliveIdle},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, keepAliveInterval},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveCount},
		{syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
	} {
		if err := raw.Control(func(fd uintptr) {
			if got, err := syscall.GetsockoptInt(int(fd), o.level, o.name); err != nil || got != o.want {
				t.Errorf("option %d of level %d is %d, %v; want %d", o.name, o.level, got,
					os.NewSyscallError("getsockopt", err), o.want)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
