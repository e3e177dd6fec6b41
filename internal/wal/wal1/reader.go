package wal1

import (
	"errors"
	"fmt"
	"io"

	"tickhive/internal/vfs"
)

// readBuffer is the number of bytes that a Reader reads at a time.
const readBuffer = 256 << 10

// reader goes through a log in order and verifies every record.
type reader struct {
	fsys  vfs.FS
	chain []segment
	want  uint64 // sequence expected next

	i      int // segment
	f      vfs.File
	size   int64
	off    int64  // of the next frame
	buf    []byte // bytes of the file from bufOff on
	bufOff int64
	store  []byte
	err    error
	torn   int64
}

// openSegment begins segment r.i. Next handles a header that cannot be used.
func (r *reader) openSegment() error {
	seg := &r.chain[r.i]
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
	f, err := r.fsys.Open(seg.path)
	if err != nil {
		return fmt.Errorf("wal: open segment: %w", err)
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return fmt.Errorf("wal: %s: size: %w", seg.path, err)
	}
	if r.store == nil {
		r.store = make([]byte, min(readBuffer, max(size, frameHead)))
	}
	r.f, r.size, r.off = f, size, headerBytes
	r.buf, r.bufOff = nil, headerBytes
	r.want = seg.first
	return nil
}

// next returns the next record, whose payload is valid until the next call; io.EOF at the end, also
// in front of a torn tail; *wal.CorruptError for damage that no power cut explains. An error stays.
func (r *reader) next() (payload []byte, err error) {
	for r.err == nil {
		f, reason, err := r.frame()
		if err != nil {
			r.err = err
			break
		}
		if reason != "" || f.size == 0 {
			r.err = r.segmentEnd(reason)
			continue
		}
		r.off += int64(f.size)
		r.want++
		return f.payload, nil
	}
	return nil, r.err
}

// segmentEnd goes on to the next segment (nil), or returns the reason why the log ends here.
func (r *reader) segmentEnd(reason string) error {
	seg := &r.chain[r.i]
	off, want := r.off, r.want
	last := r.i+1 == len(r.chain)
	switch {
	case seg.reason != "":
		off, want = 0, 0
	case reason != "":
	case last:
		return io.EOF
	case r.chain[r.i+1].reason != "":
		reason = r.chain[r.i+1].reason
	case r.chain[r.i+1].first == r.want:
		r.i++
		return r.openSegment()
	default:
		reason = fmt.Sprintf("records end here, segment %d begins at %d", r.chain[r.i+1].num, r.chain[r.i+1].first)
	}
	v, err := judge(r.fsys, r.chain, r.i, off, want, reason)
	if err != nil {
		return err
	}
	if v.wrong != nil {
		return v.wrong
	}
	r.torn = v.torn
	return io.EOF
}

// frame reads the frame at r.off without advancing r.off. Size 0 without a reason means that only
// zeros follow: the segment ends here.
func (r *reader) frame() (f frame, reason string, err error) {
	if reason = r.chain[r.i].reason; reason != "" {
		return f, reason, nil
	}
	head, err := r.peek(frameHead)
	if err != nil {
		return f, "", err
	}
	if len(head) < frameHead {
		if vfs.AllZero(head) {
			return f, "", nil
		}
		return f, "record head is cut short by the end of the file", nil
	}
	size, reason := frameSize(head)
	switch {
	case reason != "":
		return f, reason, nil
	case size == 0:
		reason, err = r.restZero()
		return f, reason, err
	case r.off+int64(size) > r.size:
		return f, "record runs over the end of the file", nil
	}
	b, err := r.peek(size)
	if err != nil {
		return f, "", err
	}
	if len(b) < size {
		return f, "record is cut short by the end of the file", nil
	}
	f, ok := parseFrame(b, r.chain[r.i].seed)
	switch {
	case !ok:
		return f, "record checksum differs", nil
	case f.seq != r.want:
		return f, fmt.Sprintf("record has sequence %d", f.seq), nil
	}
	return f, "", nil
}

// peek returns n bytes from r.off on, fewer at the end of the file.
func (r *reader) peek(n int) ([]byte, error) {
	at := int(r.off - r.bufOff)
	if at+n <= len(r.buf) {
		return r.buf[at : at+n], nil
	}
	if n > len(r.store) {
		r.store = make([]byte, n+readBuffer)
	}
	kept := copy(r.store, r.buf[min(at, len(r.buf)):])
	k, err := r.f.ReadAt(r.store[kept:], r.off+int64(kept))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("wal: %s: read at %d: %w", r.chain[r.i].path, r.off, err)
	}
	r.buf, r.bufOff = r.store[:kept+k], r.off
	return r.buf[:min(n, len(r.buf))], nil
}

// restZero checks that the file holds only zeros from r.off on; else it returns a reason.
func (r *reader) restZero() (reason string, err error) {
	for at := r.off; at < r.size; {
		n, err := r.f.ReadAt(r.store, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("wal: %s: read at %d: %w", r.chain[r.i].path, at, err)
		}
		r.buf = nil
		if !vfs.AllZero(r.store[:n]) {
			return "record head is zero and data follows", nil
		}
		if n == 0 {
			break
		}
		at += int64(n)
	}
	return "", nil
}

func (r *reader) close() {
	if r.f != nil {
		r.f.Close()
	}
}
