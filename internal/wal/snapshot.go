package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/vfs"
)

// SnapshotVersion is the version of the snapshot format written and read here.
const SnapshotVersion = 5

// SnapshotsKept is the number of retained snapshots: the newest, and the one before as a
// fallback.
const SnapshotsKept = 2

// SnapshotExt is the extension of a snapshot.
const SnapshotExt = ".snap"

const (
	snapshotMagic = "TICKSNP\n"
	// chunkBytes is the size of a chunk before it is compressed. A reader verifies the checksum of a chunk before it
	// decodes the chunk.
	chunkBytes  = 256 << 10
	maxStored   = chunkBytes + 64 // what cannot be compressed has a frame around it
	chunkHead   = 8
	endOfChunks = 0xFFFFFFFF // in the length word: the last chunk, holding the body's length
)

// SnapshotMeta holds the sequences that a snapshot covers.
type SnapshotMeta struct {
	// Seq is the last record of the store's log that the snapshot includes.
	Seq uint64
	// Chain is the checksum chain of the store's log up to Seq. 0: WriteSnapshot reads the log for it.
	Chain uint64
	// Head is what a restore needs beside the body, at most MaxSnapshotHead bytes. This package does not read it.
	Head []byte
}

// MaxSnapshotHead is the largest head of a snapshot in bytes.
const MaxSnapshotHead = 1 << 20

// WriteSnapshot writes a snapshot into dir: temporary file, sync, rename, directory
// sync; only then older ones go, except the newest before it. write streams the body.
// On an error nothing changes but for a temporary file, which the next Open removes.
// ErrStopped: the directory could not be synced; the log in it must stop as well
// (Log.WriteSnapshot sees to it).
// opts as for Open (RecordVersion and Writer are kept in the header).
func WriteSnapshot(fsys vfs.FS, dir string, opts Options, meta SnapshotMeta, write func(w io.Writer) error) error {
	_, err := placeSnapshot(fsys, dir, opts, meta, write)
	return err
}

// placeSnapshot does the work of WriteSnapshot and returns the size of the file.
func placeSnapshot(
	fsys vfs.FS, dir string, opts Options, meta SnapshotMeta, write func(w io.Writer) error,
) (bytes int64, err error) {
	if err = opts.validateFor(dir); err != nil {
		return 0, err
	}
	if err = meta.place(fsys, dir, &opts); err != nil {
		return 0, err
	}
	name := path.Join(dir, SnapshotName(meta.Seq))
	if bytes, err = writeSnapshotFile(fsys, name+tempExt, opts, meta, write); err == nil {
		err = fsys.Rename(name+tempExt, name)
	}
	if err != nil {
		_ = fsys.Remove(name + tempExt)
		return 0, fmt.Errorf("wal: snapshot %s: %w", name, err)
	}
	if err = fsys.SyncDir(dir); err != nil {
		return 0, fmt.Errorf("%w: snapshot %s: sync of the directory: %w", ErrStopped, name, err)
	}
	return bytes, pruneSnapshots(fsys, dir)
}

// WriteSnapshot writes a snapshot into the log's own directory, with the log's options.
// After ErrStopped the log is stopped too: the failed sync of the directory also covers the names
// of its segments. Any goroutine may call it.
func (l *Log) WriteSnapshot(meta SnapshotMeta, write func(w io.Writer) error) error {
	beginNs := clock.MachineNs()
	bytes, err := placeSnapshot(l.fsys, l.dir, l.opts, meta, write)
	if errors.Is(err, ErrStopped) {
		return l.Fail(err) // at once: nothing more is to be acknowledged
	}
	if err != nil {
		l.figures.failedSnapshot.Add(1)
	} else {
		l.figures.snapshots.Observe(clock.MachineNs() - beginNs)
		l.figures.snapshotBytes.Store(bytes)
		l.figures.snapshotNs.Store(l.opts.Clock.NowNs())
		l.slotMu.Lock()
		l.end.snapshot = max(l.end.snapshot, meta.Seq)
		l.slotMu.Unlock()
	}
	return err
}

// NewestSnapshot returns the record of the newest snapshot that a log had at its start or has taken since, 0 for
// none. Any goroutine.
func NewestSnapshot(l *Log) uint64 {
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	return l.end.snapshot
}

