package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/internal/vfs"
)

// benchPayload is the size of a compact place command.
const benchPayload = 48

func benchDir(b *testing.B) string {
	if dir := os.Getenv("TICKHIVE_BENCH_DIR"); dir != "" {
		dir, err := os.MkdirTemp(dir, "wal")
		must(b, err)
		b.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return b.TempDir()
}

func BenchmarkAppend(b *testing.B) {
	for _, batch := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			l, err := Open(vfs.OS{}, benchDir(b), Options{})
			must(b, err)
			payload := make([]byte, benchPayload)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += batch {
				l.Begin()
				for range batch {
					l.Add(func(dst []byte) []byte { return append(dst, payload...) })
				}
				if _, err := l.Write(); err != nil {
					b.Fatal(err)
				}
				if l.BytesWritten()%(64<<20) < 1<<14 {
					_ = l.DropBefore(l.LastSeq())
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			must(b, l.Close())
		})
	}
}

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

// BenchmarkGroupCommit runs reference and log in turn, a few milliseconds each: the disk
// belongs to others too, and both must meet the same moments.
func BenchmarkGroupCommit(b *testing.B) {
	for _, waiters := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			bare := newBareLoop(b, waiters*FrameBytes(benchPayload))
			l, err := Open(vfs.OS{}, benchDir(b), Options{})
			must(b, err)
			c := NewCommitter(l)
			var all []time.Duration
			b.ResetTimer()
			for done := 0; done < b.N; {
				b.StopTimer()
				bare.run(b, 20)
				b.StartTimer()
				n := min(20*waiters, b.N-done)
				all = append(all, commitRound(b, c, waiters, n)...)
				done += n
			}
			b.StopTimer()
			must(b, c.Close())
			rate := float64(b.N) / b.Elapsed().Seconds()
			syncs := float64(len(bare.took)) / sum(bare.took).Seconds()
			b.ReportMetric(rate, "commits/s")
			b.ReportMetric(syncs, "bare_syncs/s")
			b.ReportMetric(rate/syncs/float64(waiters), "of_waiters_x_bare")
			b.ReportMetric(float64(median(all))/float64(median(bare.took)), "p50_in_bare_syncs")
		})
	}
}

// commitRound has so many waiters make n commits in all, each in a closed loop.
func commitRound(b *testing.B, c *Committer, waiters, n int) (all []time.Duration) {
	var left atomic.Int64
	left.Store(int64(n))
	took := make([][]time.Duration, waiters)
	var wg sync.WaitGroup
	for w := range waiters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			payload := make([]byte, benchPayload)
			for left.Add(-1) >= 0 {
				at := time.Now()
				if _, err := c.Commit(payload); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(at))
			}
		}()
	}
	wg.Wait()
	for _, t := range took {
		all = append(all, t...)
	}
	return all
}

func BenchmarkRead(b *testing.B) {
	dir := benchDir(b)
	l, err := Open(vfs.OS{}, dir, Options{})
	must(b, err)
	payload := make([]byte, benchPayload)
	for l.LastSeq() < 2_000_000 {
		l.Begin()
		for range 1000 {
			l.Add(func(dst []byte) []byte { return append(dst, payload...) })
		}
		_, err := l.Write()
		must(b, err)
	}
	must(b, l.Close())
	b.ResetTimer()
	records := 0
	for range b.N {
		r, err := OpenReader(vfs.OS{}, dir, Options{}, 0)
		must(b, err)
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			records++
		}
		must(b, r.Close())
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
	b.SetBytes(2_000_000 * int64(FrameBytes(benchPayload)))
}
