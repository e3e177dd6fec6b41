package vfstest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/tickhive/tickhive/internal/vfs"
)

// memNode is the content of a file: the written bytes, the synced bytes, and the sectors in which they differ.
type memNode struct {
	data    []byte
	durable []byte
	dirty   map[int64]bool // key: sector; true: written since the last sync; false: lost by a failed sync (lose)
	// middle holds earlier contents of dirty sectors, up to maxMiddle each, that the disk may have after a cut.
	middle map[int64][][]byte
}

const maxMiddle = 3

func newMemNode() *memNode { return &memNode{dirty: map[int64]bool{}, middle: map[int64][][]byte{}} }

// keepMiddle stores the content of the dirty sectors that a write is about to replace.
func (n *memNode) keepMiddle(off, length int64) {
	for s := off / vfs.SectorBytes; s*vfs.SectorBytes < off+length; s++ {
		if !n.dirty[s] {
			continue
		}
		now, durable := sectorOf(n.data, s), sectorOf(n.durable, s)
		if bytes.Equal(now, durable) || (len(durable) == 0 && vfs.AllZero(now)) {
			continue
		}
		if len(n.middle[s]) < maxMiddle {
			n.middle[s] = append(n.middle[s], bytes.Clone(now))
		} else {
			n.middle[s][off%maxMiddle] = bytes.Clone(now)
		}
	}
}

// sectorOf returns the part of b that lies in a sector.
func sectorOf(b []byte, s int64) []byte {
	lo := min(s*vfs.SectorBytes, int64(len(b)))
	return b[lo:min(lo+vfs.SectorBytes, int64(len(b)))]
}

func (n *memNode) markDirty(off, length int64) {
	for s := off / vfs.SectorBytes; s*vfs.SectorBytes < off+length; s++ {
		n.dirty[s] = true
	}
}

func (n *memNode) write(p []byte, off int64) {
	n.keepMiddle(off, int64(len(p)))
	n.grow(off + int64(len(p)))
	copy(n.data[off:], p)
	n.markDirty(off, int64(len(p)))
}

// grow adds zeros. They are zeros after a cut too, without a sync.
func (n *memNode) grow(size int64) {
	if add := size - int64(len(n.data)); add > 0 {
		n.data = append(n.data, make([]byte, add)...)
	}
}

func (n *memNode) truncate(size int64) {
	if old := int64(len(n.data)); size < old {
		n.markDirty(size, old-size)
		n.data = n.data[:size:size]
	}
	n.grow(size)
}

// sync makes every dirty sector durable, except those that a failed sync has lost.
func (n *memNode) sync() {
	n.durable = n.durable[:min(len(n.durable), len(n.data))]
	n.durable = append(n.durable, make([]byte, len(n.data)-len(n.durable))...)
	for s, fresh := range n.dirty {
		if fresh {
			copy(sectorOf(n.durable, s), sectorOf(n.data, s))
			delete(n.dirty, s)
		}
	}
	clear(n.middle)
}

// lose does what a failed sync does on real systems: it marks the pages clean, so that no later sync writes
// them.
func (n *memNode) lose() {
	for s := range n.dirty {
		n.dirty[s] = false
	}
	clear(n.middle)
}

// evict makes reads of lost sectors return the old content, as if the system had dropped the pages.
func (n *memNode) evict() {
	for s, fresh := range n.dirty {
		if !fresh {
			n.oldSector(n.data, s)
			delete(n.dirty, s)
		}
	}
}

// oldSector copies the durable content of a sector into b, zeros where there is none.
func (n *memNode) oldSector(b []byte, s int64) {
	lo := min(s*vfs.SectorBytes, int64(len(b)))
	hi := min(lo+vfs.SectorBytes, int64(len(b)))
	clear(b[lo:hi])
	if lo < int64(len(n.durable)) {
		copy(b[lo:hi], n.durable[lo:])
	}
}

type memFile struct {
	m     *Mem
	name  string
	node  *memNode
	write bool
}

// ReadAt reads what was written.
func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	op := Op{Kind: OpRead, Path: f.name, Off: off, Len: int64(len(p))}
	if fault := f.m.beforeOp(&op); fault.Err != nil {
		return 0, fault.Err
	}
	f.m.mu.Lock()
	if off < int64(len(f.node.data)) {
		n = copy(p, f.node.data[off:])
	}
	f.m.mu.Unlock()
	f.m.afterOp(op)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes p, or as much of it as the fault or the full disk lets through.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	return f.put(OpWrite, p, off)
}

// Preallocate writes zeros.
func (f *memFile) Preallocate(off, n int64) error {
	_, err := f.put(OpPreallocate, make([]byte, n), off)
	return err
}

func (f *memFile) put(kind OpKind, p []byte, off int64) (int, error) {
	op := Op{Kind: kind, Path: f.name, Off: off, Len: int64(len(p))}
	fault := f.m.beforeOp(&op)
	f.m.mu.Lock()
	n, err := len(p), fault.Err
	switch {
	case !f.write:
		n, err = 0, &fs.PathError{Op: kind.String(), Path: f.name, Err: fs.ErrPermission}
	case fault.Tear:
		for at := vfs.SectorBytes; at < len(p); at += 2 * vfs.SectorBytes {
			f.node.write(p[at:min(at+vfs.SectorBytes, len(p))], off+int64(at))
		}
		n = 0
	case err != nil:
		n = min(fault.Keep, len(p))
		if errors.Is(err, syscall.ENOSPC) {
			n = f.node.wholeSectors(off, n)
		}
	}
	if room := f.room(off); int64(n) > room {
		n, err = int(room), &fs.PathError{Op: kind.String(), Path: f.name, Err: syscall.ENOSPC}
	}
	if n > 0 {
		f.node.write(p[:n], off)
	}
	f.m.mu.Unlock()
	if err == nil {
		f.m.afterOp(op)
	}
	return n, err
}

// room returns the number of bytes that may be written at off.
func (f *memFile) room(off int64) int64 {
	if f.m.capacity == 0 {
		return 1 << 62
	}
	free := max(f.m.capacity-f.m.used(), 0)
	return max(int64(len(f.node.data))+free-off, 0)
}

// wholeSectors returns how many of count bytes at off a full disk lets through.
func (n *memNode) wholeSectors(off int64, count int) int {
	end := off + int64(count)
	if end < int64(len(n.data)) {
		end -= end % vfs.SectorBytes
	}
	return int(max(end-off, 0))
}

// Truncate sets the size.
func (f *memFile) Truncate(size int64) error {
	op := Op{Kind: OpTruncate, Path: f.name, Off: size}
	if fault := f.m.beforeOp(&op); fault.Err != nil {
		return fault.Err
	}
	f.m.mu.Lock()
	f.node.truncate(size)
	f.m.mu.Unlock()
	f.m.afterOp(op)
	return nil
}

// Sync makes the content durable. An injected failure loses it instead (lose).
func (f *memFile) Sync() error {
	op := Op{Kind: OpSync, Path: f.name}
	fault := f.m.beforeOp(&op)
	f.m.mu.Lock()
	switch {
	case fault.Err != nil:
		f.node.lose()
		if fault.old {
			f.node.evict()
		}
	case !fault.lie:
		f.m.history.keep(f.name, f.node.durable)
		f.node.sync()
	}
	f.m.mu.Unlock()
	if fault.Err == nil {
		f.m.afterOp(op)
	}
	return fault.Err
}

// Size returns the current size.
func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.node.data)), nil
}

// Close does nothing, because memNode holds the content.
func (f *memFile) Close() error { return nil }
