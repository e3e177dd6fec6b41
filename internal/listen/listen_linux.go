package listen

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// deferFor is the time in seconds for which the kernel holds a connection that has sent nothing.
const deferFor = 5

// Keep-alive probes of connections that send nothing: the values of package net.
const (
	keepAliveIdle     = 15 // seconds before the first
	keepAliveInterval = 15 // seconds between two
	keepAliveCount    = 9
)

// listenTCP opens a listener at HOST:PORT.
func listenTCP(address string) (net.Listener, error) {
	inherited := net.ListenConfig{Control: tuneListener, KeepAlive: -1} // tuneListener sets it once for all
	return inherited.Listen(context.Background(), "tcp", address)
}

// tuneListener sets options of a TCP listener that its connections inherit, so that accepting one needs fewer system
// calls, and lets the kernel hold a connection until its first bytes arrive: a client speaks first in every protocol of
// the listeners. A flood of connections that are opened and reset then costs this process nothing.
func tuneListener(_, _ string, c syscall.RawConn) error {
	options := []struct{ level, name, value int }{
		{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, keepAliveIdle},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, keepAliveInterval},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveCount},
	}
	if synCookies() {
		options = append(options, struct{ level, name, value int }{
			syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, deferFor,
		})
	}
	var err error
	return errors.Join(c.Control(func(fd uintptr) {
		for _, o := range options {
			set := syscall.SetsockoptInt(int(fd), o.level, o.name, o.value)
			err = errors.Join(err, os.NewSyscallError("setsockopt", set))
		}
	}), err)
}

// synCookies reports whether the kernel accepts further connections when its queue of connections that have sent
// nothing is full. If it does not, a flood of such connections would shut out everybody else, so the listener must not
// let them wait in that queue.
func synCookies() bool {
	setting, err := os.ReadFile("/proc/sys/net/ipv4/tcp_syncookies")
	return err == nil && !bytes.Equal(bytes.TrimSpace(setting), []byte("0"))
}
