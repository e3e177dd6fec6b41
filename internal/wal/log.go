package wal

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/vfs"
)

// Log is an open log. Its owner, one goroutine, appends and rotates (Begin, Add, Write,
// Append, Rotate); Sync, DropBefore, Segments, Reader, Close and the figures may be used
// by any goroutine at the same time.
type Log struct {
	fsys vfs.FS
	dir  string
	opts Options
	lock io.Closer // nil with NoLock
	info OpenInfo

	// Owner only.
	buf     []byte // frames of the batch under way
	count   uint64 // records in it
	tooBig  bool   // one of them may not be written
	lastSeq uint64
	chain   uint64 // up to lastSeq
	ahead   uint64 // with the batch under way

	written atomic.Uint64 // last sequence in the page cache
	durable atomic.Uint64 // last sequence synced
	bytes   atomic.Int64  // appended since Open
	figures figures
	ends    atomic.Bool // the next batch begins a segment (EndSegment)
	stop    atomic.Pointer[error]

	// Locks are taken in the order writeMu, syncMu, fillMu, slotMu, listMu. All but syncMu are held
	// briefly, or by the end of the log: no write waits for a sync.

	writeMu sync.Mutex // held during a write or rotation by the owner, and while the log ends

	slotMu  sync.Mutex // guards end, slotBuf and the slots, and changes of active
	end     ending     // gen, synced, written and snapshot of the newest slot
	slotBuf [vfs.SectorBytes]byte

	fillMu sync.Mutex // guards active, changes of its filled, and the range behind it
	active *openSegment
	off    atomic.Int64 // where the next frame goes; changed by the owner, back to the header's end under listMu

	listMu   sync.Mutex     // guards the lists and the bytes members of the segments in them
	segments []*openSegment // all segments, oldest first; the last one is active
	unsynced []*openSegment // segments written since their last sync, oldest first
	full     []*openSegment // full segments whose file is still open, oldest first
	dirDirty bool           // names changed since the last SyncDir
	keepFrom *uint64        // segments with this record or a later one stay; nil: none

	syncMu   sync.Mutex // held during a sync or a deletion of segments
	filledAt int64      // bytes when fillAhead last ran; guarded by syncMu
}

// openSegment is a segment of an open log. file is nil once the segment is full and synced,
// or the log closed. The holder of syncMu owns the file of a full segment.
type openSegment struct {
	num    uint64
	path   string
	first  uint64
	chain  uint64 // before first
	seed   uint32
	slot   int          // the slot to write, under slotMu
	flags  uint32       // of the slots, under slotMu
	gen    uint64       // of the last write of a slot, under slotMu
	synced uint64       // gen of the last one that was synced, under slotMu
	begun  uint64       // gen when the sync under way began, under syncMu
	named  bool         // it and its name are durable, under syncMu
	bytes  int64        // up to the end of its last record; the active one's is Log.off
	filled atomic.Int64 // zeros or records were written up to here
	waits  atomic.Bool  // it is in Log.unsynced; changed under listMu
	file   vfs.File
}

// OpenInfo describes the log that Open found.
type OpenInfo struct {
	FirstSeq uint64 // oldest sequence kept, or the next one when the log is empty
	LastSeq  uint64 // newest, FirstSeq-1 when the log is empty
	Lost     uint64 // last record that the log once reached and that is cut, 0: none is missing
	TornTail int64  // bytes cut
	TornFile string // path and
	TornAt   int64  // offset of the cut
}

// Begin starts a batch. When the active segment is full, it first starts a new one. Only the owner may call it.
func (l *Log) Begin() {
	l.buf, l.count, l.tooBig = l.buf[:0], 0, false
	if ends := l.ends.Load(); ends || l.off.Load()-firstFrame >= l.opts.SegmentBytes {
		// A new segment that cannot be made now is made later: the old one goes on.
		if err := l.Rotate(); err == nil && ends {
			l.ends.Store(false)
		}
	}
	l.ahead = l.chain
}

