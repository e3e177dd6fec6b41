package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs"
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
