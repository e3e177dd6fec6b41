package durable

import (
	"errors"
	"fmt"
	"io"

	"tickhive/internal/clock"
	"tickhive/internal/wal"
)

// LastTimer is a State that knows the time of its last record. A store that starts on a clock
// that went back continues from that time.
type LastTimer interface {
	// LastNs returns the time of the last record applied, Unix nanoseconds.
	LastNs() int64
}

// Recovery is a Store whose log is read and whose goroutine does not run yet. The caller takes
// each record with Next and carries it out with Apply, until Next returns io.EOF; then Begin
// starts the store. A caller whose state folds another log replays that log between Next and
// Apply up to the position that the record reflects. Owner: one goroutine.
type Recovery[S State[C, R, T, V], C, R, T, V any] struct {
	store  *Store[S, C, R, T, V]
	reader *wal.Reader // nil without FS
	frame  int         // bytes in the log of the record that Next returned last
}

// Open recovers the state (newest valid snapshot, else the one before, and the log
// after it) and starts the store's goroutine. *CorruptError, *VersionError and
// *vfs.LockedError refuse the start.
func Open[S State[C, R, T, V], C, R, T, V any](opts Options[S, C, R, T, V]) (*Store[S, C, R, T, V], error) {
	r, err := Recover(opts)
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Begin()
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.Apply(rec)
	}
}

// Recover opens the log and restores the newest valid snapshot, else the one before. Its
// errors are those of Open.
func Recover[S State[C, R, T, V], C, R, T, V any](opts Options[S, C, R, T, V]) (*Recovery[S, C, R, T, V], error) {
	if opts.Clock == nil {
		opts.Clock = clock.Real{}
	}
	if opts.Queue == 0 {
		opts.Queue = DefaultQueue
	}
	if opts.SnapshotBytes == 0 {
		opts.SnapshotBytes = DefaultSnapshotBytes
	}
	s := &Store[S, C, R, T, V]{opts: opts, done: make(chan struct{})}
	s.queue = make(chan *request[S, C, T], opts.Queue)
	s.owner.snapDone = make(chan error, 1)
	s.owner.retainFrom.Store(1)
	r := &Recovery[S, C, R, T, V]{store: s}
	if opts.FS == nil {
		s.state = opts.New()
		return r, nil
	}
	var err error
	if s.log, err = wal.Open(opts.FS, opts.Dir, opts.Log); err != nil {
		return nil, err
	}
	if r.reader, err = s.readSnapshot(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	return r, nil
}

// readSnapshot restores the snapshot and returns a reader of the records after it.
func (s *Store[S, C, R, T, V]) readSnapshot() (*wal.Reader, error) {
	s.info = RecoveryInfo{LastSeq: s.log.LastSeq(), TornTail: s.log.Recovered().TornTail}
	if err := s.loadSnapshot(); err != nil {
		return nil, err
	}
	if s.info.SnapshotSeq > s.log.LastSeq() {
		return nil, &wal.CorruptError{
			File: s.opts.Dir, Seq: s.log.LastSeq() + 1,
			Reason: fmt.Sprintf("the snapshot reflects record %d, the log ends at %d", s.info.SnapshotSeq,
				s.log.LastSeq()),
		}
	}
	r, err := s.log.Reader(s.info.SnapshotSeq + 1)
	if err != nil && len(s.info.Damaged) > 0 {
		err = fmt.Errorf("%w; snapshots not usable: %v", err, s.info.Damaged)
	}
	return r, err
}

// State returns the state after the records that were applied.
func (r *Recovery[S, C, R, T, V]) State() S { return r.store.state }

// Next returns the next record, which Apply carries out; io.EOF at the end of the log.
func (r *Recovery[S, C, R, T, V]) Next() (*R, error) {
	if r.reader == nil {
		return nil, io.EOF
	}
	raw, err := r.reader.Next()
	if err != nil {
		return nil, err
	}
	rec, err := r.store.opts.DecodeRecord(raw.Payload)
	if err != nil {
		return nil, &wal.CorruptError{
			File: raw.File, Offset: raw.Offset, Seq: raw.Seq,
			Reason: "record does not decode: " + err.Error(),
		}
	}
	r.frame = wal.FrameBytes(len(raw.Payload))
	return &rec, nil
}

// Apply carries out the record that Next returned last.
func (r *Recovery[S, C, R, T, V]) Apply(rec *R) {
	s := r.store
	s.state.Apply(rec)
	s.info.Replayed++
	s.owner.sinceSnap += int64(r.frame)
	if s.opts.Progress != nil {
		s.opts.Progress(r.reader.Progress())
	}
}

// Begin ends the recovery and starts the store's goroutine. The Recovery must not be used after
// it.
func (r *Recovery[S, C, R, T, V]) Begin() (*Store[S, C, R, T, V], error) {
	s := r.store
	if s.log != nil {
		s.letGo()
		err := errors.Join(s.found.SetAside(s.opts.FS, s.opts.Dir), r.reader.Close())
		if err != nil {
			return nil, errors.Join(err, s.log.Close())
		}
	}
	if lt, ok := any(s.state).(LastTimer); ok {
		s.owner.lastNs = lt.LastNs()
	}
	s.publish()
	go s.run()
	return s, nil
}

// Close gives up a recovery that Begin has not ended, and closes the log.
func (r *Recovery[S, C, R, T, V]) Close() error {
	if r.store.log == nil {
		return nil
	}
	return errors.Join(r.reader.Close(), r.store.log.Close())
}

// loadSnapshot leaves an empty state when there is no snapshot that can be used; the
// log then decides whether it reaches back far enough.
func (s *Store[S, C, R, T, V]) loadSnapshot() error {
	found, err := wal.LoadNewest(s.opts.FS, s.opts.Dir, s.opts.Log, func(_ wal.SnapshotMeta, r io.Reader) error {
		body, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		s.state, err = s.opts.DecodeSnapshot(body)
		return err
	})
	if err != nil {
		return err
	}
	s.found, s.info.Damaged = found, found.Damaged
	if !found.OK {
		s.state = s.opts.New()
		return nil
	}
	s.info.SnapshotSeq, s.info.SnapshotReflects = found.Meta.Seq, found.Meta.Reflects
	for i, m := range found.Kept {
		s.owner.seqs[i], s.owner.reflects[i] = m.Seq, m.Reflects+1
	}
	return nil
}
