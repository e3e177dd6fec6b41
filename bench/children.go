package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
)

// Child carries out `tickhive-bench child NAME ARGS...`: the other end of a measurement, such as the server. The other
// end is a process of its own, so that the CPU times of both ends are separate. The process prints a line `ready`,
// answers each line of its standard input with one line, and ends when its standard input ends.
func Child(name string, args []string, in io.Reader, out io.Writer) error {
	for _, c := range []struct {
		name string
		args int // the least number
		run  func(args []string, in io.Reader, out io.Writer) error
	}{
		{"constant", 1, constantChild},
		{"market", 2, marketChild},
		{"frames", 0, framesChild},
		{"listen", 3, listenChild},
		{"wakeups", 0, wakeupsChild},
		{"nats", 4, natsChild},
	} {
		if c.name == name && len(args) >= c.args {
			return c.run(args, in, out)
		}
	}
	return fmt.Errorf("bench: no child %s with %d arguments", name, len(args))
}

// constantChild is the reference of the HTTP goals: the product's server with a handler that returns the bytes of FILE.
func constantChild(args []string, in io.Reader, out io.Writer) error {
	body, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	s, err := edge.NewConstant(serverOptions(marketdata.NewFeed(marketdata.Options{})), body)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "ready public=%s\n", ln.Addr())
	go func() { _ = s.Serve(ln) }()
	_, _ = io.Copy(io.Discard, in)
	return nil
}

// serverOptions returns the server options of serve, but without limits per address, because all load comes
// from one address.
func serverOptions(feed *marketdata.Feed) edge.Options {
	return edge.Options{
		Clock:      clock.Real{},
		ConnConfig: edge.ConnConfig{ConnectionsPerIP: -1}, Rate: edge.RateConfig{Allow: []string{"127.0.0.0/8"}},
		Resources: []edge.Resource{public.New(public.Options{
			Board: feed.Board(), Clock: clock.Real{}, Version: cmdline.Version,
		}).Routes},
	}
}

// natsChild is a server of a stream: SEED_FILE FOLDER ADDRESS NAME, and among several its address for the others and
// the addresses of all.
func natsChild(args []string, in io.Reader, out io.Writer) error {
	seed, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	o := jet.ServerOptions{Dir: args[1], Listen: args[2], Name: args[3], Seed: string(seed)}
	if len(args) > 4 {
		o.Cluster, o.Routes = args[4], args[5:]
	}
	s, err := jet.StartServer(o)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	_, _ = io.Copy(io.Discard, in)
	s.Stop()
	return nil
}

// wakeEvery is the time between two wake-ups of wakeupsChild.
const wakeEvery = 5 * time.Millisecond

// wakeupsChild wakes up every wakeEvery and does nothing else, so only the machine, at its present load, delays it. For
// each line that it reads it writes the p99 of the delays since the line before, in ms.
func wakeupsChild(_ []string, in io.Reader, answers io.Writer) error {
	fmt.Fprintln(answers, "ready")
	var mu sync.Mutex
	delays := load.NewHistogram()
	stop, ended := make(chan struct{}), make(chan struct{})
	defer func() {
		close(stop)
		<-ended
	}()
	go func() {
		wakeUp(stop, &mu, delays)
		close(ended)
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		mu.Lock()
		p99 := float64(delays.ValueAtQuantile(99)) / 1e3
		delays.Reset()
		mu.Unlock()
		if _, err := fmt.Fprintln(answers, p99); err != nil {
			return err
		}
	}
	return nil
}

// wakeUp notes how long after each intended time it wakes up, until stop is closed.
func wakeUp(stop <-chan struct{}, mu *sync.Mutex, delays *hdrhistogram.Histogram) {
	for due := time.Now().Add(wakeEvery); ; due = due.Add(wakeEvery) {
		time.Sleep(time.Until(due))
		late := time.Since(due)
		select {
		case <-stop:
			return
		default:
		}
		mu.Lock()
		_ = delays.RecordValue(late.Microseconds()) // it fails above a minute
		mu.Unlock()
	}
}

// frameSize is the payload of a ready frame in bytes, about the size of an update with one trade.
const frameSize = 300

// readyFrame returns an encoded WebSocket text frame as a server sends it.
func readyFrame() []byte {
	f := []byte{0x81, 126, frameSize >> 8, frameSize & 0xff}
	return append(f, bytes.Repeat([]byte("x"), frameSize)...)
}

