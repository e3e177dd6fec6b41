package datadir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"tickhive/internal/vfs"
)

// nonceWindowBytes is the size of the part of the file that is mapped. The file has at most so many zeros behind
// its last line.
const nonceWindowBytes = 256 << 10

// nonceWindow is the part of a Nonces to which lines are written in memory, which saves a call to the system for each
// request. The pages belong to the file: they survive the process as written bytes do, and a sync makes them durable.
type nonceWindow struct {
	bytes []byte // nil: nothing is mapped
	at    int64  // offset of bytes in the file
	off   bool   // the file cannot be mapped, or a write to the window failed: calls write the lines until a pass
}

// put writes the text of a line and the last line at the end of the lines. The caller must hold mu.
func (n *Nonces) put(text []byte) error {
	end := n.size + int64(len(text))
	if w := &n.window; !w.off && end > w.at+int64(len(w.bytes)) {
		n.moveWindow()
	}
	if w := &n.window; !w.off && end <= w.at+int64(len(w.bytes)) {
		if err := copyMapped(w.bytes[n.size-w.at:], text); err == nil {
			return nil
		}
		n.dropWindow()
		n.window.off = true
	}
	_, err := n.f.WriteAt(text, n.size)
	return err
}

// moveWindow maps the file from the end of its lines on. The bytes are written as zeros first, so that a
// full disk is an error of this call and not a fault later.
func (n *Nonces) moveWindow() {
	n.dropWindow()
	m, ok := n.f.(vfs.Mapper)
	if !ok {
		n.window.off = true
		return
	}
	at, end := n.size-n.size%int64(os.Getpagesize()), n.size+int64(endBytes)
	err := n.f.Preallocate(end, at+nonceWindowBytes-end)
	if err == nil {
		n.window.bytes, err = m.Map(at, nonceWindowBytes)
	}
	n.window.at, n.window.off = at, err != nil
}

// dropWindow unmaps the window; the file keeps its bytes. The caller must hold mu.
func (n *Nonces) dropWindow() {
	if m, ok := n.f.(vfs.Mapper); ok && n.window.bytes != nil {
		_ = m.Unmap(n.window.bytes) // it fails only for bytes that are not mapped
	}
	n.window.bytes, n.window.at = nil, 0
}

// cutWindow ends the use of the window, and cuts off the zeros behind the last line.
func (n *Nonces) cutWindow() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.window.off = true; n.window.bytes == nil {
		return nil
	}
	n.dropWindow()
	return n.f.Truncate(n.size + int64(endBytes))
}

// copyMapped copies into a mapping. It returns an error when the memory cannot be written.
func copyMapped(dst, src []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("mapped file: %v", fault)
		}
	}()
	copy(dst, src)
	return nil
}

// onlyZeros reports whether a file has nothing but zeros from an offset on, at most a window of them.
func onlyZeros(f io.ReaderAt, from, total int64) (bool, error) {
	if total-from > nonceWindowBytes {
		return false, nil
	}
	rest := make([]byte, total-from)
	if _, err := f.ReadAt(rest, from); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	for _, b := range rest {
		if b != 0 {
			return false, nil
		}
	}
	return true, nil
}
