package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// engineLoop measures E6 (docs/internals/performance.md#e6).
func engineLoop(r *Run) error {
	return r.rounds("loop", r.Rounds, func(f figures) error {
		s, _, err := loopRound(r, sequencer.SyncInterval, 4, 64)
		f["loop, 4 x 64 outstanding, interval"], f["loop, 4 x 64 outstanding, CPU"] = s.rate, s.cpu
		return err
	}, func(f figures) error {
		s, _, err := loopRound(r, sequencer.SyncInterval, 256, 1)
		f["loop, 256 waiting, interval"], f["loop, 256 waiting, CPU"] = s.rate, s.cpu
		return err
	}, func(f figures) error {
		s, bare, err := loopRound(r, sequencer.SyncAlways, 256, 1)
		f["loop, 256 waiting, always"], f["256 x S of bare fdatasync"] = s.rate, 256*bare
		return err
	})
}

// loopPairs is the number of pairs of E6.
const loopPairs = 4

// loopRound measures a new market once, and under `always` the syncs a second of a bare loop that writes as many bytes.
func loopRound(r *Run, policy sequencer.SyncPolicy, waiting, size int) (s loopResult, bare float64, err error) {
	dir, err := r.temp("loop")
	if err != nil {
		return s, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	g, err := newRig(filepath.Join(dir, "log"), policy, loopPairs)
	if err != nil {
		return s, 0, err
	}
	_, err = g.submit(waiting, size, loopPairs, 50*time.Millisecond) // a warm-up, not counted
	if err == nil {
		s, err = g.submit(waiting, size, loopPairs, r.length(600*time.Millisecond))
	}
	if cerr := g.close(); err == nil {
		err = cerr
	}
	if err == nil && policy == sequencer.SyncAlways {
		bare, err = bareSync(dir, waiting*int(s.bytes), r.length(500*time.Millisecond))
	}
	return s, bare, err
}

// rig is a durable market like in serve, but in this process: loops, a journal in a real file, and a feed with
// every option enabled.
type rig struct {
	dir     keeper.LogDir
	log     *wal.Log
	journal *sequencer.WALJournal
	core    *engine.Core
	feed    *marketdata.Feed
	loop    *sequencer.Loop
}

// newRig returns a running rig.
func newRig(dir string, policy sequencer.SyncPolicy, pairs int) (*rig, error) {
	g := &rig{
		dir: keeper.LogDir{FS: vfs.OS{}, Dir: dir, Options: wal.Options{
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
		Core: g.core, Clock: clock.Real{}, Journal: g.journal, Show: policy.Shows(),
		Sinks: []sequencer.Sink{g.feed.Sink()},
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
	bytes float64 // journal bytes a command
	cpu   float64 // CPU time of this process in ns a command, submitters included
}

// submit runs waiting submitters. Each submits batches of size commands and waits for each batch.
func (g *rig) submit(waiting, size, pairs int, d time.Duration) (loopResult, error) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	counts, errs := make([]int64, waiting), make([]error, waiting)
	first := g.log.LastSeq()
	cpu, start := proc.SelfCPU(), time.Now()
	for i := range waiting {
		wg.Go(func() {
			t := newTrader(i, pairs, size)
			for !stop.Load() {
				t.fill()
				if errs[i] = g.loop.Submit(&t.batch); errs[i] != nil {
					return
				}
				counts[i] += int64(size)
			}
		})
	}
	time.Sleep(d)
	stop.Store(true)
	wg.Wait()
	elapsed := time.Since(start).Seconds()
	cpu = proc.SelfCPU() - cpu
	var total int64
	for _, n := range counts {
		total += n
	}
	n := g.log.LastSeq() - first
	return loopResult{
		rate: float64(total) / elapsed, cpu: float64(cpu) / float64(max(total, 1)),
		bytes: float64(g.log.BytesSince(first)) / float64(max(n, 1)),
	}, errors.Join(errs...)
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