// Add encodes one record of 1 to Options.MaxRecord bytes into the batch: encode must append it to dst and return dst.
// Only the owner may call it.
func (l *Log) Add(encode func(dst []byte) []byte) {
	at := len(l.buf)
	var head [frameHead]byte
	l.buf = append(l.buf, head[:]...)
	l.buf = encode(l.buf)
	n := len(l.buf) - at - frameHead
	if n < 1 || n > l.opts.MaxRecord {
		l.tooBig = true
		return
	}
	var pad [frameAlign]byte
	l.buf = append(l.buf, pad[:FrameBytes(n)-frameHead-n]...)
	l.count++
	l.ahead = sealFrame(l.buf[at:], n, l.lastSeq+l.count, l.ahead, l.active.seed)
}

// Write writes the batch with one system call and returns its last sequence. The batch then survives the end of
// the process, and after the next Sync a power cut. After ErrUnavailable the log holds nothing of the batch and
// will reuse its sequences. After ErrStopped the log has ended; with ErrOutcomeUnknown it may hold the batch.
// Only the owner may call it.
func (l *Log) Write() (last uint64, err error) {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if err := l.Stopped(); err != nil {
		return l.lastSeq, err
	}
	if l.tooBig {
		return l.lastSeq, fmt.Errorf("%w (at most %d bytes)", ErrTooLarge, l.opts.MaxRecord)
	}
	if l.count == 0 {
		return l.lastSeq, nil
	}
	if err := l.opts.BeforeWrite(); err != nil {
		return l.lastSeq, Unavailable("what comes before a record of "+l.opts.Name, err)
	}
	off, n := l.off.Load(), int64(len(l.buf))
	l.makeRoom(off, n)
	k, err := l.active.file.WriteAt(l.buf, off)
	if err == nil && int64(k) < n {
		err = io.ErrShortWrite
	}
	if err != nil {
		return l.lastSeq, l.undo(off, err)
	}
	if err := l.noteWritten(l.lastSeq + l.count); err != nil {
		if errors.Is(err, ErrStopped) {
			return l.lastSeq, OutcomeUnknown(err)
		}
		return l.lastSeq, l.undo(off, err)
	}
	l.off.Store(off + n)
	l.bytes.Add(n)
	l.lastSeq += l.count
	l.chain = l.ahead
	l.markUnsynced()
	l.written.Store(l.lastSeq)
	if cap(l.buf) > maxKeptBuffer {
		l.buf = nil
	}
	return l.lastSeq, nil
}

// Append calls Begin, Add for each payload, and Write. Only the owner may call it.
func (l *Log) Append(payloads [][]byte) (last uint64, err error) {
	l.Begin()
	for _, p := range payloads {
		l.Add(func(dst []byte) []byte { return append(dst, p...) })
	}
	return l.Write()
}

// noteWritten records in the active segment's slot that the log ends with the record last. After an error it restores
// the slot, or stops the log if that fails too.
func (l *Log) noteWritten(last uint64) error {
	l.slotMu.Lock()
	defer l.slotMu.Unlock()
	before := l.end.written
	l.end.written = last
	err := l.writeSlot(l.active)
	if err == nil {
		return nil
	}
	l.end.written = before
	if again := l.writeSlot(l.active); again != nil {
		return l.Fail(errors.Join(err, again))
	}
	return err
}

// makeRoom writes zeros behind the batch when the batch would reach past the existing zeros. A
// failure to write them is not an error: the batch itself may still fit. Only the owner moves
// active, so it may read filled without fillMu.
func (l *Log) makeRoom(off, n int64) {
	if off+n <= l.active.filled.Load() {
		return
	}
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	if l.active.filled.Load() >= off+n {
		return // the syncing goroutine is writing zeros already
	}
	l.active.filled.Store(off + n)
	l.fill(l.opts.PreallocBytes)
}

// fillAhead writes zeros ahead from the syncing goroutine, so that the owner seldom has to. (Zeros cost four
// times as much as the records written over them: when the owner wrote them, 70 of 560 ns a command.) It writes
// half a step at least, twice the bytes since the last sync, and four steps at most. It writes beyond filled,
// where the owner writes only with fillMu.
func (l *Log) fillAhead() {
	step, total := l.opts.PreallocBytes, l.bytes.Load()
	ahead := min(max(step/2, 2*(total-l.filledAt)), 4*step)
	l.filledAt = total
	for more := true; more; {
		l.fillMu.Lock() // held for one step only, because the owner may wait for it
		a := l.active
		more = a.filled.Load()-l.off.Load() < ahead && l.fill(step)
		l.fillMu.Unlock()
	}
}