// framesChild is the reference of the streams: it accepts connections. For each line `send N PER_SECOND JOINED` it
// writes JOINED ready frames to every connection, N times at PER_SECOND, and answers the number of frames. This is the
// least that a fan-out can cost. It keeps the rate of the product's trades: without it, frames would accumulate before
// their readers woke, and writing to a socket that is already readable costs the kernel less.
func framesChild(_ []string, in io.Reader, answers io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(answers, "ready public=%s\n", ln.Addr())
	arrived := make(chan net.Conn, 1<<16)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			arrived <- c
		}
	}()
	var conns []net.Conn
	frame := readyFrame()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		for len(arrived) > 0 {
			conns = append(conns, <-arrived)
		}
		var n, joined int
		var perSecond float64
		if _, err := fmt.Sscanf(lines.Text(), "send %d %g %d", &n, &perSecond, &joined); err != nil {
			return fmt.Errorf("bench: line %q: %w", lines.Text(), err)
		}
		written, start, out := 0, time.Now(), bytes.Repeat(frame, joined)
		for i := range n {
			time.Sleep(time.Until(start.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
			for _, c := range conns {
				if _, err := c.Write(out); err != nil {
					return fmt.Errorf("bench: %w", err)
				}
				written += joined
			}
		}
		fmt.Fprintln(answers, written)
	}
	return lines.Err()
}

// listener reads frames from many connections. It is the client of the streams scenario.
type listener struct {
	messages atomic.Int64
	trades   atomic.Int64
	ready    atomic.Int64  // number of connections whose stream has started
	startNs  atomic.Int64  // start of the round, Unix ns; 0: measure no latencies
	everyNs  atomic.Int64  // ns between two trades of the round
	arrived  chan struct{} // receives a value when the last awaited trade has arrived
	waiting  atomic.Int64  // number of trades still awaited

	mu    sync.Mutex
	hist  *hdrhistogram.Histogram // latencies of the round in us; guarded by mu
	first error                   // first error; guarded by mu
}

// sampleEvery: one of this many connections has its messages parsed and timed. Parsing all of them would use
// the cores that the server needs.
const sampleEvery = 16

// waitTime limits the wait for the messages of a round.
const waitTime = 30 * time.Second

// listenChild opens CONNECTIONS to ADDRESS and reads from them. With a TARGET, each first requests a WebSocket upgrade,
// and the child is ready when a stream has started on each. It answers lines: `begin START_NS PER_SECOND` starts a
// round, and `wait N` waits for its N trades and answers messages, trades and a histogram of the latencies in us.
func listenChild(args []string, in io.Reader, out io.Writer) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	l, err := newListener(args[0], args[2], n)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var n int64
		var perSecond float64
		if _, err := fmt.Sscanf(lines.Text(), "begin %d %g", &n, &perSecond); err == nil {
			l.begin(n, perSecond)
			fmt.Fprintln(out, "ok")
			continue
		}
		if _, err := fmt.Sscanf(lines.Text(), "wait %d", &n); err != nil {
			return fmt.Errorf("bench: line %q: %w", lines.Text(), err)
		}
		got, err := l.wait(n)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, got.messages, got.trades, got.histogram)
	}
	return nil
}

func newListener(addr, target string, n int) (*listener, error) {
	l := &listener{arrived: make(chan struct{}, 1), hist: load.NewHistogram()}
	for i := range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("streams: %w", err)
		}
		br := bufio.NewReaderSize(c, 4<<10)
		if target != "" {
			if err := upgrade(c, br, target); err != nil {
				return nil, err
			}
		}
		go l.read(br, i%sampleEvery == 0)
	}
	want := int64(n * strings.Count(target, ":"))
	for end := time.Now().Add(waitTime); l.ready.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return nil, fmt.Errorf("streams: only %d of %d streams have started", l.ready.Load(), want)
		}
	}
	return l, nil
}

// upgrade begins a WebSocket on a connection.
func upgrade(c net.Conn, br *bufio.Reader, target string) error {
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "+
		"websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", target)
	if err != nil {
		return fmt.Errorf("streams: %w", err)
	}
	for first := true; ; first = false {
		line, err := br.ReadString('\n')
		if err != nil {
			return fmt.Errorf("streams: upgrade: %w", err)
		}
		if first && !strings.Contains(line, " 101 ") {
			return fmt.Errorf("streams: upgrade refused: %s", strings.TrimSpace(line))
		}
		if line == "\r\n" {
			return nil
		}
	}
}