// place sets the chain at the snapshot's record, and opts' Identity from the log's files.
func (m *SnapshotMeta) place(fsys vfs.FS, dir string, opts *Options) error {
	if m.Chain != 0 && opts.Identity != (Identity{}) {
		return nil
	}
	segs, err := loadSegments(fsys, dir, opts)
	if err != nil {
		return err
	}
	if m.Chain == 0 {
		m.Chain, err = chainAt(fsys, segs, m.Seq)
	}
	return err
}

// chainAt returns the chain of a log after a record. ErrTruncated: the log no longer has it.
func chainAt(fsys vfs.FS, segs []segment, seq uint64) (uint64, error) {
	for i := len(segs) - 1; i >= 0; i-- {
		if segs[i].reason != "" || segs[i].first > seq+1 {
			continue
		}
		r, err := newReader(fsys, segs[i:], 0, seq, seq)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		if errors.Is(err, io.EOF) {
			return r.chain, nil
		}
		return 0, err
	}
	return 0, fmt.Errorf("%w: record %d", ErrTruncated, seq)
}

func writeSnapshotFile(
	fsys vfs.FS, temp string, opts Options, meta SnapshotMeta, write func(w io.Writer) error,
) (bytes int64, err error) {
	if len(meta.Head) > MaxSnapshotHead {
		return 0, fmt.Errorf("a head of %d bytes; at most %d fit", len(meta.Head), MaxSnapshotHead)
	}
	f, err := fsys.Create(temp)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := header{
		version: SnapshotVersion, record: opts.RecordVersion, first: meta.Seq,
		createdNs: opts.Clock.NowNs(), writer: opts.Writer,
		Identity: opts.Identity, chain: meta.Chain, name: opts.Name,
	}
	w := newChunkWriter(f, 0)
	w.buf = append(w.buf, h.encode(snapshotMagic)...)
	w.crc = le.Uint32(w.buf[headerBytes-4:])
	if err := w.flush(); err != nil {
		return 0, err
	}
	if err := w.section(uint32(len(meta.Head)), meta.Head); err != nil {
		return 0, err
	}
	if err := write(w); err != nil {
		return 0, err
	}
	if err := w.end(); err != nil {
		return 0, err
	}
	return w.off, f.Sync()
}

// chunkWriter cuts a body into chunks, compresses each, and writes it with a checksum over it and all before.
type chunkWriter struct {
	f     vfs.File
	off   int64
	plain []byte // what is in the chunk so far
	buf   []byte // a section as it is stored
	crc   uint32
	body  uint64
	zip   *zstd.Encoder
}

// newChunkWriter returns a writer whose sections begin at the begin of a file, behind a header with a checksum.
func newChunkWriter(f vfs.File, crc uint32) *chunkWriter {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(chunkBytes), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("BUG: wal: " + err.Error()) // the options are constants
	}
	return &chunkWriter{f: f, crc: crc, zip: zip, plain: make([]byte, 0, chunkBytes)}
}

