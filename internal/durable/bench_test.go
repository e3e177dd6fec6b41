package durable

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

func BenchmarkStoreDo(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			opts := toyOpts(vfs.OS{})
			opts.Dir, opts.Log = benchDir(b), wal.Options{}
			s := mustStore(b, opts)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for range callers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for left.Add(-1) >= 0 {
						if _, err := s.Do(toyCommand{key: "a", add: 1}); err != nil {
							b.Error(err)
							return
						}
					}
				}()
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
			must(b, s.Close())
		})
	}
}
