package harness

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// LineState selects whether a line passes bytes.
type LineState int

// What a line does with its connections.
const (
	LineUp     LineState = iota
	LineCut              // connections are closed, new ones immediately
	LineFrozen           // connections stay open, no bytes pass: a sleeping laptop, a lost network
)

// Line is a TCP proxy in front of the program, which a test can cut and freeze.
type Line struct {
	t      *testing.T
	Ln     net.Listener
	target string

	mu    sync.Mutex
	moved *sync.Cond
	state LineState
	conns map[net.Conn]struct{}
}

// NewLine opens a line to the address in the URL target. It closes with the test.
func NewLine(t *testing.T, target string) *Line {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{t: t, Ln: ln, target: u.Host, conns: map[net.Conn]struct{}{}}
	l.moved = sync.NewCond(&l.mu)
	var all sync.WaitGroup
	all.Go(func() { l.accept(&all) })
	t.Cleanup(func() {
		_ = ln.Close()
		l.Set(LineCut)
		all.Wait()
	})
	return l
}

func (l *Line) URL() string { return "http://" + l.Ln.Addr().String() }

// Set changes the state. lineCut closes every connection.
func (l *Line) Set(s LineState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	l.moved.Broadcast()
	if s == LineCut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

func (l *Line) accept(all *sync.WaitGroup) {
	for {
		in, err := l.Ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", l.target)
		if err != nil || !l.add(in, out) {
			_ = in.Close()
			continue
		}
		all.Go(func() { l.copy(out, in) })
		all.Go(func() { l.copy(in, out) })
	}
}

// add registers a pair of connections, unless the line is cut.
func (l *Line) add(in, out net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == LineCut {
		_ = out.Close()
		return false
	}
	l.conns[in], l.conns[out] = struct{}{}, struct{}{}
	return true
}

func (l *Line) copy(dst, src net.Conn) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range []net.Conn{dst, src} {
			_ = c.Close()
			delete(l.conns, c)
		}
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		l.mu.Lock()
		for l.state == LineFrozen {
			l.moved.Wait()
		}
		l.mu.Unlock()
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
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
	a := in.Do("GET", fmt.Sprintf("%s/api/ohlc?currencyPairCode=%s&interval=%s&start=2020-01-01&end=2100-01-01",
		in.Public, pair, interval), "")
	var rows []candle
	if err := json.Unmarshal([]byte(a.Body), &rows); err != nil || a.Status != 200 {
		in.T.Fatalf("/api/ohlc: %d %v %.300s", a.Status, err, a.Body)
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
