package peer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Listener reads frames from many connections. It is the client of the streams scenario and runs in its own
// process.
type Listener struct {
	conns    []net.Conn
	messages atomic.Int64
	trades   atomic.Int64
	reads    atomic.Int64
	ready    atomic.Int64  // number of connections whose stream has started
	startNs  atomic.Int64  // start of the round, Unix ns; 0: measure no latencies
	everyNs  atomic.Int64  // ns between two trades of the round
	arrived  chan struct{} // receives a value when the last awaited trade has arrived
	waiting  atomic.Int64  // number of trades still awaited

	mu    sync.Mutex
	hist  *hdrhistogram.Histogram // latencies of the round in us; guarded by mu
	first error                   // first error; guarded by mu
}

// Received is the answer to a line `wait`.
type Received struct {
	Messages, Reads int
	Trades          int    // the reference counts each ready frame as one trade
	Histogram       string // latencies in us, encoded by HdrHistogram
	Error           string
}

// Parse reads the answer of a listener.
func (h *Received) Parse(line string) error {
	if err := json.Unmarshal([]byte(line), h); err != nil {
		return fmt.Errorf("streams: the listener answered %.200q: %w", line, err)
	}
	return nil
}

// sampleEvery: one of this many connections has its messages parsed and timed. Parsing all of them would use
// the cores that the server needs.
const sampleEvery = 16

// waitTime limits the wait for the messages of a round.
const waitTime = 30 * time.Second

// NewListener opens n connections and waits until a stream has started on each. With a target, each connection
// first requests a WebSocket upgrade.
func NewListener(addr, target string, n int) (*Listener, error) {
	l := &Listener{arrived: make(chan struct{}, 1), hist: NewHist()}
	for i := range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("streams: %w", err)
		}
		l.conns = append(l.conns, c)
		br := bufio.NewReaderSize(&countedReads{c, &l.reads}, 4<<10)
		if target != "" {
			if err := Upgrade(c, br, target); err != nil {
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

// NewHist returns an empty histogram of latencies in us.
func NewHist() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Minute.Microseconds(), 3)
}

// countedReads counts the calls of Read of a connection.
type countedReads struct {
	net.Conn
	n *atomic.Int64
}

// Read counts the call and reads from the connection.
func (c *countedReads) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(1)
	return n, err
}

// Upgrade begins a WebSocket on a connection.
func Upgrade(c net.Conn, br *bufio.Reader, target string) error {
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
func (l *Listener) read(br *bufio.Reader, timed bool) {
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
func (l *Listener) time(payload []byte) {
	const member = `"volume":`
	start, every := l.startNs.Load(), l.everyNs.Load()
	i := bytes.Index(payload, []byte(member))
	if start == 0 || i < 0 {
		return
	}
	rest := payload[i+len(member):]
	n := number8(rest[:max(bytes.IndexByte(rest, ','), 0)]) - StreamAmount
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

// ServeLines answers lines. `begin START_NS PER_SECOND` starts a round; the answer is ok. `wait N` waits for
// the N trades of the round; the answer is a Received in JSON.
func (l *Listener) ServeLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
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
		answer, err := json.Marshal(l.wait(n))
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		fmt.Fprintf(out, "%s\n", answer)
	}
	return lines.Err()
}

func (l *Listener) begin(startNs int64, perSecond float64) {
	l.mu.Lock()
	l.hist = NewHist()
	l.mu.Unlock()
	l.startNs.Store(startNs)
	if perSecond > 0 {
		l.everyNs.Store(int64(float64(time.Second) / perSecond))
	}
	l.messages.Store(0)
	l.trades.Store(0)
	l.reads.Store(0)
}

func (l *Listener) wait(n int64) Received {
	l.waiting.Store(n)
	var late error
	if l.trades.Load() < n {
		select {
		case <-l.arrived:
		case <-time.After(waitTime):
			late = errors.New("no further trade arrived")
		}
	}
	l.waiting.Store(-1)
	select {
	case <-l.arrived:
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := Received{Messages: int(l.messages.Load()), Reads: int(l.reads.Load()), Trades: int(l.trades.Load())}
	if err := errors.Join(l.first, late); err != nil {
		h.Error = err.Error()
	}
	if text, err := l.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		h.Histogram = string(text)
	}
	return h
}

// StreamAmount is the amount of a round's first trade in 10^-8. The amounts of the following trades increase,
// so an amount identifies its order.
const StreamAmount = 50_000_000
