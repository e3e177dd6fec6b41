package durable

import (
	"os"
	"testing"

	"tickhive/internal/wal"
)

const testDir = "d/log"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scale multiplies counts in a soak run.
func scale(n int) int {
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		return n * 20
	}
	return n
}

// small makes many segments of few records.
func small() wal.Options {
	return wal.Options{SegmentBytes: 1 << 10, PreallocBytes: 1 << 9, Writer: "TickHive test"}
}

func benchDir(b *testing.B) string {
	if dir := os.Getenv("TICKHIVE_BENCH_DIR"); dir != "" {
		dir, err := os.MkdirTemp(dir, "wal")
		must(b, err)
		b.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return b.TempDir()
}
