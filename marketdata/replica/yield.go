package replica

import (
	"io"
	"runtime"
)

// A follower works for a second or two beside the loop. Go lets a computing goroutine keep its
// processor for 10 ms; with two processors, one of them taken by the garbage collector, the loop
// waited that long. A follower therefore yields its processor after each chunk of a snapshot and
// after every yieldRecords records: about every 100 us. A starting server has no loop that
// waits, and each yield costs 5 us, because it wakes the goroutines that may want the processor
// (1.95 M commands/s recovered with it, 2.55 M without).

// yieldRecords is the number of records that are replayed between two yields.
const yieldRecords = 128

type yieldingReader struct{ io.Reader }

// Read reads and yields.
func (r yieldingReader) Read(p []byte) (int, error) {
	runtime.Gosched()
	return r.Reader.Read(p)
}

type yieldingWriter struct{ io.Writer }

// Write writes and yields.
func (w yieldingWriter) Write(p []byte) (int, error) {
	runtime.Gosched()
	return w.Writer.Write(p)
}