// fill writes n zeros after filled, at most up to SegmentBytes, and reports whether it succeeded. The caller
// must hold fillMu.
func (l *Log) fill(n int64) bool {
	a := l.active
	at := a.filled.Load()
	n = min(n, firstFrame+l.opts.SegmentBytes-at)
	if n <= 0 || a.file.Preallocate(at, n) != nil {
		return false
	}
	a.filled.Store(at + n)
	return true
}

// Room reports, after a refused write, whether the disk has space again: it tries to write the next zeros.
// False does not prove the opposite, because a small record may still fit. Any goroutine may call it.
func (l *Log) Room() bool {
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	if l.Stopped() != nil {
		return false
	}
	off := l.off.Load()
	if l.active.filled.Load() <= off {
		l.fill(l.opts.PreallocBytes)
	}
	return l.active.filled.Load() > off
}

// undo durably cuts off the bytes that a failed write may have left: a record reported as "not
// written" must not reappear after a power cut either.
func (l *Log) undo(off int64, cause error) error {
	l.fillMu.Lock()
	defer l.fillMu.Unlock()
	a := l.active
	err := a.file.Truncate(off)
	if err == nil {
		err = a.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("%s: cut at %d after a failed write (%w): %w", a.path, off, cause, err)
		return OutcomeUnknown(l.Fail(err))
	}
	a.filled.Store(off)
	return Unavailable(fmt.Sprintf("%s: write at %d", a.path, off), cause)
}

// markUnsynced records that the active segment was written. When the segment already waits for a sync, that
// sync comes after this write, so the list does not change and its lock, which readers hold for some time, is
// not needed.
func (l *Log) markUnsynced() {
	if l.active.waits.Load() {
		return
	}
	l.listMu.Lock()
	l.active.waits.Store(true)
	l.unsynced = append(l.unsynced, l.active)
	l.listMu.Unlock()
}

// Fail stops the log permanently and returns its ErrStopped, with the first cause if the log had stopped
// before. A failed sync of the log calls it, and so does a writer in the log's directory after an ErrStopped
// (WriteSnapshot). Any goroutine may call it.
func (l *Log) Fail(cause error) error {
	err := cause
	if !errors.Is(cause, ErrStopped) {
		err = fmt.Errorf("%w: %w", ErrStopped, cause)
	}
	if l.stop.CompareAndSwap(nil, &err) {
		if l.opts.Failed != nil {
			l.opts.Failed()
		}
		return err
	}
	return l.Stopped()
}

// Stopped returns nil, or the ErrStopped that ended the log. Any goroutine.
func (l *Log) Stopped() error {
	if p := l.stop.Load(); p != nil {
		return *p
	}
	return nil
}

// LastSeq returns the last sequence written, 0 before the first record. Any goroutine.
func (l *Log) LastSeq() uint64 { return l.written.Load() }

// DurableSeq returns the last sequence synced. Any goroutine.
func (l *Log) DurableSeq() uint64 { return l.durable.Load() }

// BytesWritten returns the number of bytes appended since Open. Any goroutine.
func (l *Log) BytesWritten() int64 { return l.bytes.Load() }

// Recovered returns what Open found.
func (l *Log) Recovered() OpenInfo { return l.info }

// Position returns the place after the last record written. Owner only, or after Close.
func (l *Log) Position() Position { return Position{Seq: l.lastSeq, Chain: l.chain} }

// The log's limits and defaults.
const (
	// DefaultSegmentBytes is the default size of a segment, which is verified in about 0.1 s and deleted as a
	// whole.
	DefaultSegmentBytes = 64 << 20
	// DefaultPreallocBytes is the default number of zeros written ahead, so that most syncs change no metadata.
	// Writing them takes about 0.5 ms.
	DefaultPreallocBytes = 1 << 20
	// maxKeptBuffer is the largest batch buffer that is reused for the next batch.
	maxKeptBuffer = 4 << 20
	// minSegmentBytes is the smallest segment size; tests with many segments use it.
	minSegmentBytes = 256
)