// Write takes a piece of the body.
func (w *chunkWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), chunkBytes-len(w.plain))
		w.plain = append(w.plain, rest[:n]...)
		rest = rest[n:]
		w.body += uint64(n)
		if len(w.plain) == chunkBytes {
			if err := w.chunk(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// chunk writes what is in the chunk.
func (w *chunkWriter) chunk() error {
	w.buf = w.zip.EncodeAll(w.plain, append(w.buf[:0], make([]byte, chunkHead)...))
	w.plain = w.plain[:0]
	return w.seal(uint32(len(w.buf) - chunkHead))
}

// section writes a section that is not compressed.
func (w *chunkWriter) section(length uint32, data []byte) error {
	w.buf = append(append(w.buf[:0], make([]byte, chunkHead)...), data...)
	return w.seal(length)
}

// seal completes the section in buf, whose head is open, and writes it.
func (w *chunkWriter) seal(length uint32) error {
	le.PutUint32(w.buf, length)
	w.crc = crc32.Update(crc32.Update(w.crc, castagnoli, w.buf[:4]), castagnoli, w.buf[chunkHead:])
	le.PutUint32(w.buf[4:], w.crc)
	return w.flush()
}

func (w *chunkWriter) flush() error {
	_, err := w.f.WriteAt(w.buf, w.off)
	w.off += int64(len(w.buf))
	return err
}

func (w *chunkWriter) end() error {
	if len(w.plain) > 0 {
		if err := w.chunk(); err != nil {
			return err
		}
	}
	return w.section(endOfChunks, le.AppendUint64(nil, w.body))
}

// SnapshotName returns the file name of the snapshot of record seq.
func SnapshotName(seq uint64) string { return fmt.Sprintf("%020d%s", seq, SnapshotExt) }

// snapshotSeqs lists the snapshots in dir, newest first.
func snapshotSeqs(fsys vfs.FS, dir string) ([]uint64, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("wal: list %s: %w", dir, err)
	}
	var seqs []uint64
	for _, name := range names {
		if seq, _ := strconv.ParseUint(strings.TrimSuffix(name, SnapshotExt), 10, 64); SnapshotName(seq) == name {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	slices.Reverse(seqs)
	return seqs, nil
}

// pruneSnapshots removes all but the newest ones.
func pruneSnapshots(fsys vfs.FS, dir string) error {
	seqs, err := snapshotSeqs(fsys, dir)
	if err != nil {
		return err
	}
	for _, seq := range seqs[min(SnapshotsKept, len(seqs)):] {
		if err := fsys.Remove(path.Join(dir, SnapshotName(seq))); err != nil {
			return fmt.Errorf("wal: remove old snapshot: %w", err)
		}
	}
	return nil
}

// damagedExt marks a snapshot that could not be used: the file stays for inspection and does
// not count as a snapshot.
const damagedExt = ".damaged"

// unusedExt marks an intact snapshot of records that the log lost with the operator's consent.
const unusedExt = ".unused"

// Loaded describes the snapshot that was used.
type Loaded struct {
	OK      bool           // one was
	Meta    SnapshotMeta   // the records that it contains
	Kept    []SnapshotMeta // it and the next older one with a valid header, newest first
	Damaged []string       // newer ones that could not be used, with the reason; ErrUnwanted is none
	bad     []string       // the paths of those whose content is to blame
}

// ErrUnwanted is the error of a load function that does not take a snapshot although it is intact.
var ErrUnwanted = errors.New("wal: an intact snapshot that is not wanted")

// loadFunc decodes the body of a snapshot.
type loadFunc = func(meta SnapshotMeta, body io.Reader) error

// LoadNewest finds the newest snapshot in dir whose every byte verifies and which load
// takes, and which is on the log's chain. load gets only verified bytes, and may have seen part of a damaged snapshot
// before it is called again for the one before: it must start over each time. A snapshot of
// another version is refused with *VersionError, never passed over. Reads only.
func LoadNewest(fsys vfs.FS, dir string, opts Options, load loadFunc) (Loaded, error) {
	var found Loaded
	if err := opts.validateFor(dir); err != nil {
		return found, err
	}
	segs, err := loadSegments(fsys, dir, &opts)
	if err != nil {
		return found, err
	}
	seqs, err := snapshotSeqs(fsys, dir)
	if err != nil {
		return found, err
	}
	for _, seq := range seqs {
		name := path.Join(dir, SnapshotName(seq))
		place := onChain(fsys, segs, name, load)
		meta, err := loadSnapshotFile(fsys, name, seq, &opts, place, found.OK)
		var version *VersionError
		switch {
		case err == nil && !found.OK:
			found.OK, found.Meta = true, meta
			found.Kept = append(found.Kept, meta)
		case err == nil && len(found.Kept) < SnapshotsKept:
			found.Kept = append(found.Kept, meta)
		case errors.As(err, &version):
			return found, err
		case errors.Is(err, ErrUnwanted):
		case !found.OK:
			found.Damaged = append(found.Damaged, err.Error())
			if unread := (*fs.PathError)(nil); !errors.As(err, &unread) { // a file that cannot be read now may be sound
				found.bad = append(found.bad, name)
			}
		}
	}
	return found, nil
}

// onChain returns a load function that takes a snapshot only if the log has its chain at its record.
func onChain(fsys vfs.FS, segs []segment, name string, load loadFunc) loadFunc {
	return func(meta SnapshotMeta, body io.Reader) error {
		chain, err := chainAt(fsys, segs, meta.Seq)
		var damaged *CorruptError
		switch {
		case errors.Is(err, ErrTruncated) || errors.As(err, &damaged):
			// No use is made of it: the records behind it cannot be read either.
		case err == nil && chain != meta.Chain:
			return &CorruptError{
				File: name, Seq: meta.Seq, Foreign: true,
				Reason: fmt.Sprintf("the log has another history up to record %d", meta.Seq),
			}
		case err != nil:
			return err
		}
		return load(meta, body)
	}
}

// readSnapshots finds the snapshots that the log does not reach: they prove that it lost records.
func (l *opening) readSnapshots() error {
	found := &l.found
	seqs, err := snapshotSeqs(l.fsys, l.dir)
	if err != nil {
		return err
	}
	if err := l.missSnapshot(seqs); err != nil {
		return err
	}
	for _, seq := range seqs {
		name := path.Join(l.dir, SnapshotName(seq))
		meta, err := loadSnapshotFile(l.fsys, name, seq, &l.opts, nil, true)
		var damaged *CorruptError
		switch {
		case errors.As(err, &damaged) && !damaged.Foreign:
		case err != nil && damaged == nil:
			return err
		case damaged != nil:
			found.damage, found.ahead = damaged, append(found.ahead, name)
		case seq > found.Seq && found.seg < 0 && l.opts.AcceptLoss:
			// The log has no file any more: it goes on behind the newest snapshot.
			found.Position = Position{Seq: seq, Chain: meta.Chain}
		case seq > found.Seq:
			found.ahead = append(found.ahead, name)
			if found.damage == nil {
				found.damage = &CorruptError{
					File: name, Seq: found.Seq + 1, To: seq,
					Reason: fmt.Sprintf("the log ends at record %d, before the snapshot", found.Seq),
				}
			}
		}
	}
	return nil
}

// missSnapshot reports the newest snapshot that was written, unless its file is there or was set aside, and
// notes the newest one that is there.
func (l *opening) missSnapshot(seqs []uint64) error {
	names, err := l.fsys.List(l.dir)
	if err != nil {
		return fmt.Errorf("wal: list %s: %w", l.dir, err)
	}
	was := SnapshotName(l.end.snapshot)
	there := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, was) })
	if l.end.snapshot != 0 && !there && l.opts.MissingSnapshot != nil {
		l.opts.MissingSnapshot(l.end.snapshot)
	}
	l.Log.end.snapshot = 0
	if len(seqs) > 0 {
		l.Log.end.snapshot = seqs[0]
		l.figures.noteSnapshot(l.fsys, path.Join(l.dir, SnapshotName(seqs[0])))
	}
	return nil
}

