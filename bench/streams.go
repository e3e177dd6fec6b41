package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/internal/cmdline"
)

// Parameters of the streams scenario.
const (
	streamConns   = 5000
	streamRound   = 1500 * time.Millisecond
	streamTrades  = 20 // trades a second, each published alone to every connection
	streamBatches = 10 // batches a second, each with streamJoined trades for every connection
	streamJoined  = 10 // number of pairs that a connection follows in the rounds with batches
)

// streamKind is one kind of subscription to measure.
type streamKind struct {
	name      string
	first, n  int // index of the first pair and number of pairs that every connection follows
	perSecond float64
}

// runStreams sends trades to thousands of connections, which another process reads. It compares the messages a
// second of server CPU with a reference: a loop that writes prepared frames, one after the other, to as many
// connections.
func runStreams(r *Run) error {
	conns := min(streamConns, int(cmdline.FileLimit())-keepFiles)
	if conns < streamConns {
		r.S.Note("the descriptor limit allows %d connections", conns)
	}
	p, err := r.startProduct()
	if err != nil {
		return err
	}
	defer p.end()
	if err := p.addPairs(0, 1+streamJoined); err != nil {
		return err
	}
	frames, err := r.child("frames")
	if err != nil {
		return err
	}
	defer frames.Stop()
	ready, err := r.listen(frames.Fields["public"], "", conns)
	if err != nil {
		return err
	}
	defer ready.Stop()
	kinds := []streamKind{
		{"one message a write", 0, 1, streamTrades},
		{"ten messages joined", 1, streamJoined, streamBatches},
	}
	for _, k := range kinds {
		if err := r.streamKind(p, frames, ready, k, conns); err != nil {
			return err
		}
	}
	return streamStalled(r, p)
}

// listen starts the process that opens n connections and reads from them.
func (r *Run) listen(addr, target string, n int) (*proc.Child, error) {
	if err := load.Local(addr); err != nil {
		return nil, err
	}
	return r.child("listen", addr, strconv.Itoa(n), target)
}

// streamKind measures one kind of subscription.
func (r *Run) streamKind(p *product, frames, ready *proc.Child, k streamKind, conns int) error {
	schedule := load.Even{PerSecond: k.perSecond, For: r.length(streamRound)}
	idle := time.Duration(math.MaxInt64) // smallest CPU time of a round of orders without connections
	for range r.Rounds {
		cpu, err := p.trade(k, schedule, time.Now())
		if err != nil {
			return err
		}
		idle = min(idle, cpu)
	}
	before, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	target := "/ws?streams="
	for i := range k.n {
		if i > 0 {
			target += ","
		}
		target += "trades:" + pairName(k.first+i)
	}
	listeners, err := r.listen(p.public, target, conns)
	if err != nil {
		return err
	}
	defer listeners.Stop()
	after, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	memory := max(float64(after-before)/float64(conns), 1)
	if err := r.round(figures{"memory of a connection, " + k.name: memory}); err != nil {
		return err
	}
	hist := load.NewHistogram()
	turns := []turn{func(f figures) error {
		before := p.CPU()
		got, h, err := p.tradeTo(listeners, k, conns, schedule)
		if err != nil {
			return err
		}
		hist.Merge(h)
		f["messages for a second of server CPU, "+k.name] = float64(got) / (p.CPU() - before - idle).Seconds()
		return nil
	}, func(f figures) (err error) {
		n := int(streamTrades * schedule.For.Seconds())
		f["ready frames, one write each"], err = readyFrames(frames, ready, conns, n, streamTrades, 1)
		return err
	}}
	if k.n > 1 {
		turns = append(turns, func(f figures) (err error) {
			f["ready frames joined by ten, one write of them"], err = readyFrames(frames, ready, conns,
				schedule.Count(), k.perSecond, k.n)
			return err
		})
	}
	err = r.rounds(fmt.Sprintf("%s, %d connections", k.name, conns), r.Rounds, turns...)
	r.latency(&load.Result{Hist: hist}, "order meant to be sent to trade on the socket, "+k.name)
	return err
}

// readyFrames makes the reference write n times to each connection, and returns the frames a second of its CPU.
func readyFrames(frames, ready *proc.Child, conns, n int, perSecond float64, joined int) (float64, error) {
	if _, err := ready.Ask("begin 0 0"); err != nil {
		return 0, err
	}
	before := frames.CPU()
	line, err := frames.Ask(fmt.Sprintf("send %d %g %d", n, perSecond, joined))
	if err != nil {
		return 0, err
	}
	if line != strconv.Itoa(n*conns*joined) {
		return 0, fmt.Errorf("streams: the reference wrote %s frames of %d", line, n*conns*joined)
	}
	if _, _, err := arrived(ready, n*conns*joined); err != nil {
		return 0, err
	}
	return float64(n*conns*joined) / (frames.CPU() - before).Seconds(), nil
}

// tradeTo makes the trades of a round and waits until all connections of the listener have received them. It returns
// the number of messages and the latencies.
func (p *product) tradeTo(listener *proc.Child, k streamKind, conns int, schedule load.Even) (messages int,
	h *hdrhistogram.Histogram, err error,
) {
	start := time.Now()
	if _, err := listener.Ask(fmt.Sprintf("begin %d %g", start.UnixNano(), k.perSecond)); err != nil {
		return 0, nil, err
	}
	if _, err := p.trade(k, schedule, start); err != nil {
		return 0, nil, err
	}
	return arrived(listener, conns*k.n*schedule.Count())
}