// Options of a log. The zero value is good.
type Options struct {
	// SegmentBytes of records after which a new segment begins (a batch is never split, so a
	// segment may be larger by one batch). 0: DefaultSegmentBytes.
	SegmentBytes int64
	// PreallocBytes is the number of zeros written ahead at a time; negative: none; 0: DefaultPreallocBytes.
	PreallocBytes int64
	// RecordVersion is the version of the payloads' encoding; opening a segment of another version fails. 0
	// means 1.
	RecordVersion uint32
	// MaxRecord is the largest payload that the log takes. 0: the constant MaxRecord.
	MaxRecord int
	// Writer is the name and version of the program (at most 20 bytes). A VersionError of a later program shows
	// it. "" means "TickHive".
	Writer string
	// NoLock does not lock the log's directory, because the caller holds a lock for the whole data directory.
	NoLock bool
	// Name of the log, at most 16 bytes; "": the last element of its directory's path.
	Name string
	// Identity is the one of the log's files. The zero value adopts the files' identity.
	Identity Identity
	// Boot identifies the time since the machine was switched on; zero: unknown. A process that dies
	// loses nothing that it has written; only the end of a boot does.
	Boot ID
	// Known is the knowledge of the log's end outside the log; nil: none, the log may be new.
	Known *Known
	// AcceptLoss lets Open go on without records that it would refuse to lose.
	AcceptLoss bool
	// Lost receives a loss before Open cuts it off. It makes the loss known durably: afterwards the
	// log has no trace of it. An error refuses the start. nil: no receiver.
	Lost func(Loss) error
	// MissingSnapshot receives the record of the newest snapshot that was written, if its file is gone. The
	// log may still reach back far enough. nil: no receiver.
	MissingSnapshot func(seq uint64)
	// BeforeWrite is called before each batch is written. Its error refuses the batch like a full disk
	// (ErrUnavailable). nil: nothing comes first.
	BeforeWrite func() error
	// Ended receives the place up to which the log is durable, at the end of Open and of a Close
	// without an error. nil: no receiver.
	Ended func(Position)
	// Failed is called when the log stops for good after a failed sync, in Open too, before the caller gets the error.
	// nil: no receiver.
	Failed func()
	// Clock tells when a segment was made; it decides nothing. nil: real.
	Clock clock.Clock
}

