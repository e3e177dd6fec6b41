package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"tickhive/internal/clock"
	"tickhive/internal/vfs"
)

// SnapshotVersion is the version of the snapshot format written and read here.
const SnapshotVersion = 3

// SnapshotsKept is the number of retained snapshots: the newest, and the one before as a
// fallback.
const SnapshotsKept = 2

// SnapshotExt is the extension of a snapshot.
const SnapshotExt = ".snap"

const (
	snapshotMagic = "TICKSNP\n"
	// chunkBytes is the size of a chunk. A reader verifies the checksum of a chunk before it decodes the chunk.
	chunkBytes  = 256 << 10
	chunkHead   = 8
	endOfChunks = 0xFFFFFFFF // in the length word: the last chunk, holding the body's length
)

// SnapshotMeta holds the sequences that a snapshot covers.
type SnapshotMeta struct {
	// Seq is the last record of the store's log that the snapshot includes.
	Seq uint64
	// Reflects is the last record of another log that the snapshot includes, 0 without one.
	Reflects uint64
	// Chain is the checksum chain of the store's log up to Seq. 0: WriteSnapshot reads the log for it.
	Chain uint64
}

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
	f, err := fsys.Create(temp)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := header{
		version: SnapshotVersion, record: opts.RecordVersion, segment: meta.Reflects, first: meta.Seq,
		createdNs: opts.Clock.NowNs(), writer: opts.Writer,
		Identity: opts.Identity, chain: meta.Chain, name: opts.Name,
	}
	w := &chunkWriter{f: f, buf: append(make([]byte, 0, chunkHead+chunkBytes), h.encode(snapshotMagic)...)}
	w.crc = le.Uint32(w.buf[headerBytes-4:])
	if err := w.flushRaw(); err != nil {
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

// chunkWriter cuts a body into chunks, each with a checksum over itself and all before.
type chunkWriter struct {
	f    vfs.File
	off  int64
	buf  []byte // chunk head and what is in the chunk so far
	crc  uint32
	body uint64
}

// Write takes a piece of the body.
func (w *chunkWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), chunkHead+chunkBytes-len(w.buf))
		w.buf = append(w.buf, rest[:n]...)
		rest = rest[n:]
		w.body += uint64(n)
		if len(w.buf) == chunkHead+chunkBytes {
			if err := w.seal(uint32(chunkBytes)); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (w *chunkWriter) seal(length uint32) error {
	le.PutUint32(w.buf, length)
	w.crc = crc32.Update(crc32.Update(w.crc, castagnoli, w.buf[:4]), castagnoli, w.buf[chunkHead:])
	le.PutUint32(w.buf[4:], w.crc)
	return w.flushRaw()
}

func (w *chunkWriter) flushRaw() error {
	_, err := w.f.WriteAt(w.buf, w.off)
	w.off += int64(len(w.buf))
	w.buf = append(w.buf[:0], make([]byte, chunkHead)...)
	return err
}

func (w *chunkWriter) end() error {
	if n := len(w.buf) - chunkHead; n > 0 {
		if err := w.seal(uint32(n)); err != nil {
			return err
		}
	}
	w.buf = le.AppendUint64(w.buf, w.body)
	return w.seal(endOfChunks)
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
