package keeper

import (
	"io"
	"runtime"
)

// A follower computes for a second or two beside the loop. The Go scheduler lets a computing goroutine run for
// 10 ms before it preempts it. With two processors, one of them busy with garbage collection, the loop waited
// that long. A follower therefore calls runtime.Gosched after each chunk of a snapshot and after every
// yieldRecords records, about every 100 us. A recovery at the start has no loop that waits, so it does not
// yield: yielding lowers the rate from 2.55 M to 1.95 M commands/s.

// yieldRecords is the number of records that are replayed between two yields.
const yieldRecords = 128

type yieldingReader struct{ io.Reader }

// Read reads from the underlying reader after yielding the processor.
func (r yieldingReader) Read(p []byte) (int, error) {
	runtime.Gosched()
	return r.Reader.Read(p)
}
