package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"

	"github.com/tickhive/tickhive/internal/vfs"
)

// readBuffer is the number of bytes that a Reader reads at a time.
const readBuffer = 256 << 10

// Record is one record of the log. Payload is valid until the next call of Next.
type Record struct {
	Seq     uint64
	Payload []byte
	File    string // path of its segment
	Offset  int64  // of its frame in the file, bytes
}

// Reader goes through a log in order and verifies every record. It takes no lock and
// changes nothing, so it reads a log that no process has open, or the part of an open log
// that was written before the Reader was made. Owned by one goroutine.
type Reader struct {
	fsys  vfs.FS
	segs  []segment
	from  uint64 // first sequence handed out
	limit uint64 // last one
	must  uint64 // a log that ends before this record is damaged
	want  uint64 // sequence expected next
	chain uint64 // before want

	i      int // segment
	f      vfs.File
	size   int64
	off    int64  // of the next frame
	buf    []byte // bytes of the file from bufOff on
	bufOff int64
	store  []byte
	err    error
	torn   int64
	passed int64 // bytes of the segments gone through
	total  int64
}

// OpenReader reads the log in dir from sequence from on (0: from the oldest) without
// opening it for writing: for verification and dumps. It only needs opts.RecordVersion.
// ErrTruncated: the log begins later than from.
func OpenReader(fsys vfs.FS, dir string, opts Options, from uint64) (*Reader, error) {
	if err := opts.validateFor(dir); err != nil {
		return nil, err
	}
	segs, err := loadSegments(fsys, dir, &opts)
	if err != nil {
		return nil, err
	}
	return newReader(fsys, segs, from, math.MaxUint64, endOf(segs, &opts).must)
}

func newReader(fsys vfs.FS, segs []segment, from, limit, must uint64) (*Reader, error) {
	r := &Reader{fsys: fsys, segs: segs, from: from, limit: limit, must: must}
	if len(segs) == 0 {
		r.want, r.err = 1, io.EOF
		return r, nil
	}
	if segs[0].reason == "" && from > 0 && from < segs[0].first {
		return nil, fmt.Errorf("%w: %d is wanted, the oldest kept is %d, in %s", ErrTruncated, from, segs[0].first,
			path.Base(segs[0].path))
	}
	for i := range segs { // damaged ones before the last one that has the record are not read
		if segs[i].reason == "" && segs[i].first <= from {
			r.i = i
		}
	}
	for _, seg := range segs[r.i:] {
		r.total += seg.size
	}
	if err := r.openSegment(); err != nil {
		return nil, err
	}
	return r, nil
}

