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

// wsMostPumps bounds the writer goroutines; more writers than cores never help.
const wsMostPumps = 8

// wsPumps writes to all connections. Waking one goroutine per connection for each message
// costs 1.4 times the CPU of writing the frame (bench streams); a pump that visits one due
// connection after the other pays only for the write.
type wsPumps struct {
	all  []*wsPump
	next atomic.Uint32
}

func newPumps() *wsPumps {
	p := &wsPumps{}
	for range min(runtime.GOMAXPROCS(0), wsMostPumps) {
		p.all = append(p.all, &wsPump{wake: make(chan struct{}, 1), stop: make(chan struct{})})
	}
	return p
}

// assign returns the pump for a new connection.
func (p *wsPumps) assign() *wsPump { return p.all[int(p.next.Add(1))%len(p.all)] }

func (p *wsPumps) start(h *Hub) {
	for _, pump := range p.all {
		go pump.run(h)
	}
}

// stop ends the pumps once their connections have ended.
func (p *wsPumps) stop() {
	for _, pump := range p.all {
		close(pump.stop)
	}
}

// flush wakes the pumps to write to the due connections.
func (p *wsPumps) flush() {
	for _, pump := range p.all {
		pump.flush()
	}
}

// wsPump writes to its due connections and never waits for one.
type wsPump struct {
	mu    sync.Mutex
	due   []*wsConn
	wake  chan struct{}
	stop  chan struct{}
	conns atomic.Int64

	buf wsScratch // owner: run
	try wsTry     // owner: run
}

func (p *wsPump) add(c *wsConn) {
	p.mu.Lock()
	p.due = append(p.due, c)
	p.mu.Unlock()
}

func (p *wsPump) flush() {
	p.mu.Lock()
	n := len(p.due)
	p.mu.Unlock()
	if n > 0 {
		p.rouse()
	}
}

func (p *wsPump) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// enter counts a new connection; leave ends it.
func (p *wsPump) enter() { p.conns.Add(1) }

func (p *wsPump) leave() {
	p.conns.Add(-1)
	p.rouse()
}

func (p *wsPump) run(h *Hub) {
	p.try.init()
	var list []*wsConn
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

// write sends the queue of c as far as the peer accepts it without waiting.
func (p *wsPump) write(h *Hub, c *wsConn) {
	t := c.out.take(&p.buf, false)
	if t.ended {
		c.out.finish()
		return
	}
	if t.hungry {
		h.fed(c)
	}
	n := 0
	if c.raw != nil && len(t.bytes) > 0 {
		var err error
		if n, err = p.try.write(c.raw, t.bytes); err != nil {
			c.broken()
			return
		}
	}
	switch {
	case n < len(t.bytes):
		c.out.lag()
		t.written(n)
		go c.drain(h, t)
	case t.last:
		c.parted()
	case t.more:
		p.add(c)
	}
	if cap(p.buf.bytes) > 2*wsJoinBytes { // grown by a snapshot of a full book: do not retain it
		p.buf.bytes = nil
	}
}

// drain writes to a slow peer until it has caught up.
func (c *wsConn) drain(h *Hub, t wsTaken) {
	var buf wsScratch
	for len(t.bytes) > 0 {
		if err := c.out.write(c.ws.NetConn(), &t); err != nil {
			c.broken()
			return
		}
		if t.last {
			c.parted()
			return
		}
		t = c.out.take(&buf, true)
		if t.ended {
			c.out.finish()
			return
		}
		if t.hungry {
			h.fed(c)
		}
	}
}

// parted runs after the close frame is written. It waits up to wsGoodbye for the peer's close
// frame, then drops the connection.
func (c *wsConn) parted() {
	_ = c.ws.SetReadDeadline(time.Now().Add(wsGoodbye))
	c.out.finish()
}

// broken closes a connection whose socket failed, so that its reader ends.
func (c *wsConn) broken() {
	_ = c.ws.SetReadDeadline(time.Unix(1, 0))
	c.out.finish()
}

// wsTry writes once without waiting. It avoids the allocation of a closure for each write.
type wsTry struct {
	buf  []byte
	n    int
	err  error
	once func(fd uintptr) (done bool)
}

func (w *wsTry) init() {
	w.once = func(fd uintptr) bool {
		w.n, w.err = writeOnce(fd, w.buf)
		return true // also when the peer accepts nothing: never wait here
	}
}

// write returns the number of bytes that the peer accepted, possibly 0.
func (w *wsTry) write(raw syscall.RawConn, buf []byte) (int, error) {
	w.buf = buf
	err := raw.Write(w.once)
	w.buf = nil
	if err != nil {
		return 0, err
	}
	return w.n, w.err
}

// rawConn returns the descriptor below a connection, nil if it has none.
func rawConn(nc net.Conn) syscall.RawConn {
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
