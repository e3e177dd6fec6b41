package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/bench/proc"
	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// market is a market in this process that changes at a constant rate: it applies, folds and publishes each change at
// its time. The changes run on a thread of their own, so that their CPU time can be subtracted from the server's.
type market struct {
	feed *marketdata.Feed

	core   *engine.Core
	events []engine.Event
	now    int64

	mu    sync.Mutex // guards shown: run appends, stale reads
	shown []shownSeq

	every   atomic.Int64 // ns between two changes, 0: no changes
	apply   atomic.Bool  // false: the thread wakes at each time but changes nothing
	changes atomic.Int64
	cpu     atomic.Int64 // of the thread, ns
}

// shownSeq holds the time at which the first pair's book was published with a seq.
type shownSeq struct {
	seq engine.Seq
	at  int64 // machine time in ns, read after the publication
}

// shownKept limits the number of stored publications.
const shownKept = 4 << 20

// newMarket returns a market with so many pairs, each with trades and so many levels on both sides.
func newMarket(pairs, levels int) *market {
	w := &market{feed: marketdata.NewFeed(marketdata.Options{}), core: engine.NewCore(engine.Options{})}
	for i := range pairs {
		in := &engine.Instrument{Base: fmt.Sprintf("P%04d", i), Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}
		in.Code = in.Base + "_" + in.Quote
		w.do(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: in})
		for k := range int64(levels) {
			w.limit(engine.PairID(i), engine.Buy, 6_500_000-k, (k+1)*12_345_678)
			w.limit(engine.PairID(i), engine.Sell, 6_500_001+k, (k+1)*54_321_012)
		}
		w.limit(engine.PairID(i), engine.Buy, 6_500_001, 1)
	}
	w.feed.Publish(w.now)
	return w
}

func (w *market) limit(p engine.PairID, side engine.Side, price, amount int64) {
	w.do(engine.Command{Kind: engine.Place, Pair: p, Side: side, Price: price, Amount: amount})
}

func (w *market) do(cmd engine.Command) {
	w.now = max(w.now+1, time.Now().UnixNano())
	cmd.TimeNs = w.now
	w.events = w.core.Apply(&cmd, w.events[:0])
	w.feed.Fold(w.events)
}

// change changes a level near the touch of the first pair: it places an order, and in the next call cancels it.
func (w *market) change(i int64) {
	if i%2 == 0 {
		w.limit(0, engine.Buy, 6_499_990-i/2%8, 1000+i%1000)
	} else {
		w.do(engine.Command{Kind: engine.Cancel, Order: w.core.LastOrderID(0)})
	}
	w.feed.Publish(w.now)
	at := time.Now().UnixNano()
	seq := w.feed.Board().Load().View(0).BookSeq
	w.mu.Lock()
	if len(w.shown) == shownKept {
		w.shown = w.shown[:copy(w.shown, w.shown[shownKept/2:])]
	}
	w.shown = append(w.shown, shownSeq{seq, at})
	w.mu.Unlock()
}

// run is the function of the thread. Until the next change it sleeps as long as sleeping is precise enough, then it
// spins. A market that changes nothing does the same, so that the load of the machine is equal with and without
// changes.
func (w *market) run() {
	runtime.LockOSThread()
	const spin = 200 * time.Microsecond
	due := time.Now()
	for i := int64(0); ; {
		every := time.Duration(w.every.Load())
		if every == 0 {
			time.Sleep(spin)
			due = time.Now()
			w.cpu.Store(int64(proc.ThreadCPU()))
			continue
		}
		if wait := time.Until(due); wait > spin {
			time.Sleep(wait - spin)
		} else if wait < -100*time.Millisecond {
			due = time.Now() // do not catch up; the count of changes shows the missing ones
		}
		for time.Now().Before(due) {
		}
		if w.apply.Load() {
			w.change(i)
			w.changes.Add(1)
		}
		if i++; i%64 == 0 || every > time.Millisecond {
			w.cpu.Store(int64(proc.ThreadCPU()))
		}
		due = due.Add(every)
	}
}

// marketChild is the real server over a market of PAIRS and LEVELS. It executes lines until its standard input ends,
// and answers each:
//
//	rate PER_SECOND on|off   sets the rate; off: the thread changes nothing      ok
//	figures                  changes, CPU ns of the thread                       two numbers
//	stale SENT_NS SEQ ...    for answers with SEQ to requests sent at SENT_NS:
//	                         how many lacked a change published before, and by
//	                         how much at most                                    two numbers, us
func marketChild(args []string, in io.Reader, out io.Writer) error {
	var pairs, levels int
	if _, err := fmt.Sscan(strings.Join(args, " "), &pairs, &levels); err != nil {
		return fmt.Errorf("bench: market %v: %w", args, err)
	}
	w := newMarket(pairs, levels)
	s, err := edge.New(serverOptions(w.feed))
	if err != nil {
		return err
	}
	s.SetReady()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = s.Serve(ln) }()
	fmt.Fprintf(out, "ready public=%s\n", ln.Addr())
	return w.serveLines(in, out)
}

func (w *market) serveLines(in io.Reader, out io.Writer) error {
	go w.run()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "rate":
			var rate float64
			var on string
			if _, err := fmt.Sscan(rest, &rate, &on); err != nil {
				return fmt.Errorf("bench: line %q: %w", lines.Text(), err)
			}
			w.apply.Store(on == "on")
			every := int64(0)
			if rate > 0 {
				every = int64(float64(time.Second) / rate)
			}
			w.every.Store(every)
			fmt.Fprintln(out, "ok")
		case "figures":
			fmt.Fprintln(out, w.changes.Load(), w.cpu.Load())
		case "stale":
			stale, worst := w.stale(strings.Fields(rest))
			fmt.Fprintln(out, stale, worst.Microseconds())
		default:
			return fmt.Errorf("bench: unknown line %q", lines.Text())
		}
	}
	return lines.Err()
}

// stale returns the number of answers that lacked a change published before their request was sent, and the
// longest time between that publication and the request.
func (w *market) stale(fields []string) (count int, worst time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 0; i+1 < len(fields); i += 2 {
		var sent int64
		var seq engine.Seq
		_, _ = fmt.Sscan(fields[i], &sent)
		_, _ = fmt.Sscan(fields[i+1], &seq)
		k, _ := slices.BinarySearchFunc(w.shown, seq+1, func(s shownSeq, want engine.Seq) int {
			return int(int64(s.seq) - int64(want))
		})
		if k == 0 || k == len(w.shown) { // older than the stored publications, or nothing newer was published
			continue
		}
		if d := time.Duration(sent - w.shown[k].at); d > 0 {
			count++
			worst = max(worst, d)
		}
	}
	return count, worst
}

// touch changes the best price of the first pair, and thereby its book and its ticker.
func (w *market) touch(i int64) {
	if i%2 == 0 {
		w.limit(0, 0, 6_500_000, 1000+i%1000)
	} else {
		w.limit(0, 1, 6_500_000, 1000+(i-1)%1000)
	}
	w.feed.Publish(w.now)
}
