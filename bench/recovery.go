package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/bench/limits/floor"
	"github.com/tickhive/tickhive/bench/limits/floor/wl"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// runRecovery measures E7 and E8 (docs/internals/performance.md#e7).
func runRecovery(r *Run) error {
	if err := replayLog(r); err != nil {
		return err
	}
	return largeMarket(r)
}

// replayLog measures a recovery from the journal of w1 without a snapshot: core and feed with every option enabled,
// without publication.
func replayLog(r *Run) error {
	dir, err := r.temp("replay")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := newLogWriter(dir)
	if err != nil {
		return err
	}
	w := floor.Generate("w1")
	if err := l.ops(w.Preload); err != nil {
		return err
	}
	if err := l.ops(w.Ops); err != nil {
		return err
	}
	commands := float64(l.count)
	if err := l.end(); err != nil {
		return err
	}
	return r.rounds("journal alone", r.Rounds, func(f figures) error {
		book := floor.NewBook("w1", w)
		f["floor"] = proc.CPUNs(func() { floor.Run(book, w.Preload); floor.Run(book, w.Ops) }) / commands
		return nil
	}, func(f figures) error {
		rep, wall, cpu, err := recovered(l.dir)
		if err != nil {
			return err
		}
		f["w1 from the journal alone"] = commands / wall.Seconds()
		f["w1 CPU of recovery"] = float64(cpu) / commands
		if got, want := rep.Core.HashPair(0, nil), l.core.HashPair(0, nil); rep.Pos != l.count || got != want {
			return fmt.Errorf("w1: the recovered book at %d is not the one at %d", rep.Pos, l.count)
		}
		return nil
	})
}

// recovered recovers a market and returns the times that it took.
func recovered(dir keeper.LogDir) (rep *machine.State, wall, cpu time.Duration, err error) {
	runtime.GC()
	before, start := proc.SelfCPU(), time.Now()
	rep, err = recoverDir(dir)
	return rep, time.Since(start), proc.SelfCPU() - before, err
}

