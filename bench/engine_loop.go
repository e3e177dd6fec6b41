package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/marketdata"
	"tickhive/marketdata/replica"
)

// rig is a durable market like in serve, but in this process: loops, a journal in a real file, and a feed with
// every option enabled.
type rig struct {
	dir     replica.LogDir
	log     *wal.Log
	journal *sequencer.WALJournal
	core    *engine.Core
	feed    *marketdata.Feed
	loop    *sequencer.Loop
}

// newRig returns a running rig.
func newRig(dir string, policy sequencer.SyncPolicy, pairs int) (*rig, error) {
	g := &rig{
		dir: replica.LogDir{FS: vfs.OS{}, Dir: dir, Options: wal.Options{
			NoLock:        true,
			RecordVersion: engine.CommandVersion, Writer: "bench",
		}},
		core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(marketdata.Options{}),
	}
	var err error
	if g.log, err = wal.Open(g.dir.FS, g.dir.Dir, g.dir.Options); err != nil {
		return nil, err
	}
	g.journal = sequencer.NewWALJournal(g.log, policy)
	g.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: g.core, Clock: clock.Real{}, Journal: g.journal, Sinks: []sequencer.Sink{g.feed.Sink()},
	})
	go g.loop.Run()
	var b sequencer.Batch
	for i := range pairs {
		b.Commands = append(b.Commands, engine.Command{
			Kind: engine.AddPair, Pair: engine.ControlPair,
			Instrument: benchInstrument(fmt.Sprintf("P%04d", i)),
		})
	}
	return g, g.loop.Submit(&b)
}

func (g *rig) close() error {
	g.loop.Stop()
	return g.journal.Close()
}

// trader submits commands around a mid price: of twenty, two match at once (IOC), nine cancel an earlier order and nine
// rest. It stores the ids of its orders.
type trader struct {
	pair  engine.PairID
	rnd   uint64
	live  []engine.OrderID
	batch sequencer.Batch
}

func newTrader(i, pairs, size int) *trader {
	t := &trader{pair: engine.PairID(i % pairs), rnd: uint64(i)*0x9E3779B97F4A7C15 + 1}
	t.batch.Commands = make([]engine.Command, size)
	t.batch.Collect = func(_ int, cmd *engine.Command, events []engine.Event) {
		if len(events) > 0 && cmd.Kind == engine.Place && events[0].Kind == engine.EventAccepted &&
			len(t.live) < cap(t.live) {
			t.live = append(t.live, events[0].Order)
		}
	}
	t.live = make([]engine.OrderID, 0, 4*size+64)
	return t
}

func (t *trader) next(n uint64) uint64 {
	t.rnd ^= t.rnd << 13
	t.rnd ^= t.rnd >> 7
	t.rnd ^= t.rnd << 17
	return t.rnd % n
}

// fill sets the commands of the next batch.
func (t *trader) fill() {
	for i := range t.batch.Commands {
		side := engine.Side(t.next(2))
		c := engine.Command{Kind: engine.Place, Pair: t.pair, Side: side, Amount: int64(1 + t.next(100))}
		away := int64(1 + t.next(50))
		if side == engine.Buy {
			away = -away
		}
		switch k := t.next(20); {
		case k < 2:
			c.Price, c.TIF = 100_000-away/10, engine.IOC
		case k < 11 && len(t.live) > 0:
			at := t.next(uint64(len(t.live)))
			c = engine.Command{Kind: engine.Cancel, Pair: t.pair, Order: t.live[at]}
			t.live[at] = t.live[len(t.live)-1]
			t.live = t.live[:len(t.live)-1]
		default:
			c.Price = 100_000 + away
		}
		t.batch.Commands[i] = c
	}
}

// loopResult holds the figures of a run through the loop.
type loopResult struct {
	rate  float64 // commands a second
	p50   float64 // median latency in us
	bytes float64 // journal bytes a command
	cpu   float64 // CPU time of this process in ns a command, submitters included

	commands int64
}

// timedEvery: one of this many submissions is timed. Two clock readings and a histogram entry cost 150 ns, a
// tenth of a command that is submitted alone.
const timedEvery = 8

// submit runs waiting submitters. Each submits batches of size commands and waits for each batch.
func (g *rig) submit(waiting, size, pairs int, d time.Duration) (loopResult, error) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	hists := make([]*hdrhistogram.Histogram, waiting)
	counts := make([]int64, waiting)
	errs := make([]error, waiting)
	first := g.log.LastSeq()
	for i := range hists {
		hists[i] = hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	}
	cpu, start := proc.SelfCPU(), time.Now()
	for i := range waiting {
		wg.Add(1)
		go func() {
			defer wg.Done()
			t := newTrader(i, pairs, size)
			for k := i; !stop.Load(); k++ {
				t.fill()
				timed := k%timedEvery == 0
				var at time.Time
				if timed {
					at = time.Now()
				}
				if errs[i] = g.loop.Submit(&t.batch); errs[i] != nil {
					return
				}
				if timed {
					_ = hists[i].RecordValue(time.Since(at).Microseconds())
				}
				counts[i] += int64(size)
			}
		}()
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	elapsed := time.Since(start).Seconds()
	cpu = proc.SelfCPU() - cpu
	var total int64
	for i := range waiting {
		if errs[i] != nil {
			return loopResult{}, errs[i]
		}
		total += counts[i]
		if i > 0 {
			hists[0].Merge(hists[i])
		}
	}
	n := g.log.LastSeq() - first
	return loopResult{
		commands: total, rate: float64(total) / elapsed, p50: float64(hists[0].ValueAtQuantile(50)),
		cpu:   float64(cpu) / float64(max(total, 1)),
		bytes: float64(g.log.BytesSince(first)) / float64(max(n, 1)),
	}, nil
}

