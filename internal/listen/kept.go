package listen

import (
	"net"
	"sync"
	"time"
)

// listener is a listener whose Accept can be ended without closing it.
type listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Kept keeps the sockets of a process over its phases: a connection that arrives between two of them waits in the
// queue of the system and is served by the next one.
type Kept struct {
	Open func(address string) (net.Listener, error) // makes a listener of package net

	mu   sync.Mutex
	kept []*socket
}

// socket is a listener that outlives its phase. Kept.mu guards used.
type socket struct {
	listener
	address string // that was asked for
	used    bool   // by a phase
}

// Listen returns a listener of an address. Closing it leaves the socket open for a later Listen of the same address;
// several with one address, such as 127.0.0.1:0, are given out in their order.
func (k *Kept) Listen(address string) (net.Listener, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.kept {
		if s.address == address && !s.used {
			return k.use(s), s.SetDeadline(time.Time{})
		}
	}
	ln, err := k.Open(address)
	if err != nil {
		return nil, err
	}
	l, ok := ln.(listener)
	if !ok {
		return ln, nil
	}
	s := &socket{listener: l, address: address}
	k.kept = append(k.kept, s)
	return k.use(s), nil
}

func (k *Kept) use(s *socket) *phaseListener {
	s.used = true
	return &phaseListener{socket: s, of: k, closed: make(chan struct{})}
}

// Close closes the sockets.
func (k *Kept) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.kept {
		_ = s.listener.Close() // the process ends
	}
	k.kept = nil
}

// phaseListener is a socket during one phase.
type phaseListener struct {
	*socket
	of     *Kept
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *phaseListener) Accept() (net.Conn, error) {
	c, err := l.socket.Accept()
	select {
	case <-l.closed:
		if err == nil {
			_ = c.Close() // the connection arrived while the phase ended
		}
		return nil, net.ErrClosed
	default:
		return c, err
	}
}

// Close ends the phase: Accept returns net.ErrClosed.
func (l *phaseListener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.SetDeadline(time.Unix(1, 0))
		l.of.mu.Lock()
		defer l.of.mu.Unlock()
		l.used = false
	})
	return err
}
