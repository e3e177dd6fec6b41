package replica

import (
	"io"
	"runtime"
)

// A follower works for a second or two beside the loop. Go lets a goroutine that computes
// keep its processor for 10 ms, and with two processors, the other one taken by the
// collector, that is how long the loop waited. So a follower gives its processor up after
// each chunk of a snapshot and after every yieldRecords records: about every 100 us.
// A server that starts has nobody to wait for it, and each time costs 5 us: it wakes
// whoever may want the processor (1.95 M commands/s recovered with it, 2.55 M without).

// yieldRecords is how many records are replayed in a row.
const yieldRecords = 128

type yieldingReader struct{ io.Reader }

// Read reads and lets others run.
func (r yieldingReader) Read(p []byte) (int, error) {
	runtime.Gosched()
	return r.Reader.Read(p)
}

type yieldingWriter struct{ io.Writer }

// Write writes and lets others run.
func (w yieldingWriter) Write(p []byte) (int, error) {
	runtime.Gosched()
	return w.Writer.Write(p)
}
