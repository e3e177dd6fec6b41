package stream

import (
	"encoding/binary"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	serverconn "github.com/tickhive/tickhive/server/conn"
)

// maxWriters bounds the writer goroutines; more writers than cores never help.
const maxWriters = 8

// writers write to all connections. With one goroutine per connection, waking it for each message would cost
// 1.4 times the CPU of writing the frame (bench streams). A writer visits its scheduled connections one after
// the other, so it costs only the writes.
type writers struct {
	all  []*writer
	next atomic.Uint32
}

func newWriters() *writers {
	p := &writers{}
	for range min(runtime.GOMAXPROCS(0), maxWriters) {
		p.all = append(p.all, &writer{wake: make(chan struct{}, 1), stop: make(chan struct{})})
	}
	return p
}

// assign returns the writer for a new connection.
func (ws *writers) assign() *writer { return ws.all[int(ws.next.Add(1))%len(ws.all)] }

func (ws *writers) start(s *Sockets) {
	for _, w := range ws.all {
		go w.run(s)
	}
}

// stop ends the writers once their connections have ended.
func (ws *writers) stop() {
	for _, w := range ws.all {
		close(w.stop)
	}
}

// flush wakes the writers to write to the due connections.
func (ws *writers) flush() {
	for _, w := range ws.all {
		w.flush()
	}
}

// writer writes to its scheduled connections and never waits for one. add, flush, addConn and
// removeConn may run on any goroutine.
type writer struct {
	mu    sync.Mutex
	due   []*Conn // scheduled connections
	wake  chan struct{}
	stop  chan struct{}
	conns atomic.Int64 // number of its connections; run returns when it is 0

	// Figures of its connections; any goroutine.
	messages, bytes, dropped, slowCloses atomic.Uint64

	buf  chunkBuffer      // used by run only
	once nonBlockingWrite // used by run only
}

func (w *writer) add(c *Conn) {
	w.mu.Lock()
	w.due = append(w.due, c)
	w.mu.Unlock()
}

func (w *writer) flush() {
	w.mu.Lock()
	n := len(w.due)
	w.mu.Unlock()
	if n > 0 {
		w.wakeUp()
	}
}