// arrived waits until a listener has received all trades of a round.
func arrived(listener *proc.Child, want int) (messages int, h *hdrhistogram.Histogram, err error) {
	line, err := listener.Ask(fmt.Sprintf("wait %d", want))
	if err != nil {
		return 0, nil, err
	}
	var trades int
	var text string
	if _, err := fmt.Sscan(line, &messages, &trades, &text); err != nil {
		return 0, nil, fmt.Errorf("streams: the listener answered %.200q: %w", line, err)
	}
	if trades != want {
		return 0, nil, fmt.Errorf("streams: %d trades arrived of %d", trades, want)
	}
	if h, err = hdrhistogram.Decode([]byte(text)); err != nil {
		return 0, nil, fmt.Errorf("streams: %w", err)
	}
	return messages, h, nil
}

// trade makes one trade in each pair of k at each time of the schedule that began at start. It returns the
// product's CPU time.
func (p *product) trade(k streamKind, schedule load.Even, start time.Time) (time.Duration, error) {
	before := p.CPU()
	var body []byte
	for i := range schedule.Count() {
		time.Sleep(time.Until(start.Add(schedule.Due(i))))
		body = append(body[:0], `{"commands":[`...)
		for j := range k.n {
			if j > 0 {
				body = append(body, ',')
			}
			amount := int64(streamAmount + i)
			body = append(placeJSON(body, pairName(k.first+j), "buy", mid, amount), ',')
			body = placeJSON(body, pairName(k.first+j), "sell", mid, amount)
		}
		if err := p.ask(load.Post("", internalV1+"/orders/batch", append(body, "]}"...))); err != nil {
			return 0, errors.Join(errors.New("streams: an order was refused"), err)
		}
	}
	return p.CPU() - before, nil
}

// Parameters of the part of streams with stalled readers.
const (
	stalledReaders = 20
	stalledLevels  = 20_000 // levels a side of the book that fills their sockets: 1.4 MB a snapshot
	stalledAgain   = 12     // number of times that each requests the book
	quickReaders   = 1000
	settleTime     = time.Second // time until their sockets are full
)

// streamStalled measures how clients that read nothing affect the others: the latency of trades on a thousand
// connections without and with them, and the memory for each of them.
func streamStalled(r *Run, p *product) error {
	k := streamKind{"readers beside stopped ones", 0, 1, streamTrades}
	big := 1 + streamJoined
	if err := p.addPairs(big, 1); err != nil {
		return err
	}
	if err := p.fill(big, 1, stalledLevels, 0); err != nil {
		return err
	}
	quick, err := r.listen(p.public, "/ws?streams=trades:"+pairName(0), quickReaders)
	if err != nil {
		return err
	}
	defer quick.Stop()
	var without []float64 // p99 without stalled readers, by round
	for range r.Rounds {
		v, _, err := quickRound(r, p, quick, k)
		if err != nil {
			return err
		}
		without = append(without, v)
	}
	before, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	for range stalledReaders {
		c, err := openStalled(p.public, pairName(big))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
	}
	time.Sleep(settleTime)
	all := load.NewHistogram()
	err = r.rounds("beside readers that stopped", r.Rounds, func(f figures) error {
		v, h, err := quickRound(r, p, quick, k)
		if err != nil {
			return err
		}
		all.Merge(h)
		f["p99 of readers beside those that stopped"], f["p99 without them"] = v, without[0]
		without = without[1:]
		return nil
	})
	if err != nil {
		return err
	}
	after, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	r.latency(&load.Result{Hist: all}, "order meant to be sent to trade on the socket, beside readers that stopped")
	return r.round(figures{"memory of a reader that stopped": max(float64(after-before)/stalledReaders, 1)})
}

// quickRound makes trades and returns the p99 of their latencies in us.
func quickRound(r *Run, p *product, quick *proc.Child, k streamKind) (float64, *hdrhistogram.Histogram, error) {
	schedule := load.Even{PerSecond: k.perSecond, For: r.length(streamRound)}
	_, h, err := p.tradeTo(quick, k, quickReaders, schedule)
	if err != nil {
		return 0, nil, err
	}
	return float64(h.ValueAtQuantile(99)), h, nil
}

// openStalled opens a connection that requests a large book repeatedly and never reads.
func openStalled(addr, pair string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(4 << 10)
	}
	if err := upgrade(c, bufio.NewReader(c), "/ws"); err != nil {
		return nil, err
	}
	ops := maskedFrame(`{"op":"subscribe","channel":"trades","pairs":["` + pairName(0) + `"]}`)
	ops = append(ops, maskedFrame(`{"op":"subscribe","channel":"book","depth":0,"pairs":["`+pair+`"]}`)...)
	for range stalledAgain {
		ops = append(ops, maskedFrame(`{"op":"resync","channel":"book","pairs":["`+pair+`"]}`)...)
	}
	if _, err := c.Write(ops); err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	return c, nil
}

// maskedFrame returns a text frame of a client; a mask of zeros leaves the payload unchanged.
func maskedFrame(text string) []byte {
	f := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(text)))
	return append(append(f, 0, 0, 0, 0), text...)
}
