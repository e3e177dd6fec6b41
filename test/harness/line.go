package harness

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// The directions of a line.
const (
	there = iota // from the process that dials to the target
	back
)

// Wire is the state of a line. The zero Wire passes everything at once.
type Wire struct {
	Hold  [2]bool       // no byte of the direction arrives until the line is mended; then all do
	Delay time.Duration // of every byte, in both directions
	Cut   bool          // connections end, new ones are refused
	Half  bool          // the target's connections end, the dialler sees nothing of it; new ones stay silent
}

// The wires of a line that fails.
var (
	WireUp      = Wire{}
	WireCut     = Wire{Cut: true}
	WireHeld    = Wire{Hold: [2]bool{true, true}} // a sleeping laptop, a lost network
	WireNoThere = Wire{Hold: [2]bool{there: true}}
	WireNoBack  = Wire{Hold: [2]bool{back: true}}
	WireSlow    = Wire{Delay: 200 * time.Millisecond}
	WireHalf    = Wire{Half: true}
)

// Line is a TCP proxy in front of a process, which a fault cuts, freezes, slows or makes one-way.
type Line struct {
	ln net.Listener

	mu     sync.Mutex
	moved  *sync.Cond
	target string
	state  Wire
	conns  map[net.Conn]*side
}

// side is one side of a connection that a line passes on.
type side struct{ dialler, halved bool }

// NewLine opens a line to an address, which Aim may change. The line closes with the test.
func NewLine(t *testing.T, target string) *Line {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{ln: ln, target: target, conns: map[net.Conn]*side{}}
	l.moved = sync.NewCond(&l.mu)
	var all sync.WaitGroup
	all.Go(func() { l.accept(&all) })
	t.Cleanup(func() {
		_ = ln.Close()
		l.Set(WireCut)
		all.Wait()
	})
	return l
}

// Addr returns the address of the line, host and port.
func (l *Line) Addr() string { return l.ln.Addr().String() }

// URL returns the address of the line as that of an HTTP server.
func (l *Line) URL() string { return "http://" + l.Addr() }

// Aim changes the target of new connections.
func (l *Line) Aim(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// Set changes the state of all connections.
func (l *Line) Set(w Wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = w
	for c, s := range l.conns {
		if w.Cut || w.Half && !s.dialler || !w.Half && s.halved {
			_ = c.Close()
		}
		s.halved = s.halved || w.Half && s.dialler
	}
	l.moved.Broadcast()
}

func (l *Line) accept(all *sync.WaitGroup) {
	for {
		in, err := l.ln.Accept()
		if err != nil {
			return
		}
		all.Go(func() { l.join(in, all) })
	}
}

// join connects a new connection with the target.
func (l *Line) join(in net.Conn, all *sync.WaitGroup) {
	l.mu.Lock()
	target, now := l.target, l.state
	if now.Half {
		l.conns[in] = &side{dialler: true, halved: true} // until the line is mended
	}
	l.mu.Unlock()
	if now.Half {
		return
	}
	out, err := net.DialTimeout("tcp", target, 2*time.Second)
	if err != nil || now.Cut {
		_ = in.Close()
		if err == nil {
			_ = out.Close()
		}
		return
	}
	l.mu.Lock()
	l.conns[in], l.conns[out] = &side{dialler: true}, &side{}
	if l.state.Cut || l.state.Half { // since it was dialled
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
func (l *Line) pass(way int, dst, src net.Conn, all *sync.WaitGroup) {
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

// deliver writes what pass has read, when the line lets it through. The end of a connection waits like its bytes.
func (l *Line) deliver(way int, dst, src net.Conn, queue <-chan piece) {
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
	if s := l.conns[dst]; way == back && s != nil && s.halved && l.state.Half {
		return // the dialler does not notice
	}
	for _, c := range []net.Conn{dst, src} {
		_ = c.Close()
		delete(l.conns, c)
	}
}

// lost waits until a piece that was read at a time may pass, and reports whether it never arrives.
func (l *Line) lost(way int, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		due := at.Add(l.state.Delay)
		switch {
		case l.state.Cut || l.state.Half:
			return true
		case l.state.Hold[way]:
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

// candle is one candle of /api/ohlc.
type candle struct {
	Date                              string
	Open, Max, Min, Close, VolumeBase json.Number
}

// Candles returns the candles of /api/ohlc in the form of the page's hook: time, open, high,
// low, close and volume, one candle per line.
func (in *Instance) Candles(pair, interval string) (text string, n int) {
	in.T.Helper()
	var rows []candle
	for start := "2020-01-01"; start != ""; { // an answer has at most 1,000 rows, and says where the next begins
		a := in.Do("GET", fmt.Sprintf("%s/api/ohlc?currencyPairCode=%s&interval=%s&start=%s&end=2100-01-01",
			in.Public, pair, interval, start), "")
		var page []candle
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil || a.Status != 200 {
			in.T.Fatalf("/api/ohlc: %d %v %.300s", a.Status, err, a.Body)
		}
		rows, start = append(rows, page...), a.Header.Get("X-Next-Start")
	}
	var b strings.Builder
	for _, r := range rows {
		at, err := time.Parse("2006-01-02T15:04:05", r.Date)
		if err != nil {
			in.T.Fatal(err)
		}
		fmt.Fprintf(&b, "%d", at.Unix())
		for _, f := range []json.Number{r.Open, r.Max, r.Min, r.Close, r.VolumeBase} {
			v, err := f.Float64()
			if err != nil {
				in.T.Fatal(err)
			}
			fmt.Fprintf(&b, " %.8f", v)
		}
		b.WriteByte('\n')
	}
	return b.String(), len(rows)
}
