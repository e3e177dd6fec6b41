package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"tickhive/bench/proc"
	"tickhive/engine/sequencer"
	"tickhive/marketdata"
)

// loopThreads holds the threads on which loops run. Each loop's goroutine is locked to one.
type loopThreads struct {
	mu   sync.Mutex
	tids map[int]bool
}

// note locks the calling goroutine to its thread, the first time that it is called there.
func (t *loopThreads) note() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tid := syscall.Gettid(); !t.tids[tid] {
		runtime.LockOSThread()
		t.tids[syscall.Gettid()] = true
	}
}

// times returns the CPU time of each thread.
func (t *loopThreads) times() map[int]time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	times := map[int]time.Duration{}
	for tid := range t.tids {
		times[tid] = proc.CPUOfThread(tid)
	}
	return times
}

// threadSink notes the threads that publish.
type threadSink struct {
	marketdata.Sink
	threads *loopThreads
}

// Publish implements sequencer.Sink.
func (s threadSink) Publish(nowNs int64) {
	s.threads.note()
	s.Sink.Publish(nowNs)
}

// engineLoops measures D9 (docs/internals/performance.md#d9): how much more two loops carry than one. The rate depends
// on who else uses the machine's cores; the CPU time of the busiest loop for a command does not.
func engineLoops(r *Run) error {
	const waiting, size, pairs = 16, 64, 4
	with := fmt.Sprintf("%d x %d outstanding, interval, feed with everything on", waiting, size)
	busiest := r.S.Rate("two loops, commands for a second of the busiest loop's CPU", "commands/s", with).
		Against("one loop").Aim("D9", 1.7)
	rate := r.S.Rate("two loops, commands", "commands/s", with).Against("one loop")
	cost := r.S.Cost("two loops, CPU of the process", "ns/command", with).Against("one loop")
	for range r.Rounds {
		var result [3]loopResult
		for loops := 1; loops <= 2; loops++ {
			var err error
			if result[loops], err = loopsRound(r, loops, waiting, size, pairs); err != nil {
				return err
			}
		}
		busiest.Round(1e9/result[2].busiest, 1e9/result[1].busiest)
		rate.Round(result[2].rate, result[1].rate)
		cost.Round(result[2].cpu, result[1].cpu)
	}
	return nil
}

func loopsRound(r *Run, loops, waiting, size, pairs int) (s loopResult, err error) {
	dir, err := r.temp("loops")
	if err != nil {
		return s, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	threads := &loopThreads{tids: map[int]bool{}}
	g, err := newRig(filepath.Join(dir, "log"), sequencer.SyncInterval, pairs, loops, threads)
	if err != nil {
		return s, err
	}
	_, err = g.submit(waiting, size, pairs, 50*time.Millisecond) // a warm-up, not counted
	if err == nil {
		before := threads.times()
		s, err = g.submit(waiting, size, pairs, r.length(600*time.Millisecond))
		after := threads.times()
		s.threads = len(after)
		for tid, after := range after {
			s.busiest = max(s.busiest, float64(after-before[tid])/float64(max(s.commands, 1)))
		}
	}
	if cerr := g.close(); err == nil {
		err = cerr
	}
	return s, err
}
