package durable

import (
	"fmt"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// bareLoop is the reference: one goroutine writes n bytes to a file of zeros and syncs
// it, again and again.
type bareLoop struct {
	f    vfs.File
	data []byte
	at   int64
	size int64
	took []time.Duration
}

func newBareLoop(b *testing.B, n int) *bareLoop {
	f, err := vfs.OS{}.Create(filepath.Join(benchDir(b), "bare"))
	must(b, err)
	r := &bareLoop{f: f, data: make([]byte, n), size: int64(n) * 1000}
	must(b, f.Preallocate(0, r.size))
	must(b, f.Sync())
	for i := range r.data {
		r.data[i] = byte(i)
	}
	return r
}

func (r *bareLoop) run(b *testing.B, times int) {
	for range times {
		start := time.Now()
		_, err := r.f.WriteAt(r.data, r.at)
		must(b, err)
		must(b, r.f.Sync())
		r.took = append(r.took, time.Since(start))
		r.at = (r.at + int64(len(r.data))) % r.size
	}
}

func sum(all []time.Duration) (t time.Duration) {
	for _, d := range all {
		t += d
	}
	return t
}

func median(all []time.Duration) time.Duration {
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all[len(all)/2]
}

// BenchmarkGroupCommit runs reference and store in turn, a few milliseconds each: the disk
// belongs to others too, and both must meet the same moments.
func BenchmarkGroupCommit(b *testing.B) {
	size := len(appendToyRecord(nil, &toyRecord{toyCommand{key: "a", add: 1}, 1000}))
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			bare := newBareLoop(b, callers*wal.FrameBytes(size))
			opts := toyOpts(vfs.OS{})
			opts.Dir, opts.Log = benchDir(b), wal.Options{}
			s := mustStore(b, opts)
			var all []time.Duration
			b.ResetTimer()
			for done := 0; done < b.N; {
				b.StopTimer()
				bare.run(b, 20)
				b.StartTimer()
				n := min(20*callers, b.N-done)
				all = append(all, doRound(b, s, callers, n)...)
				done += n
			}
			b.StopTimer()
			must(b, s.Close())
			rate := float64(b.N) / b.Elapsed().Seconds()
			syncs := float64(len(bare.took)) / sum(bare.took).Seconds()
			b.ReportMetric(rate, "commands/s")
			b.ReportMetric(syncs, "bare_syncs/s")
			b.ReportMetric(rate/syncs/float64(callers), "of_callers_x_bare")
			b.ReportMetric(float64(median(all))/float64(median(bare.took)), "p50_in_bare_syncs")
		})
	}
}

// doRound has so many callers carry out n commands in all, each in a closed loop.
func doRound(b *testing.B, s *toyStore, callers, n int) (all []time.Duration) {
	var left atomic.Int64
	left.Store(int64(n))
	took := make([][]time.Duration, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				at := time.Now()
				if _, err := s.Do(toyCommand{key: "a", add: 1}); err != nil {
					b.Error(err)
					return
				}
				took[c] = append(took[c], time.Since(at))
			}
		})
	}
	wg.Wait()
	for _, t := range took {
		all = append(all, t...)
	}
	return all
}
