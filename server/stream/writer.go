package stream

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tickhive/server/edge"
)

// maxWriters bounds the writer goroutines; more writers than cores never help.
const maxWriters = 8

// writers writes to all connections. Waking one goroutine per connection for each message
// costs 1.4 times the CPU of writing the frame (bench streams); a pump that visits one due
// connection after the other pays only for the write.
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

// assign returns the pump for a new connection.
func (p *writers) assign() *writer { return p.all[int(p.next.Add(1))%len(p.all)] }

func (p *writers) start(h *Hub) {
	for _, pump := range p.all {
		go pump.run(h)
	}
}

// stop ends the pumps once their connections have ended.
func (p *writers) stop() {
	for _, pump := range p.all {
		close(pump.stop)
	}
}

// flush wakes the pumps to write to the due connections.
func (p *writers) flush() {
	for _, pump := range p.all {
		pump.flush()
	}
}

// writer writes to its due connections and never waits for one.
type writer struct {
	mu    sync.Mutex
	due   []*conn
	wake  chan struct{}
	stop  chan struct{}
	conns atomic.Int64

	buf  chunkBuffer      // owner: run
	once nonBlockingWrite // owner: run
}

func (p *writer) add(c *conn) {
	p.mu.Lock()
	p.due = append(p.due, c)
	p.mu.Unlock()
}

func (p *writer) flush() {
	p.mu.Lock()
	n := len(p.due)
	p.mu.Unlock()
	if n > 0 {
		p.wakeUp()
	}
}

func (p *writer) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// addConn counts a new connection; leave ends it.
func (p *writer) addConn() { p.conns.Add(1) }

func (p *writer) removeConn() {
	p.conns.Add(-1)
	p.wakeUp()
}

func (p *writer) run(h *Hub) {
	p.once.init()
	var list []*conn
	for stop := p.stop; ; {
		select {
		case <-p.wake:
		case <-stop:
			stop = nil
		}
		for {
			p.mu.Lock()
			list, p.due = p.due, list[:0]
			p.mu.Unlock()
			if len(list) == 0 {
				break
			}
			for i, c := range list {
				p.write(h, c)
				list[i] = nil
			}
		}
		if stop == nil && p.conns.Load() == 0 {
			return
		}
	}
}

// writeChunk sends the queue of c as far as the peer accepts it without waiting.
func (p *writer) write(h *Hub, c *conn) {
	t := c.backlog.takeChunk(&p.buf, false)
	if t.readerEnded {
		c.backlog.finish()
		return
	}
	if t.drained {
		h.drained(c)
	}
	n := 0
	if c.raw != nil && len(t.bytes) > 0 {
		var err error
		if n, err = p.once.write(c.raw, t.bytes); err != nil {
			c.failSocket()
			return
		}
	}
	switch {
	case n < len(t.bytes):
		c.backlog.block()
		t.advance(n)
		go c.writeBlocked(h, t)
	case t.last:
		c.awaitPeerClose()
	case t.more:
		p.add(c)
	}
	if cap(p.buf.bytes) > 2*maxChunkBytes { // grown by a snapshot of a full book: do not retain it
		p.buf.bytes = nil
	}
}

// writeBlocked writes to a slow peer until it has caught up.
func (c *conn) writeBlocked(h *Hub, t chunk) {
	var buf chunkBuffer
	for len(t.bytes) > 0 {
		if err := c.backlog.writeChunk(c.ws.NetConn(), &t); err != nil {
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
			h.drained(c)
		}
	}
}

// awaitPeerClose runs after the close frame is written. It waits up to closeHandshakeWait for the peer's close
// frame, then drops the connection.
func (c *conn) awaitPeerClose() {
	_ = c.ws.SetReadDeadline(time.Now().Add(closeHandshakeWait))
	c.backlog.finish()
}

// failSocket closes a connection whose socket failed, so that its reader ends.
func (c *conn) failSocket() {
	_ = c.ws.SetReadDeadline(time.Unix(1, 0))
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
		return true // also when the peer accepts nothing: never wait here
	}
}

// writeChunk returns the number of bytes that the peer accepted, possibly 0.
func (w *nonBlockingWrite) write(raw syscall.RawConn, buf []byte) (int, error) {
	w.buf = buf
	err := raw.Write(w.once)
	w.buf = nil
	if err != nil {
		return 0, err
	}
	return w.n, w.err
}

// socketOf returns the descriptor below a connection, nil if it has none.
func socketOf(nc net.Conn) syscall.RawConn {
	for {
		switch c := nc.(type) {
		case interface{ UnsafeConn() net.Conn }: // fasthttp's connection of an upgrade
			nc = c.UnsafeConn()
		case *edge.CountedConn:
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