func (w *writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// addConn counts a new connection.
func (w *writer) addConn() { w.conns.Add(1) }

func (w *writer) removeConn() {
	w.conns.Add(-1)
	w.wakeUp()
}

func (w *writer) run(s *Sockets) {
	w.once.init()
	var list []*Conn
	for stop := w.stop; ; {
		select {
		case <-w.wake:
		case <-stop:
			stop = nil
		}
		for {
			w.mu.Lock()
			list, w.due = w.due, list[:0]
			w.mu.Unlock()
			if len(list) == 0 {
				break
			}
			for i, c := range list {
				w.write(s, c)
				list[i] = nil
			}
		}
		if stop == nil && w.conns.Load() == 0 {
			return
		}
	}
}

// write writes the backlog of c as long as the socket accepts bytes without waiting.
func (w *writer) write(s *Sockets, c *Conn) {
	t := c.backlog.takeChunk(&w.buf, false)
	if t.readerEnded {
		c.backlog.finish()
		return
	}
	if t.drained {
		s.drained(c)
	}
	n := 0
	if c.raw != nil && len(t.bytes) > 0 {
		var err error
		if n, err = w.once.write(c.raw, t.bytes); err != nil {
			c.failSocket()
			return
		}
	}
	switch {
	case n < len(t.bytes):
		c.backlog.block()
		t.advance(n)
		go c.writeBlocked(s, t)
	case t.last:
		c.awaitPeerClose()
	case t.more:
		w.add(c)
	}
	if cap(w.buf.bytes) > 2*maxChunkBytes { // grown by a snapshot of a full book: do not retain it
		w.buf.bytes = nil
	}
}

// writeBlocked writes to a slow peer until the backlog is empty.
func (c *Conn) writeBlocked(s *Sockets, t chunk) {
	var buf chunkBuffer
	for len(t.bytes) > 0 {
		if err := c.backlog.writeChunk(c.socket, &t, encrypted(c.socket)); err != nil {
			c.failSocket()
			return
		}
		if t.last {
			c.awaitPeerClose()
			return
		}
		t = c.backlog.takeChunk(&buf, true)
		if t.readerEnded {
			c.backlog.finish()
			return
		}
		if t.drained {
			s.drained(c)
		}
	}
}

// awaitPeerClose runs after the close frame is written. It waits up to closeHandshakeWait for the peer's close
// frame, then drops the connection.
func (c *Conn) awaitPeerClose() {
	_ = c.socket.SetReadDeadline(time.Now().Add(closeHandshakeWait))
	c.backlog.finish()
}

// failSocket closes a connection whose socket failed, so that its reader ends.
func (c *Conn) failSocket() {
	_ = c.socket.SetReadDeadline(time.Unix(1, 0))
	c.backlog.finish()
}

// nonBlockingWrite writes once without waiting. It avoids the allocation of a closure for each write.
type nonBlockingWrite struct {
	buf  []byte
	n    int
	err  error
	once func(fd uintptr) (done bool)
}

func (w *nonBlockingWrite) init() {
	w.once = func(fd uintptr) bool {
		w.n, w.err = writeOnce(fd, w.buf)
		return true // report success even when the peer accepted nothing, so that the call never waits
	}
}

// write returns the number of bytes that the peer accepted, possibly 0.
func (w *nonBlockingWrite) write(raw syscall.RawConn, buf []byte) (int, error) {
	w.buf = buf
	err := raw.Write(w.once)
	w.buf = nil
	if err != nil {
		return 0, err
	}
	return w.n, w.err
}

// encrypted reports whether the connection has TLS.
func encrypted(nc net.Conn) bool {
	if c, ok := nc.(interface{ UnsafeConn() net.Conn }); ok {
		nc = c.UnsafeConn()
	}
	c, ok := nc.(*serverconn.Conn)
	return ok && c.Encrypted()
}

// socketOf returns the descriptor below a connection, nil if it has none.
func socketOf(nc net.Conn) syscall.RawConn {
	for {
		switch c := nc.(type) {
		case interface{ UnsafeConn() net.Conn }: // fasthttp's connection of an upgrade
			nc = c.UnsafeConn()
		case *serverconn.Conn:
			nc = c.Conn
		case syscall.Conn:
			raw, err := c.SyscallConn()
			if err != nil || !canWriteOnce {
				return nil
			}
			return raw
		default:
			return nil
		}
	}
}

// WebSocket opcodes and close codes (RFC 6455) that the streams use.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA

	closeNormal      = 1000
	closeGoingAway   = 1001
	closeProtocol    = 1002
	closeInvalidText = 1007
	closePolicy      = 1008
	closeTooBig      = 1009
	closeTryLater    = 1013
)

// frame is one whole server frame, header and payload. Immutable: every connection that
// receives the message shares the frame.
type frame []byte

// newFrame returns payload behind the unmasked header of a server frame.
func newFrame(op byte, payload []byte) frame {
	f := make([]byte, 0, len(payload)+10)
	f = append(f, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		f = append(f, byte(n))
	case n <= 0xffff:
		f = binary.BigEndian.AppendUint16(append(f, 126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 127), uint64(n))
	}
	return append(f, payload...)
}

// closeFrame returns a close frame with a code and a short reason.
func closeFrame(code int, reason string) frame {
	p := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(reason)), uint16(code))
	return newFrame(opClose, append(p, reason...))
}

// payload returns the bytes behind the header.
func (f frame) payload() []byte {
	switch f[1] {
	case 126:
		return f[4:]
	case 127:
		return f[10:]
	default:
		return f[2:]
	}
}