// SetAside renames the snapshots whose content could not be used, so that they do not count as
// one of the two to fall back to. One that could not be read stays. Call it when the recovery has succeeded.
func (f Loaded) SetAside(fsys vfs.FS, dir string) error {
	for _, name := range f.bad {
		if err := fsys.Rename(name, name+damagedExt); err != nil {
			return fmt.Errorf("wal: set a damaged snapshot aside: %w", err)
		}
	}
	if len(f.bad) == 0 {
		return nil
	}
	return fsys.SyncDir(dir)
}

// loadSnapshotFile verifies the header and the head of a snapshot and, unless headOnly, hands its body on.
func loadSnapshotFile(
	fsys vfs.FS, name string, seq uint64, opts *Options, load loadFunc, headOnly bool,
) (meta SnapshotMeta, err error) {
	s, err := openSnapshot(fsys, name, opts)
	if err != nil {
		return SnapshotMeta{}, err
	}
	defer s.Close()
	if s.Meta.Seq != seq {
		reason := "header has another sequence than the name"
		return SnapshotMeta{}, &CorruptError{File: name, Seq: s.Meta.Seq, Reason: reason}
	}
	if headOnly {
		return s.Meta, nil
	}
	r := s.Body()
	if err := load(s.Meta, r); err != nil {
		return s.Meta, fmt.Errorf("wal: snapshot %s: %w", name, err)
	}
	// The decoder may not need the last byte to be content; the checksum does.
	_, err = io.Copy(io.Discard, r)
	return s.Meta, err
}