// largeMarket measures the recovery and the snapshots of a market with a million resting orders and a million trades.
func largeMarket(r *Run) error {
	dir, err := r.temp("large")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := newLogWriter(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	if err := l.fillLarge(); err != nil {
		return err
	}
	if err := l.end(); err != nil {
		return err
	}
	if err := snapshotOf(l.dir); err != nil {
		return err
	}
	if err := appendTail(l.dir); err != nil {
		return err
	}
	err = r.rounds("snapshot and tail", r.Rounds, func(f figures) error {
		rep, wall, cpu, err := recovered(l.dir)
		if err != nil {
			return err
		}
		f["snapshot + tail, 1 M orders and 1 M trades"], f["snapshot + tail, CPU"] = wall.Seconds(), cpu.Seconds()
		if n := rep.Core.OpenOrders(0); n != largeOrders {
			return fmt.Errorf("recovery found %d resting orders", n)
		}
		if n := rep.Feed.Stats().Trades; n < largeTrades {
			return fmt.Errorf("recovery found %d trades", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return snapshotPause(r, l.dir)
}

// recoverDir recovers a market from its directory like serve.
func recoverDir(dir keeper.LogDir) (*machine.State, error) {
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	r, _, err := keeper.Load(machine.Options{}, dir, keeper.NoLimit)
	if err != nil {
		return nil, err
	}
	rd, err := log.Reader(r.Pos + 1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rd.Close() }()
	return r, keeper.Replay(r, rd, 0, nil)
}

// Sizes of the large market of E7 and E8 (docs/internals/performance.md#engine).
const (
	largeOrders = 1_000_000
	largeTrades = 1_000_000
	tailOps     = 100_000
)

// fillLarge writes the commands for a million resting orders on 20,000 levels and for a million trades.
func (l *logWriter) fillLarge() error {
	for i := range int64(largeOrders) {
		side, away := engine.Side(i&1), 100+i*7919%10_000
		price := 100_000 - away
		if side == engine.Sell {
			price = 100_000 + away
		}
		if err := l.do(engine.Command{Kind: engine.Place, Side: side, Price: price, Amount: 1 + i%100}); err != nil {
			return err
		}
	}
	return l.trades(largeTrades)
}

// trades makes n trades of one maker and one taker order each.
func (l *logWriter) trades(n int) error {
	for i := range int64(n) {
		for k := range int64(2) {
			if err := l.do(engine.Command{
				Kind: engine.Place, Side: engine.Side((i + k) & 1),
				Price: 100_000 + i%20 - 10, Amount: 5,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// logWriter is a core run that appends its commands to a log: it makes a journal without a loop.
type logWriter struct {
	*coreRun
	dir     keeper.LogDir
	log     *wal.Log
	journal *sequencer.WALJournal
	one     [1]*engine.Command
	count   uint64 // commands written
}

func newLogWriter(dir string) (*logWriter, error) {
	l := &logWriter{dir: keeper.LogDir{
		FS: vfs.OS{}, Dir: dir,
		Options: wal.Options{NoLock: true, RecordVersion: engine.CommandVersion, Writer: "bench"},
	}}
	var err error
	if l.log, err = wal.Open(l.dir.FS, dir, l.dir.Options); err != nil {
		return nil, err
	}
	l.journal = sequencer.NewWALJournal(l.log, sequencer.SyncOff)
	l.journal.BeginBulk()
	l.coreRun = &coreRun{core: engine.NewCore(engine.Options{}), now: startNs}
	return l, l.do(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: benchInstrument("BTC")})
}

func (l *logWriter) do(cmd engine.Command) error {
	l.apply(&cmd)
	l.count++
	l.one[0] = &cmd
	_, err := l.journal.Append(l.one[:])
	return err
}

func (l *logWriter) ops(ops []wl.Op) error {
	for i := range ops {
		o := &ops[i]
		if o.Type != wl.Limit {
			if err := l.do(engine.Command{Kind: engine.Cancel, Order: engine.OrderID(o.ID)}); err != nil {
				return err
			}
		}
		if o.Type != wl.Cancel {
			if err := l.do(engine.Command{
				Kind: engine.Place, Side: engine.Side(o.Side), Price: o.Price,
				Amount: int64(o.Qty),
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *logWriter) end() error {
	if err := l.journal.EndBulk(); err != nil {
		return err
	}
	return l.journal.Close()
}

// snapshotOf writes a snapshot of the market that the log in dir contains.
func snapshotOf(dir keeper.LogDir) error {
	rep, err := recoverDir(dir)
	if err != nil {
		return err
	}
	return wal.WriteSnapshot(dir.FS, dir.Dir, dir.Options, wal.SnapshotMeta{Seq: rep.Pos}, func(w io.Writer) error {
		return rep.Write(w, nil)
	})
}

// appendTail appends trades to the log after the snapshot.
func appendTail(dir keeper.LogDir) error {
	rep, err := recoverDir(dir)
	if err != nil {
		return err
	}
	l := &logWriter{dir: dir, coreRun: &coreRun{core: rep.Core, now: rep.LastNs}}
	if l.log, err = wal.Open(dir.FS, dir.Dir, dir.Options); err != nil {
		return err
	}
	l.journal = sequencer.NewWALJournal(l.log, sequencer.SyncOff)
	l.journal.BeginBulk()
	if err := l.trades(tailOps); err != nil {
		return err
	}
	return l.end()
}

// pauseRate is the load of E8 (docs/internals/performance.md#e8): 5,000 commands a second in batches of ten.
const (
	pauseEvery = 2 * time.Millisecond
	pauseSize  = 10
)

// snapshotPause measures E8 (docs/internals/performance.md#e8): the loop's longest response time while a
// follower writes a snapshot of a million resting orders, and without a snapshot in the same run. A submitter
// sends a batch every 2 ms and measures the time until its answer.
func snapshotPause(r *Run, dir keeper.LogDir) error {
	rep, err := recoverDir(dir)
	if err != nil {
		return err
	}
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return err
	}
	journal := sequencer.NewWALJournal(log, sequencer.SyncInterval)
	loop := sequencer.NewLoop(sequencer.LoopOptions{
		Core: rep.Core, Clock: clock.Real{}, Journal: journal, Sinks: []sequencer.Sink{rep.Feed.Sink()},
		StartNs: rep.LastNs, StartPos: rep.Pos,
	})
	go loop.Run()
	defer func() { loop.Stop(); _ = journal.Close() }()
	keeper := keeper.New(keeper.Options{Log: log, Dir: dir, Loop: loop, KeepAll: true})

	if _, err := pauseDuring(loop, keeper.Snapshot); err != nil { // not counted: the first snapshot fills caches
		return err
	}
	var span time.Duration // of the round's snapshot
	err = r.rounds("pause", r.Rounds, func(f figures) error {
		start := time.Now()
		longest, err := pauseDuring(loop, keeper.Snapshot)
		span = time.Since(start)
		f["longest pause during a snapshot"], f["time of a snapshot beside the load"] = ms(longest), span.Seconds()
		return err
	}, func(f figures) error {
		longest, err := pauseDuring(loop, func() error { time.Sleep(span); return nil })
		f["longest pause without a snapshot"] = ms(longest)
		return err
	}, func(f figures) error {
		f["longest time that the machine took from a busy thread"] = ms(longestGap(span))
		return nil
	})
	if err != nil {
		return err
	}
	loud, quiet := r.row("longest pause during a snapshot"), r.row("longest pause without a snapshot")
	return r.round(figures{
		"longest pause during a snapshot, above the longest without": max(loud.Best()-quiet.Best(), 0),
	})
}

// longestGap returns the longest time between two clock readings of threads that only read the clock, one on
// each core. The machine's other work takes that time from this process, so it is no fault of the loop.
func longestGap(span time.Duration) time.Duration {
	var wg sync.WaitGroup
	gaps := make([]time.Duration, runtime.NumCPU())
	for i := range gaps {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			start := time.Now()
			for last := time.Duration(0); last < span; {
				now := time.Since(start)
				gaps[i] = max(gaps[i], now-last)
				last = now
			}
		})
	}
	wg.Wait()
	return slices.Max(gaps)
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// pauseDuring submits batches while work runs and returns the longest response time.
func pauseDuring(loop *sequencer.Loop, work func() error) (time.Duration, error) {
	var stop atomic.Bool
	done := make(chan error, 1)
	go func() {
		done <- work()
		stop.Store(true)
	}()
	t := newTrader(1, 1, pauseSize)
	var longest time.Duration
	start := time.Now()
	for i := 0; !stop.Load(); i++ {
		due := start.Add(time.Duration(i) * pauseEvery)
		time.Sleep(time.Until(due))
		asked := time.Now()
		t.fill()
		if err := loop.Submit(&t.batch); err != nil {
			<-done
			return 0, err
		}
		longest = max(longest, time.Since(asked))
	}
	return longest, <-done
}