// Validate fills in defaults and checks ranges.
func (o *Options) Validate() error {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.PreallocBytes == 0 {
		o.PreallocBytes = DefaultPreallocBytes
	}
	o.PreallocBytes = max(o.PreallocBytes, 0)
	if o.MaxRecord <= 0 || o.MaxRecord > MaxRecord {
		o.MaxRecord = MaxRecord
	}
	if o.RecordVersion == 0 {
		o.RecordVersion = 1
	}
	if o.Writer == "" {
		o.Writer = "TickHive"
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Ended == nil {
		o.Ended = func(Position) {}
	}
	if o.BeforeWrite == nil {
		o.BeforeWrite = func() error { return nil }
	}
	switch {
	case o.SegmentBytes < minSegmentBytes:
		return fmt.Errorf("wal: segment size %d is below %d bytes", o.SegmentBytes, minSegmentBytes)
	case len(o.Writer) > writerBytes:
		return fmt.Errorf("wal: writer %q is longer than %d bytes", o.Writer, writerBytes)
	}
	return nil
}

// validateFor sets the default name and validates the options for the log in dir.
func (o *Options) validateFor(dir string) error {
	if o.Name == "" {
		o.Name = path.Base(dir)
	}
	o.Name = o.Name[:min(len(o.Name), nameBytes)]
	return o.Validate()
}

// The operating errors of a log and of the stores on it. They are wrapped: use errors.Is.
var (
	// ErrStopped: a sync failed. The content of the disk is unknown, so the log accepts no
	// more writes until the process starts again and reads it (design: a failed fsync is
	// never retried). The error also wraps the cause.
	ErrStopped = errors.New("wal: stopped for good after a failed sync")
	// ErrOutcomeUnknown: the record was written and could not be made durable, or a write
	// that failed could not be cut off again. The next start may find the record or not. It
	// wraps the ErrStopped that ended the log too; later refusals wrap ErrStopped alone.
	ErrOutcomeUnknown = errors.New("wal: written, not known to be durable")
	// ErrUnavailable: the record could not be written (full disk) and the log holds nothing
	// of it. The same call works again when there is space.
	ErrUnavailable = errors.New("wal: not written")
	// ErrBusy: a bounded queue is full. Nothing happened.
	ErrBusy = errors.New("wal: queue full")
	// ErrClosed: the log or store was closed. Nothing happened.
	ErrClosed = errors.New("wal: closed")
	// ErrTooLarge: a record is empty or larger than Options.MaxRecord. Nothing happened.
	ErrTooLarge = errors.New("wal: record is empty or too large")
	// ErrEndUnknown: Close could not note where the log ends. It may end behind the place that was noted before.
	ErrEndUnknown = errors.New("wal: not closed in order")
	// ErrTruncated: the log no longer holds the wanted sequence; it begins later.
	ErrTruncated = errors.New("wal: sequence is older than the oldest kept")
)

// CorruptError reports damage that no power cut explains: bytes differ from the bytes written, or
// are missing. It stops the start.
type CorruptError struct {
	File    string // path
	Offset  int64  // bytes from the start of the file
	Seq     uint64 // sequence expected there, 0 when unknown
	To      uint64 // the log is known to have reached at least this record, 0 when unknown
	Foreign bool   // the file belongs to another log
	Reason  string // what was found
	Cause   error  // ErrTruncated, or nil
}

// Error returns a text with file, offset, sequence and reason.
func (e *CorruptError) Error() string {
	text := fmt.Sprintf("wal: %s: damaged at offset %d (sequence %d): %s", e.File, e.Offset, e.Seq, e.Reason)
	if e.To != 0 && e.To >= e.Seq {
		text += fmt.Sprintf("; the log reached record %d", e.To)
	}
	return text
}

// Unwrap returns Cause.
func (e *CorruptError) Unwrap() error { return e.Cause }

// VersionError refuses a file of another format; no reader guesses at its content.
type VersionError struct {
	File   string // path
	What   string // "log format", "record format", "snapshot format"
	Got    uint32 // version in the file
	Want   uint32 // version that this program reads
	Writer string // program that wrote the file
}

// Error returns a sentence with both versions and the program that wrote the file.
func (e *VersionError) Error() string {
	age := "a newer"
	if e.Got < e.Want {
		age = "an older"
	}
	return fmt.Sprintf("wal: %s has %s version %d, written by %s, %s program than this one, which reads version %d: "+
		"use that program, or another data directory", e.File, e.What, e.Got, e.Writer, age, e.Want)
}

// OutcomeUnknown wraps the error that ended the log after the record was written.
func OutcomeUnknown(stopped error) error {
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, stopped)
}

// Unavailable wraps the cause of a write that was undone.
func Unavailable(what string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, cause)
}

// figures counts for metrics. Any goroutine.
type figures struct {
	syncs          clock.Histogram
	snapshots      clock.Histogram
	snapshotBytes  atomic.Int64
	snapshotNs     atomic.Int64
	failedSnapshot atomic.Uint64
}

// Figures are measurements of an open log.
type Figures struct {
	// Syncs are the syncs of segments and of the names in their directory, without the waiting for the one before.
	Syncs clock.Counts
	// Snapshots are the ones written since Open.
	Snapshots clock.Counts
	// SnapshotFailures is the number of snapshots that could not be written.
	SnapshotFailures uint64
	// SnapshotBytes is the size of the newest snapshot, and SnapshotNs its time by the log's clock; 0: there is none.
	SnapshotBytes, SnapshotNs int64
}

// FiguresOf returns the figures of a log since Open. Any goroutine.
func FiguresOf(l *Log) Figures {
	f := &l.figures
	return Figures{
		Syncs: f.syncs.Counts(), Snapshots: f.snapshots.Counts(), SnapshotFailures: f.failedSnapshot.Load(),
		SnapshotBytes: f.snapshotBytes.Load(), SnapshotNs: f.snapshotNs.Load(),
	}
}

// noteSnapshot reads size and time of the newest snapshot that Open found. A file that cannot be read has none; the
// recovery reports it.
func (f *figures) noteSnapshot(fsys vfs.FS, name string) {
	file, err := fsys.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	var head [headerBytes]byte
	size, err := file.Size()
	if n, readErr := file.ReadAt(head[:], 0); err == nil && readErr == nil {
		if h, reason := parseHeader(snapshotMagic, SnapshotVersion, head[:n]); reason == "" {
			f.snapshotBytes.Store(size)
			f.snapshotNs.Store(h.createdNs)
		}
	}
}