// bareSync returns how often a second a loop can write bytes and call fdatasync, on a preallocated file in the
// same directory: the reference of E6.
func bareSync(dir string, bytes int, d time.Duration) (float64, error) {
	f, err := vfs.OS{}.Create(filepath.Join(dir, "bare"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(filepath.Join(dir, "bare")) }()
	defer func() { _ = f.Close() }()
	const size = 16 << 20
	buf := make([]byte, 1<<20)
	for off := int64(0); off < size; off += int64(len(buf)) {
		if _, err := f.WriteAt(buf, off); err != nil {
			return 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	n, off := 0, int64(0)
	start := time.Now()
	for time.Since(start) < d {
		if off+int64(bytes) > size {
			off = 0
		}
		buf[n%bytes]++
		if _, err := f.WriteAt(buf[:bytes], off); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		off += int64(bytes)
		n++
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// engineLoop measures E6 (docs/internals/performance.md#e6).
func engineLoop(r *Run) error {
	const pairs = 4
	all := "feed with everything on"
	disk := all + "; median of rounds"
	a := r.S.Rate("loop, 4 x 64 outstanding, interval", "commands/s", all).Aim("E6", 2e6)
	b := r.S.Rate("loop, 256 waiting, interval", "commands/s", all).Aim("E6", 1e6)
	c := r.S.Rate("loop, 256 waiting, always", "commands/s",
		disk).Against("256 x S of bare fdatasync").ByMedian().Aim("E6", 0.25)
	p := r.S.Cost("p50, 256 waiting, always", "us", disk).Against("one bare fdatasync").ByMedian().Aim("E6", 3)
	d := r.S.Rate("loop, 4 waiting, interval", "commands/s", all)
	e := r.S.Rate("loop, 4 waiting, always", "commands/s", disk).Against("4 x S of bare fdatasync").ByMedian()
	cost := r.S.Cost("loop, 4 x 64 outstanding, CPU", "ns/command", all+", submitters included")
	single := r.S.Cost("loop, 256 waiting, CPU", "ns/command", all+", submitters included")
	for range r.Rounds {
		for _, x := range []struct {
			m             *report.Measure
			p             *report.Measure
			policy        sequencer.SyncPolicy
			waiting, size int
		}{
			{a, nil, sequencer.SyncInterval, 4, 64},
			{b, nil, sequencer.SyncInterval, 256, 1},
			{c, p, sequencer.SyncAlways, 256, 1},
			{d, nil, sequencer.SyncInterval, 4, 1},
			{e, nil, sequencer.SyncAlways, 4, 1},
		} {
			s, bare, err := loopRound(r, x.policy, x.waiting, x.size, pairs)
			if err != nil {
				return err
			}
			x.m.Round(s.rate)
			switch x.m {
			case a:
				cost.Round(s.cpu)
			case b:
				single.Round(s.cpu)
			}
			if x.policy == sequencer.SyncAlways {
				x.m.Reference = append(x.m.Reference, float64(x.waiting)*bare)
			}
			if x.p != nil {
				x.p.Round(s.p50, 1e6/bare)
			}
		}
	}
	sync, whole := 1e6*256/slices.Max(c.Reference), slices.Min(p.Product)
	p.Reason = fmt.Sprintf("of the best p50 of %.0f us %.0f are one sync; the rest is what 256 submitters and the "+
		"loop do between two syncs on %d cores, %.0f ns a command", whole, sync, runtime.NumCPU(), (whole-sync)*1e3/256)
	return nil
}

func loopRound(r *Run, policy sequencer.SyncPolicy, waiting, size, pairs int) (s loopResult, bare float64, err error) {
	dir, err := r.temp("loop")
	if err != nil {
		return s, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	g, err := newRig(filepath.Join(dir, "log"), policy, pairs)
	if err != nil {
		return s, 0, err
	}
	_, err = g.submit(waiting, size, pairs, 50*time.Millisecond) // a warm-up, not counted
	if err == nil {
		s, err = g.submit(waiting, size, pairs, r.length(600*time.Millisecond))
	}
	if cerr := g.close(); err == nil {
		err = cerr
	}
	if err == nil && policy == sequencer.SyncAlways {
		bare, err = bareSync(dir, waiting*int(s.bytes), r.length(500*time.Millisecond))
	}
	return s, bare, err
}
