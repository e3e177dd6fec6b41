package cluster

import (
	"net"
	"sync"
	"testing"
	"time"
)

// The directions of a link.
const (
	there = iota // from the process that dials to the target
	back
)

// wire is the state of a link. The zero wire passes everything at once.
type wire struct {
	hold  [2]bool       // no byte of the direction arrives until the link is mended; then all do
	delay time.Duration // of every byte, in both directions
	cut   bool          // connections end, new ones are refused
	half  bool          // the target's connections end, the dialler sees nothing of it; new ones stay silent
}

// The wires of a link that fails.
var (
	wireUp      = wire{}
	wireCut     = wire{cut: true}
	wireHeld    = wire{hold: [2]bool{true, true}}
	wireNoThere = wire{hold: [2]bool{there: true}}
	wireNoBack  = wire{hold: [2]bool{back: true}}
	wireSlow    = wire{delay: 200 * time.Millisecond}
	wireHalf    = wire{half: true}
)

// link is a TCP proxy between two processes of a cluster, which a fault cuts, slows or makes one-way.
type link struct {
	ln net.Listener

	mu     sync.Mutex
	moved  *sync.Cond
	target string
	state  wire
	conns  map[net.Conn]*side
}

// side is one side of a connection that a link passes on.
type side struct{ dialler, halved bool }

// newLink returns a link to an address, which setTarget may set later.
func newLink(t *testing.T, target string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{ln: ln, target: target, conns: map[net.Conn]*side{}}
	l.moved = sync.NewCond(&l.mu)
	var all sync.WaitGroup
	all.Go(func() { l.accept(&all) })
	t.Cleanup(func() {
		_ = ln.Close()
		l.set(wireCut)
		all.Wait()
	})
	return l
}

func (l *link) addr() string { return l.ln.Addr().String() }

// setTarget changes the target of new connections.
func (l *link) setTarget(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// set changes the state of all connections.
func (l *link) set(w wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = w
	for c, s := range l.conns {
		if w.cut || w.half && !s.dialler || !w.half && s.halved {
			_ = c.Close()
		}
		s.halved = s.halved || w.half && s.dialler
	}
	l.moved.Broadcast()
}

func (l *link) accept(all *sync.WaitGroup) {
	for {
		in, err := l.ln.Accept()
		if err != nil {
			return
		}
		all.Go(func() { l.join(in, all) })
	}
}

// join connects a new connection with the target.
func (l *link) join(in net.Conn, all *sync.WaitGroup) {
	l.mu.Lock()
	target, now := l.target, l.state
	if now.half {
		l.conns[in] = &side{dialler: true, halved: true} // until the link is mended
	}
	l.mu.Unlock()
	if now.half {
		return
	}
	out, err := net.DialTimeout("tcp", target, 2*time.Second)
	if err != nil || now.cut {
		_ = in.Close()
		if err == nil {
			_ = out.Close()
		}
		return
	}
	l.mu.Lock()
	l.conns[in], l.conns[out] = &side{dialler: true}, &side{}
	if l.state.cut || l.state.half { // since it was dialled
		_, _ = in.Close(), out.Close()
	}
	l.mu.Unlock()
	all.Go(func() { l.pass(there, out, in, all) })
	all.Go(func() { l.pass(back, in, out, all) })
}

// piece holds the bytes of one read.
type piece struct {
	bytes []byte
	at    time.Time
}

// pass copies one direction. Pieces wait in a queue, so that a delay costs no throughput.
func (l *link) pass(way int, dst, src net.Conn, all *sync.WaitGroup) {
	queue := make(chan piece, 256)
	all.Go(func() { l.deliver(way, dst, src, queue) })
	defer close(queue)
	for {
		buf := make([]byte, 16<<10)
		n, err := src.Read(buf)
		if n > 0 {
			queue <- piece{buf[:n], time.Now()}
		}
		if err != nil {
			return
		}
	}
}

// deliver writes what pass has read, when the link lets it through. The end of a connection waits like its bytes.
func (l *link) deliver(way int, dst, src net.Conn, queue <-chan piece) {
	lost := false
	for p := range queue {
		if lost = lost || l.lost(way, p.at); lost {
			continue // read on, so that pass ends
		}
		if _, err := dst.Write(p.bytes); err != nil {
			lost = true
			_ = src.Close()
		}
	}
	l.lost(way, time.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.conns[dst]; way == back && s != nil && s.halved && l.state.half {
		return // the dialler does not notice
	}
	for _, c := range []net.Conn{dst, src} {
		_ = c.Close()
		delete(l.conns, c)
	}
}

// lost waits until a piece that was read at a time may pass, and reports whether it never arrives.
func (l *link) lost(way int, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		due := at.Add(l.state.delay)
		switch {
		case l.state.cut || l.state.half:
			return true
		case l.state.hold[way]:
			l.moved.Wait()
		case time.Now().Before(due):
			l.mu.Unlock()
			<-time.After(time.Until(due))
			l.mu.Lock()
		default:
			return false
		}
	}
}