// read counts the trades that arrive on a connection until it ends. With timed it records their latencies.
func (l *listener) read(br *bufio.Reader, timed bool) {
	for {
		payload, err := frame(br)
		if err != nil {
			l.mu.Lock()
			if l.first == nil {
				l.first = fmt.Errorf("a connection ended: %w", err)
			}
			l.mu.Unlock()
			return
		}
		if bytes.HasPrefix(payload, []byte(`{"type":"subscribed"`)) {
			l.ready.Add(1)
		}
		n := trades(payload)
		if n == 0 {
			continue
		}
		if timed {
			l.time(payload)
		}
		l.messages.Add(1)
		if l.trades.Add(n) == l.waiting.Load() {
			select {
			case l.arrived <- struct{}{}:
			default:
			}
		}
	}
}

// trades returns the number of trades in a message. An update of the server may contain several. A frame of the
// reference counts as one; acknowledgements, snapshots and heartbeats count as none.
func trades(payload []byte) int64 {
	if bytes.HasPrefix(payload, []byte(`{"type":"update"`)) {
		return int64(bytes.Count(payload, []byte(`"tradeId":`)))
	}
	if bytes.HasPrefix(payload, []byte("xx")) {
		return 1
	}
	return 0
}

// time records the latency of a trade, measured from the time at which its order should have been sent.
func (l *listener) time(payload []byte) {
	const member = `"volume":`
	start, every := l.startNs.Load(), l.everyNs.Load()
	i := bytes.Index(payload, []byte(member))
	if start == 0 || i < 0 {
		return
	}
	rest := payload[i+len(member):]
	n := number8(rest[:max(bytes.IndexByte(rest, ','), 0)]) - streamAmount
	late := (time.Now().UnixNano() - start - n*every) / 1000
	l.mu.Lock()
	_ = l.hist.RecordValue(max(late, 1))
	l.mu.Unlock()
}

// number8 parses a decimal with eight decimals as an integer of 10^-8.
func number8(s []byte) (n int64) {
	for _, c := range s {
		if c >= '0' && c <= '9' {
			n = n*10 + int64(c-'0')
		}
	}
	return n
}

// frame reads one unmasked frame. It returns the part of a text payload that fits into the reader's buffer,
// valid until the next read.
func frame(br *bufio.Reader) (payload []byte, err error) {
	var head [10]byte
	if _, err := io.ReadFull(br, head[:2]); err != nil {
		return nil, err
	}
	size := uint64(head[1] & 0x7f)
	switch size {
	case 126:
		_, err = io.ReadFull(br, head[2:4])
		size = uint64(binary.BigEndian.Uint16(head[2:4]))
	case 127:
		_, err = io.ReadFull(br, head[2:10])
		size = binary.BigEndian.Uint64(head[2:10])
	}
	if err == nil && head[0]&0x0f == 1 {
		payload, err = br.Peek(min(int(size), br.Size()))
	}
	if err == nil {
		_, err = br.Discard(int(size))
	}
	return payload, err
}

func (l *listener) begin(startNs int64, perSecond float64) {
	l.mu.Lock()
	l.hist = load.NewHistogram()
	l.mu.Unlock()
	l.startNs.Store(startNs)
	if perSecond > 0 {
		l.everyNs.Store(int64(float64(time.Second) / perSecond))
	}
	l.messages.Store(0)
	l.trades.Store(0)
}

// received is what a listener received in a round.
type received struct {
	messages, trades int    // the reference counts each ready frame as one trade
	histogram        string // latencies in us, encoded by HdrHistogram
}

func (l *listener) wait(n int64) (got received, err error) {
	l.waiting.Store(n)
	if l.trades.Load() < n {
		select {
		case <-l.arrived:
		case <-time.After(waitTime):
			err = fmt.Errorf("streams: %d trades arrived of %d", l.trades.Load(), n)
		}
	}
	l.waiting.Store(-1)
	select {
	case <-l.arrived:
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text, encoded := l.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	got = received{int(l.messages.Load()), int(l.trades.Load()), string(text)}
	return got, errors.Join(err, l.first, encoded)
}

// streamAmount is the amount of a round's first trade in 10^-8. The amounts of the following trades increase,
// so an amount identifies its order.
const streamAmount = 50_000_000