// openSnapshot opens a snapshot and verifies its header and its head. Without an identity opts adopts the file's.
func openSnapshot(fsys vfs.FS, name string, opts *Options) (*SnapshotFile, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("wal: open snapshot: %w", err)
	}
	s := &SnapshotFile{name: name, file: f}
	if err := s.read(opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *SnapshotFile) read(opts *Options) (err error) {
	if s.Bytes, err = s.file.Size(); err != nil {
		return fmt.Errorf("wal: %s: size: %w", s.name, err)
	}
	var buf [headerBytes + chunkHead]byte
	n, err := s.file.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("wal: %s: read: %w", s.name, err)
	}
	h, reason := parseHeader(snapshotMagic, SnapshotVersion, buf[:min(n, headerBytes)])
	if reason != "" {
		return &CorruptError{File: s.name, Reason: reason}
	}
	if err := h.agrees("snapshot format", s.name, SnapshotVersion, opts); err != nil {
		return err
	}
	s.Identity, s.Meta = h.Identity, SnapshotMeta{Seq: h.first, Chain: h.chain}
	s.crc, s.begin = le.Uint32(buf[headerBytes-4:]), headerBytes
	corrupt := func(reason string) error {
		return &CorruptError{File: s.name, Offset: headerBytes, Seq: h.first, Reason: reason}
	}
	if n < len(buf) {
		return corrupt("snapshot is cut short")
	}
	length := le.Uint32(buf[headerBytes:])
	switch {
	case length > MaxSnapshotHead:
		return corrupt("head length is impossible")
	case int64(length) > s.Bytes-int64(len(buf)):
		return corrupt("snapshot is cut short")
	}
	s.Meta.Head = make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(s.file, int64(len(buf)), int64(length)), s.Meta.Head); err != nil {
		return fmt.Errorf("wal: %s: read at %d: %w", s.name, len(buf), err)
	}
	s.crc = crc32.Update(crc32.Update(s.crc, castagnoli, buf[headerBytes:headerBytes+4]), castagnoli, s.Meta.Head)
	if s.crc != le.Uint32(buf[headerBytes+4:]) {
		return corrupt("head checksum differs")
	}
	s.begin = int64(len(buf)) + int64(length)
	return nil
}

// chunkReader reads the body of a snapshot and verifies every byte before it returns it.
type chunkReader struct {
	f      vfs.File
	name   string
	off    int64
	seq    uint64
	crc    uint32
	body   uint64
	buf    []byte // a chunk as it is stored
	unzip  *zstd.Decoder
	memory []byte // of a plain chunk
	rest   []byte // verified and not yet given out
	err    error
}

// Read fails with *CorruptError at the first chunk that does not verify.
func (r *chunkReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		r.err = r.chunk()
	}
	if len(r.rest) > 0 {
		n := copy(p, r.rest)
		r.rest = r.rest[n:]
		return n, nil
	}
	return 0, r.err
}

func (r *chunkReader) chunk() error {
	if r.buf == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	n, err := r.f.ReadAt(r.buf, r.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("wal: %s: read at %d: %w", r.name, r.off, err)
	}
	if n < chunkHead {
		return r.corrupt("snapshot is cut short")
	}
	length := le.Uint32(r.buf)
	size := int(length)
	if length == endOfChunks {
		size = 8
	}
	if size == 0 || size > maxStored {
		return r.corrupt("chunk length is impossible")
	}
	if chunkHead+size > n {
		return r.corrupt("snapshot is cut short")
	}
	data := r.buf[chunkHead : chunkHead+size]
	r.crc = crc32.Update(crc32.Update(r.crc, castagnoli, r.buf[:4]), castagnoli, data)
	if r.crc != le.Uint32(r.buf[4:]) {
		return r.corrupt("chunk checksum differs")
	}
	if length == endOfChunks {
		if le.Uint64(data) != r.body || n > chunkHead+size {
			return r.corrupt("body has another length than its end says")
		}
		return io.EOF
	}
	if r.rest, err = r.unzip.DecodeAll(data, r.memory[:0]); err != nil {
		return r.corrupt("chunk cannot be decompressed")
	}
	r.off += int64(chunkHead + size)
	r.body += uint64(len(r.rest))
	return nil
}

// begin makes the buffers. The decoder writes no more than a chunk, whatever the stored bytes claim.
func (r *chunkReader) begin() (err error) {
	size, err := r.f.Size()
	if err != nil {
		return fmt.Errorf("wal: %s: size: %w", r.name, err)
	}
	r.unzip, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(chunkBytes), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("BUG: wal: " + err.Error()) // the options are constants
	}
	r.memory = make([]byte, 0, chunkBytes)
	r.buf = make([]byte, min(chunkHead+maxStored, max(size-r.off, chunkHead)))
	return nil
}

func (r *chunkReader) corrupt(reason string) error {
	return &CorruptError{File: r.name, Offset: r.off, Seq: r.seq, Reason: reason}
}