// openSegment begins segment r.i. Next handles a header that cannot be used.
func (r *Reader) openSegment() error {
	seg := &r.segs[r.i]
	if r.f != nil {
		r.passed += r.size
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
	r.f, r.size, r.off = f, size, firstFrame
	r.buf, r.bufOff = nil, firstFrame
	r.want, r.chain = max(seg.first, 1), seg.chain
	return nil
}

// Next returns the next record; io.EOF at the end, also in front of a torn tail (see
// TornTail); *CorruptError for damage that no power cut explains. An error stays.
func (r *Reader) Next() (Record, error) {
	for r.err == nil {
		if r.want > r.limit {
			r.err = io.EOF
			break
		}
		f, reason, err := r.frame()
		if err != nil {
			r.err = err
			break
		}
		if reason != "" || f.size == 0 {
			r.err = r.segmentEnd(reason)
			continue
		}
		rec := Record{Seq: f.seq, Payload: f.payload, File: r.segs[r.i].path, Offset: r.off}
		r.off += int64(f.size)
		r.want++
		r.chain = f.chain
		if rec.Seq >= r.from {
			return rec, nil
		}
	}
	return Record{}, r.err
}

// segmentEnd goes on to the next segment (nil), or returns the reason why the log ends here.
func (r *Reader) segmentEnd(reason string) error {
	seg := &r.segs[r.i]
	at := CorruptError{File: seg.path, Offset: r.off, Seq: r.want, Reason: reason}
	if seg.reason != "" {
		at.Offset, at.Seq = 0, 0
	}
	if reason == "" && r.i+1 < len(r.segs) {
		next := &r.segs[r.i+1]
		switch {
		case next.num != seg.num+1:
			at.File, at.Offset = path.Join(path.Dir(seg.path), segmentName(seg.num+1)), 0
			at.Reason = "the segment is missing"
		case next.reason != "":
			at.File, at.Offset, at.Reason = next.path, 0, next.reason
		case next.first > r.want:
			at.Reason = fmt.Sprintf("the segment ends here, and %s begins at record %d", path.Base(next.path),
				next.first)
		case next.first != r.want || next.chain != r.chain:
			at.File, at.Offset = next.path, 0
			at.Reason = fmt.Sprintf("the segment begins at record %d of another history", next.first)
		default:
			r.i++
			return r.openSegment()
		}
	}
	if r.want <= r.must {
		at.To = r.must
		if at.Reason == "" {
			at.Reason = "the log ends here"
		}
		return &at
	}
	for j := r.i; j < len(r.segs) && at.Reason != ""; j++ {
		off := r.off
		if j > r.i {
			off = 0
		}
		rest, err := readFrom(r.fsys, r.segs[j].path, off)
		if err != nil {
			return err
		}
		r.torn += int64(len(bytes.TrimRight(rest, "\x00")))
	}
	return io.EOF
}

// readFrom reads a file from off to its end.
func readFrom(fsys vfs.FS, name string, off int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("wal: open segment: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("wal: %s: size: %w", name, err)
	}
	if size <= off {
		return nil, nil
	}
	data := make([]byte, size-off)
	if n, err := f.ReadAt(data, off); err != nil && n < len(data) {
		return nil, fmt.Errorf("wal: %s: read at %d: %w", name, off, err)
	}
	return data, nil
}

// frame reads the frame at r.off without passing it. Size 0 and no reason: the segment
// ends here, with nothing but zeros behind.
func (r *Reader) frame() (f frame, reason string, err error) {
	if reason = r.segs[r.i].reason; reason != "" {
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
	f, ok := parseFrame(b, r.segs[r.i].seed)
	switch {
	case !ok:
		return f, "record checksum differs", nil
	case f.seq != r.want:
		return f, fmt.Sprintf("record has sequence %d", f.seq), nil
	case !f.continues(b, r.chain):
		return f, "record does not follow the one before it", nil
	}
	return f, "", nil
}

// peek returns n bytes from r.off on, fewer at the end of the file.
func (r *Reader) peek(n int) ([]byte, error) {
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
		return nil, fmt.Errorf("wal: %s: read at %d: %w", r.segs[r.i].path, r.off, err)
	}
	r.buf, r.bufOff = r.store[:kept+k], r.off
	return r.buf[:min(n, len(r.buf))], nil
}

// restZero checks that the file holds only zeros from r.off on; else it returns a reason.
func (r *Reader) restZero() (reason string, err error) {
	for at := r.off; at < r.size; {
		n, err := r.f.ReadAt(r.store, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("wal: %s: read at %d: %w", r.segs[r.i].path, at, err)
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

// TornTail returns the number of bytes behind the last record that the next start cuts off;
func (r *Reader) TornTail() int64 { return r.torn }

// Position returns the place after the record that Next returned last.
func (r *Reader) Position() Position { return Position{Seq: r.want - 1, Chain: r.chain} }

// NextSeq returns the sequence that Next would return, or one past the last at the end.
func (r *Reader) NextSeq() uint64 { return r.want }

// Progress returns the bytes read and the total bytes, for a progress bar.
func (r *Reader) Progress() (done, total int64) { return r.passed + r.off, r.total }

// Close closes the file under the Reader.
func (r *Reader) Close() error {
	r.err = ErrClosed
	if r.f == nil {
		return nil
	}
	f := r.f
	r.f = nil
	return f.Close()
}

// Checked describes a file of a log that Check has read.
type Checked struct {
	File  string // path
	First uint64 // first record of a segment; 0 for a snapshot
	Last  uint64 // last record of a segment, First-1 without one; the record of a snapshot
	Torn  int64  // bytes that the next start cuts off
	Err   error  // the damage, nil for none
}

// Check reads every byte of every segment and snapshot in dir, in this order, oldest first, and continues after
// damage. decode gets the body of each snapshot after its checksum was verified. Check changes nothing. It
// returns an error only when a file cannot be read, or as a *VersionError.
func Check(fsys vfs.FS, dir string, opts Options, decode func(io.Reader) error) ([]Checked, error) {
	if err := opts.validateFor(dir); err != nil {
		return nil, err
	}
	// list snapshots first: a running process writes a snapshot only after its log
	seqs, err := snapshotSeqs(fsys, dir)
	if err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	segs, err := loadSegments(fsys, dir, &opts)
	if err != nil {
		return nil, err
	}
	end := endOf(segs, &opts)
	var files []Checked
	for at := 0; at < len(segs); {
		checked, err := checkFrom(fsys, segs[at:], math.MaxUint64, end.must)
		if err != nil {
			return nil, err
		}
		files = append(files, checked...)
		at += len(checked)
	}
	for i := range files {
		var slot *CorruptError
		if off := segs[i].slots.damaged; off != 0 {
			slot = &CorruptError{
				File: segs[i].path, Offset: off, Reason: "one of the two slots that say where the log ends is damaged",
			}
		} else if end.damage != nil && end.damage.File == segs[i].path {
			slot = end.damage
		}
		if slot != nil && files[i].Err == nil {
			files[i].Err = slot
		}
	}
	return checkSnapshots(fsys, dir, &opts, segs, files, seqs, decode)
}

// CheckOpen is Check for an open log, up to the records that were written before the call: they have to be there
// whole. It reads through fsys, which may be slower than the log's own. Any goroutine may call it. The
// error is fs.ErrNotExist if the log dropped a segment meanwhile.
func CheckOpen(l *Log, fsys vfs.FS, decode func(io.Reader) error) ([]Checked, error) {
	seqs, err := snapshotSeqs(fsys, l.dir) // first, as in Check
	if err != nil {
		return nil, err
	}
	slices.Reverse(seqs)
	r, err := l.Reader(0)
	if err != nil {
		return nil, err
	}
	segs, last := r.segs, r.limit
	if err := r.Close(); err != nil {
		return nil, err
	}
	var files []Checked
	for at := 0; at < len(segs); {
		checked, err := checkFrom(fsys, segs[at:], last, last)
		if err != nil {
			return nil, err
		}
		files = append(files, checked...)
		at += len(checked)
	}
	return checkSnapshots(fsys, l.dir, &l.opts, segs, files, seqs, decode)
}

// checkSnapshots appends the snapshots of seqs to the files of a log.
func checkSnapshots(
	fsys vfs.FS, dir string, opts *Options, segs []segment, files []Checked, seqs []uint64,
	decode func(io.Reader) error,
) ([]Checked, error) {
	last, whole := uint64(0), true
	if n := len(files); n > 0 {
		last, whole = files[n-1].Last, files[n-1].Err == nil
	}
	for _, seq := range seqs {
		f, err := checkSnapshot(fsys, dir, opts, segs, seq, decode)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a running process has replaced it by a newer one
		}
		if err != nil {
			return nil, err
		}
		if f.Err == nil && seq > last && whole {
			reason := fmt.Sprintf("the log ends at record %d, before the snapshot", last)
			f.Err = &CorruptError{File: f.File, Seq: seq, Reason: reason}
		}
		files = append(files, f)
	}
	return files, nil
}

// checkFrom reads segments up to the first damaged one, and returns those that it has read.
func checkFrom(fsys vfs.FS, segs []segment, limit, must uint64) ([]Checked, error) {
	r, err := newReader(fsys, segs, 0, limit, must)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	files := make([]Checked, len(segs))
	for i, seg := range segs {
		files[i] = Checked{File: seg.path, First: seg.first, Last: max(seg.first, 1) - 1}
	}
	for {
		rec, err := r.Next()
		var damaged *CorruptError
		switch {
		case err == nil:
			files[r.i].Last = rec.Seq
		case errors.Is(err, io.EOF):
			files[r.i].Torn = r.torn
			return files, nil
		case errors.As(err, &damaged):
			at := r.i
			if at+1 < len(segs) && damaged.File == segs[at+1].path {
				at++ // its header
			}
			files[at].Err = damaged
			return files[:at+1], nil
		default:
			return nil, err
		}
	}
}

// checkSnapshot reads one snapshot.
func checkSnapshot(
	fsys vfs.FS, dir string, opts *Options, segs []segment, seq uint64, decode func(io.Reader) error,
) (Checked, error) {
	f := Checked{File: path.Join(dir, SnapshotName(seq)), Last: seq}
	load := func(_ SnapshotMeta, r io.Reader) error { return decode(r) }
	_, err := loadSnapshotFile(fsys, f.File, seq, opts, onChain(fsys, segs, f.File, load), false)
	var version *VersionError
	if errors.As(err, &version) || errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f.Err = err
	return f, nil
}
