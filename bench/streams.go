package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tickhive/bench/load"
	"tickhive/bench/peer"
	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/internal/cmdline"
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
	target    float64
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
	frames, err := proc.Start(nil, r.Program, "frames")
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
		{"one message a write", 0, 1, streamTrades, 0.95},
		{"ten messages joined", 1, streamJoined, streamBatches, 8},
	}
	for _, k := range kinds {
		r.say("%s, %d connections", k.name, conns)
		if err := r.streamKind(p, frames, ready, k, conns); err != nil {
			return err
		}
	}
	r.say("readers that stop")
	return streamStalled(r, p)
}

// listen starts the process that opens n connections and reads from them.
func (r *Run) listen(addr, target string, n int) (*proc.Child, error) {
	if err := load.Local(addr); err != nil {
		return nil, err
	}
	return proc.Start(nil, r.Program, "listen", addr, strconv.Itoa(n), target)
}

// streamRun holds the state of the measurement of one streamKind.
type streamRun struct {
	streamKind
	p                        *product
	frames, ready, listeners *proc.Child
	conns                    int
	idle                     time.Duration // smallest CPU time of a round of orders without connections

	cpu, rate, joined, bound *report.Measure
	hist                     *hdrhistogram.Histogram
}

// streamKind measures one kind of subscription. Rounds of the product and of the reference alternate.
func (r *Run) streamKind(p *product, frames, ready *proc.Child, k streamKind, conns int) error {
	x := &streamRun{
		streamKind: k, p: p, frames: frames, ready: ready, conns: conns, idle: math.MaxInt64,
		hist: peer.NewHist(),
	}
	schedule := load.Even{PerSecond: k.perSecond, For: r.length(streamRound)}
	for range r.Rounds {
		cpu, err := p.trade(k, schedule, time.Now())
		if err != nil {
			return err
		}
		x.idle = min(x.idle, cpu)
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
	if x.listeners, err = r.listen(p.public, target, conns); err != nil {
		return err
	}
	defer x.listeners.Stop()
	after, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	x.measures(r.S, max(float64(after-before)/float64(conns), 1))
	for range r.Rounds {
		if err := x.round(schedule); err != nil {
			return err
		}
	}
	if k.n > 1 && !x.cpu.Met() {
		x.cpu.Reason = fmt.Sprintf("ten messages cost %.1f us, of which the loop's one write of ten frames is %.1f "+
			"us; the rest is the hub's and the writer's work on each connection",
			1e6*float64(k.n)/slices.Max(x.cpu.Product), 1e6*float64(k.n)/slices.Max(x.bound.Product))
	}
	l := latencyOf(&load.Result{Hist: x.hist}, "order meant to be sent to trade on the socket, "+k.name)
	r.S.Latencies = append(r.S.Latencies, l)
	return nil
}

// measures adds to s the measures that the rounds fill.
func (x *streamRun) measures(s *report.Scenario, memory float64) {
	with := fmt.Sprintf("%d connections in a process of their own, %.0f x %d trades/s each to all of them; CPU of "+
		"the orders themselves taken off", x.conns, x.perSecond, x.n)
	x.cpu = s.Rate("messages for a second of server CPU, "+x.name, "messages",
		with).Against("ready frames, one write each").Aim("S1", x.target)
	x.rate = s.Rate("messages, "+x.name, "messages/s", with)
	x.joined = s.Rate("messages a read, "+x.name, "messages", "as the listening side sees it")
	s.Cost("memory of a connection, "+x.name, "bytes",
		fmt.Sprintf("%d connections, %d streams each, resident memory of the server", x.conns, x.n)).Round(memory)
	x.bound = &report.Measure{
		Name: "ready frames joined by ten, one write of them", Unit: "messages", Higher: true,
		RefName: "ready frames, one write each",
		With:    "the loop of the reference itself: the most that joining can gain",
	}
	if x.n > 1 {
		s.Add(x.bound)
	}
}

// round measures the product and then the reference once.
func (x *streamRun) round(schedule load.Even) error {
	start, before := time.Now(), x.p.CPU()
	got, h, err := x.p.tradeTo(x.listeners, x.streamKind, x.conns, schedule)
	if err != nil {
		return err
	}
	spent := x.p.CPU() - before - x.idle
	x.rate.Round(float64(got.Messages) / time.Since(start).Seconds())
	x.joined.Round(float64(got.Messages) / float64(max(got.Reads, 1)))
	x.cpu.Round(float64(got.Messages) / spent.Seconds())
	x.hist.Merge(h)

	one, err := readyFrames(x.frames, x.ready, x.conns, int(streamTrades*schedule.For.Seconds()), streamTrades, 1)
	if err != nil {
		return err
	}
	x.cpu.Reference = append(x.cpu.Reference, one)
	if x.n == 1 {
		return nil
	}
	ten, err := readyFrames(x.frames, x.ready, x.conns, schedule.Count(), x.perSecond, x.n)
	if err != nil {
		return err
	}
	x.bound.Round(ten, one)
	return nil
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
	if _, err := received(ready, n*conns*joined); err != nil {
		return 0, err
	}
	return float64(n*conns*joined) / (frames.CPU() - before).Seconds(), nil
}

// tradeTo makes the trades of a round and waits until all connections of the listener have received them.
func (p *product) tradeTo(listener *proc.Child, k streamKind, conns int, schedule load.Even) (peer.Received,
	*hdrhistogram.Histogram, error,
) {
	start := time.Now()
	if _, err := listener.Ask(fmt.Sprintf("begin %d %g", start.UnixNano(), k.perSecond)); err != nil {
		return peer.Received{}, nil, err
	}
	if _, err := p.trade(k, schedule, start); err != nil {
		return peer.Received{}, nil, err
	}
	got, err := received(listener, conns*k.n*schedule.Count())
	if err != nil {
		return got, nil, err
	}
	h, err := hdrhistogram.Decode([]byte(got.Histogram))
	if err != nil {
		return got, nil, fmt.Errorf("streams: %w", err)
	}
	return got, h, nil
}

// received waits until a listener has received all trades of a round.
func received(listener *proc.Child, want int) (peer.Received, error) {
	var h peer.Received
	line, err := listener.Ask(fmt.Sprintf("wait %d", want))
	if err != nil {
		return h, err
	}
	if err := h.Parse(line); err != nil {
		return h, err
	}
	if h.Trades != want {
		return h, fmt.Errorf("streams: %d trades arrived of %d: %s", h.Trades, want, h.Error)
	}
	return h, nil
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
			amount := int64(peer.StreamAmount + i)
			body = append(placeJSON(body, pairName(k.first+j), "buy", mid, amount), ',')
			body = placeJSON(body, pairName(k.first+j), "sell", mid, amount)
		}
		if err := p.ask(load.Post("", internalV1+"/orders/batch", append(body, "]}"...))); err != nil {
			return 0, errors.Join(errors.New("streams: an order was refused"), err)
		}
	}
	return p.CPU() - before, nil
}
