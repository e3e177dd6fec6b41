package wire

import "io"

// pausing calls pause after each write.
type pausing struct {
	io.Writer
	pause func()
}

// Pausing returns a writer to w that calls pause after each write: a Stream over it lets others run every 64 KiB.
// A nil pause does nothing.
func Pausing(w io.Writer, pause func()) io.Writer {
	if pause == nil {
		return w
	}
	return pausing{w, pause}
}

// Write writes to the writer below and calls pause.
func (p pausing) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	p.pause()
	return n, err
}
