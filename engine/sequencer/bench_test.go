package sequencer_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// BenchmarkLoop measures one command through loop, journal on a file and core, with waiting
// submitters: each places an order and cancels it again. It reports the CPU time of the
// process, because wall time depends on what else the machine does.
func BenchmarkLoop(b *testing.B) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		for _, waiting := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("sync=%s/waiting=%d", policy, waiting), func(b *testing.B) {
				benchLoop(b, policy, waiting)
			})
		}
	}
}

func benchLoop(b *testing.B, policy sequencer.SyncPolicy, waiting int) {
	log, err := wal.Open(vfs.OS{}, b.TempDir(), wal.Options{NoLock: true})
	if err != nil {
		b.Fatal(err)
	}
	j := sequencer.NewWALJournal(log, policy)
	l := sequencer.NewLoop(sequencer.LoopOptions{
		Core: engine.NewCore(engine.Options{}), Clock: clock.Real{}, StartNs: enginetest.DayNs, Journal: j,
		Show: policy.Shows(),
	})
	go l.Run()
	if err := l.Submit(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuNs(b)
	var wg sync.WaitGroup
	for i := range waiting {
		wg.Go(func() {
			var id engine.OrderID
			batch := sequencer.Batch{Commands: make([]engine.Command, 1)}
			batch.Collect = func(_ int, _ *engine.Command, events []engine.Event) { id = events[0].Order }
			for n := 0; left.Add(-1) >= 0; n++ {
				batch.Commands[0] = limitOrder(engine.Buy, 100+int64(i%50), 1)
				if n%2 == 1 {
					batch.Commands[0] = engine.Command{Kind: engine.Cancel, Order: id}
				}
				if err := l.Submit(&batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpuNs(b)-before)/float64(b.N), "cpu-ns/op")
	b.StopTimer()
	l.Stop()
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
}

// cpuNs returns the CPU time of the process.
func cpuNs(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
