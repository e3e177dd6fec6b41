package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
)

// pauseRate is the load of E8 (docs/internals/performance.md#e8): 5,000 commands a second in batches of ten.
const (
	pauseEvery = 2 * time.Millisecond
	pauseSize  = 10
)

// snapshotPause measures E8 (docs/internals/performance.md#e8): the loop's longest response time while a
// follower writes a snapshot of a million resting orders, and without a snapshot in the same run. A submitter
// sends a batch every 2 ms and measures the time until its answer.
func snapshotPause(r *Run, dir replica.LogDir) error {
	r.say("longest pause during a snapshot")
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
	keeper := replica.NewKeeper(replica.KeeperOptions{Log: log, Dir: dir, Loop: loop, KeepAll: true})

	with := fmt.Sprintf("%d commands every %s, 1 M resting orders, sync=interval", pauseSize, pauseEvery)
	pause := r.S.Cost("longest pause during a snapshot", "ms", with+"; worst round").ByWorst().Aim("E8", 5)
	above := r.S.Cost("the same, above the worst without one", "ms", with+"; worst rounds").Aim("E8", 2)
	quiet := r.S.Cost("longest pause without a snapshot", "ms", with).ByWorst()
	machine := r.S.Cost("longest time that the machine took from a busy thread", "ms",
		"a thread on each core that only reads the clock, for as long as the snapshot took").ByWorst()
	took := r.S.Cost("time of a snapshot beside the load", "s", with)
	before, _ := proc.Memory(os.Getpid())
	if _, err := pauseDuring(loop, keeper.Snapshot); err != nil { // not counted: the first snapshot fills caches
		return err
	}
	peak, _ := proc.Memory(os.Getpid())
	for range r.Rounds {
		start := time.Now()
		loud, err := pauseDuring(loop, keeper.Snapshot)
		if err != nil {
			return err
		}
		span := time.Since(start)
		took.Round(span.Seconds())
		calm, err := pauseDuring(loop, func() error { time.Sleep(span); return nil })
		if err != nil {
			return err
		}
		pause.Round(ms(loud))
		quiet.Round(ms(calm))
		machine.Round(ms(longestGap(span)))
	}
	above.Round(max(pause.Best()-quiet.Best(), 0))
	for _, m := range []*report.Measure{pause, above} {
		m.Reason = fmt.Sprintf("the worst of %d rounds, median %.2f ms; in the same minute a thread that only "+
			"reads the clock, both cores busy, waited up to %.2f ms for the machine",
			r.Rounds, pause.Spread().Median, machine.Best())
	}
	r.S.Note("E8: resident memory %d MiB before the first snapshot, %d MiB behind it: the follower is a second "+
		"market while it works", before>>20, peak>>20)
	return nil
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
