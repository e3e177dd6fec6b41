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

	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
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

// newMarket returns a market with the given number of pairs, each with trades and the given number of levels on both
// sides.
func newMarket(pairs, levels int) *market {
	m := &market{feed: marketdata.NewFeed(marketdata.Options{}), core: engine.NewCore(engine.Options{})}
	for i := range pairs {
		in := &engine.Instrument{Base: fmt.Sprintf("P%04d", i), Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}
		in.Code = in.Base + "_" + in.Quote
		m.do(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: in})
		for k := range int64(levels) {
			m.limit(engine.PairID(i), engine.Buy, 6_500_000-k, (k+1)*12_345_678)
			m.limit(engine.PairID(i), engine.Sell, 6_500_001+k, (k+1)*54_321_012)
		}
		m.limit(engine.PairID(i), engine.Buy, 6_500_001, 1)
	}
	m.feed.Publish(m.now)
	return m
}

func (m *market) limit(p engine.PairID, side engine.Side, price, amount int64) {
	m.do(engine.Command{Kind: engine.Place, Pair: p, Side: side, Price: price, Amount: amount})
}

func (m *market) do(cmd engine.Command) {
	m.now = max(m.now+1, time.Now().UnixNano())
	cmd.TimeNs, cmd.First = m.now, true
	m.events = m.core.Apply(&cmd, m.events[:0])
	m.feed.Fold(m.events)
}

// change changes a level near the touch of the first pair: it places an order, and in the next call cancels it.
func (m *market) change(i int64) {
	if i%2 == 0 {
		m.limit(0, engine.Buy, 6_499_990-i/2%8, 1000+i%1000)
	} else {
		m.do(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0)})
	}
	m.feed.Publish(m.now)
	at := time.Now().UnixNano()
	seq := m.feed.Board().Load().View(0).BookSeq
	m.mu.Lock()
	if len(m.shown) == shownKept {
		m.shown = m.shown[:copy(m.shown, m.shown[shownKept/2:])]
	}
	m.shown = append(m.shown, shownSeq{seq, at})
	m.mu.Unlock()
}

// run is the function of the thread. Until the next change it sleeps as long as sleeping is precise enough, then it
// spins. A market that changes nothing does the same, so that the load of the machine is equal with and without
// changes.
func (m *market) run() {
	runtime.LockOSThread()
	const spin = 200 * time.Microsecond
	due := time.Now()
	for i := int64(0); ; {
		every := time.Duration(m.every.Load())
		if every == 0 {
			time.Sleep(spin)
			due = time.Now()
			m.cpu.Store(int64(proc.ThreadCPU()))
			continue
		}
		if wait := time.Until(due); wait > spin {
			time.Sleep(wait - spin)
		} else if wait < -100*time.Millisecond {
			due = time.Now() // do not catch up; the count of changes shows the missing ones
		}
		for time.Now().Before(due) {
		}
		if m.apply.Load() {
			m.change(i)
			m.changes.Add(1)
		}
		if i++; i%64 == 0 || every > time.Millisecond {
			m.cpu.Store(int64(proc.ThreadCPU()))
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
	m := newMarket(pairs, levels)
	s, err := edge.New(serverOptions(m.feed))
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
	return m.serveLines(in, out)
}

func (m *market) serveLines(in io.Reader, out io.Writer) error {
	go m.run()
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
			m.apply.Store(on == "on")
			every := int64(0)
			if rate > 0 {
				every = int64(float64(time.Second) / rate)
			}
			m.every.Store(every)
			fmt.Fprintln(out, "ok")
		case "figures":
			fmt.Fprintln(out, m.changes.Load(), m.cpu.Load())
		case "stale":
			stale, worst := m.stale(strings.Fields(rest))
			fmt.Fprintln(out, stale, worst.Microseconds())
		default:
			return fmt.Errorf("bench: unknown line %q", lines.Text())
		}
	}
	return lines.Err()
}

// stale returns the number of answers that lacked a change published before their request was sent, and the
// longest time between that publication and the request.
func (m *market) stale(fields []string) (count int, worst time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; i+1 < len(fields); i += 2 {
		var sent int64
		var seq engine.Seq
		_, _ = fmt.Sscan(fields[i], &sent)
		_, _ = fmt.Sscan(fields[i+1], &seq)
		k, _ := slices.BinarySearchFunc(m.shown, seq+1, func(s shownSeq, want engine.Seq) int {
			return int(int64(s.seq) - int64(want))
		})
		if k == 0 || k == len(m.shown) { // older than the stored publications, or nothing newer was published
			continue
		}
		if d := time.Duration(sent - m.shown[k].at); d > 0 {
			count++
			worst = max(worst, d)
		}
	}
	return count, worst
}

// touch changes the best price of the first pair, and thereby its book and its ticker.
func (m *market) touch(i int64) {
	if i%2 == 0 {
		m.limit(0, 0, 6_500_000, 1000+i%1000)
	} else {
		m.limit(0, 1, 6_500_000, 1000+(i-1)%1000)
	}
	m.feed.Publish(m.now)
}
