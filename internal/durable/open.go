package durable

import (
	"errors"
	"fmt"
	"io"

	"tickhive/internal/clock"
	"tickhive/internal/wal"
)

// Recovery is a Store whose log is being read and whose goroutine does not run yet. The caller reads each
// record with Next and applies it with Apply, until Next returns io.EOF; then Begin starts the store. When the
// state folds another log too, the caller replays that log between Next and Apply, up to the position that the
// record reflects. Owner: one goroutine.
//
//	r, err := durable.Recover(options) // newest usable snapshot
//	for rec, err := r.Next(); err == nil; rec, err = r.Next() {
//		replay(rec.EnginePos) // the other log, up to the position that the record reflects
//		r.Apply(rec)
//	}
//	store, err := r.Begin()
type Recovery[C, R, T any] struct {
	store  *Store[C, R, T]
	reader *wal.Reader // nil without FS
	frame  int         // bytes in the log of the record that Next returned last
}

// Open recovers the state from the newest valid snapshot and the log after it, and starts the store's
// goroutine. If the newest snapshot is damaged, it uses the one before. In a store without records it carries
// out opts.First. It returns *CorruptError, *VersionError or *vfs.LockedError for a log that must not be used.
func Open[C, R, T any](opts Options[C, R, T]) (*Store[C, R, T], error) {
	r, err := Recover(opts)
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.Apply(rec)
	}
	s, err := r.Begin()
	if err != nil || s.info.LastSeq > 0 || opts.Follows {
		return s, err
	}
	for _, cmd := range opts.First {
		if _, err := s.Do(cmd); err != nil {
			return nil, errors.Join(fmt.Errorf("the first record: %w", err), s.Close())
		}
	}
	return s, nil
}

// Recover opens the log and restores the newest valid snapshot of the two retained. It returns the same errors
// as Open.
func Recover[C, R, T any](opts Options[C, R, T]) (*Recovery[C, R, T], error) {
	if opts.Clock == nil {
		opts.Clock = clock.Real{}
	}
	if opts.Queue == 0 {
		opts.Queue = DefaultQueue
	}
	if opts.SnapshotBytes == 0 {
		opts.SnapshotBytes = DefaultSnapshotBytes
	}
	opts.sealed()
	s := &Store[C, R, T]{opts: opts, done: make(chan struct{})}
	s.queue = make(chan *request[C, T], opts.Queue)
	s.owner.snapDone = make(chan error, 1)
	s.owner.retainFrom.Store(1)
	r := &Recovery[C, R, T]{store: s}
	var err error
	switch {
	case opts.FS != nil:
	case opts.Initial != nil:
		if s.state, err = opts.DecodeSnapshot(opts.Initial); err != nil {
			return nil, err
		}
		return r, nil
	default:
		s.state = opts.New()
		return r, nil
	}
	if s.log, err = wal.Open(opts.FS, opts.Dir, opts.Log); err != nil {
		return nil, err
	}
	if r.reader, err = s.readSnapshot(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	return r, nil
}

// readSnapshot restores the snapshot and returns a reader of the records after it.
func (s *Store[C, R, T]) readSnapshot() (*wal.Reader, error) {
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
	if errors.Is(err, wal.ErrTruncated) {
		err = &wal.CorruptError{
			File: s.opts.Dir, Seq: s.info.SnapshotSeq + 1, Cause: err,
			Reason: fmt.Sprintf("no usable snapshot reaches the oldest retained record (%v)", err),
		}
	}
	if err != nil && len(s.info.Damaged) > 0 {
		err = fmt.Errorf("%w; snapshots not usable: %v", err, s.info.Damaged)
	}
	return r, err
}

// State returns the state after the records that were applied.
func (r *Recovery[C, R, T]) State() State[C, R, T] { return r.store.state }

// Next returns the next record for Apply, or io.EOF at the end of the log.
func (r *Recovery[C, R, T]) Next() (*R, error) {
	if r.reader == nil {
		return nil, io.EOF
	}
	rec, raw, err := r.store.read(r.reader)
	r.frame = wal.FrameBytes(len(raw.Payload))
	return rec, err
}

func (s *Store[C, R, T]) read(reader *wal.Reader) (*R, wal.Record, error) {
	raw, err := reader.Next()
	if err != nil {
		return nil, raw, err
	}
	rec, err := s.opts.DecodeRecord(raw.Payload)
	if err != nil {
		return nil, raw, &wal.CorruptError{
			File: raw.File, Offset: raw.Offset, Seq: raw.Seq,
			Reason: "record does not decode: " + err.Error(),
		}
	}
	return &rec, raw, nil
}

// Covered calls each with the records between the older retained snapshot and the restored one. A recovery
// replays them if the restored snapshot gets damaged. When the log no longer has them or is damaged there,
// Covered stops without an error, because that recovery would be refused.
func (r *Recovery[C, R, T]) Covered(each func(seq uint64, rec *R)) error {
	s := r.store
	if s.log == nil || s.info.SnapshotSeq == 0 {
		return nil
	}
	reader, err := s.log.Reader(s.owner.seqs[len(s.owner.seqs)-1] + 1)
	if errors.Is(err, wal.ErrTruncated) {
		return nil
	}
	if err != nil {
		return err
	}
	for {
		rec, raw, err := s.read(reader)
		var damaged *wal.CorruptError
		if errors.Is(err, io.EOF) || errors.As(err, &damaged) || err == nil && raw.Seq > s.info.SnapshotSeq {
			return reader.Close()
		}
		if err != nil {
			return errors.Join(err, reader.Close())
		}
		each(raw.Seq, rec)
	}
}

// Seq returns the sequence of the last record that the state includes.
func (r *Recovery[C, R, T]) Seq() uint64 {
	return r.store.info.SnapshotSeq + uint64(r.store.info.Replayed)
}

// Apply carries out the record that Next returned last.
func (r *Recovery[C, R, T]) Apply(rec *R) {
	s := r.store
	s.state.Apply(rec)
	s.info.Replayed++
	s.owner.sinceSnap += int64(r.frame)
	if s.opts.Progress != nil {
		s.opts.Progress(r.reader.Progress())
	}
}

// Begin ends the recovery and starts the store's goroutine. The Recovery must not be used afterwards.
func (r *Recovery[C, R, T]) Begin() (*Store[C, R, T], error) {
	s := r.store
	if s.log != nil {
		s.letGo()
		err := errors.Join(s.found.SetAside(s.opts.FS, s.opts.Dir), r.reader.Close())
		if err != nil {
			return nil, errors.Join(err, s.log.Close())
		}
	}
	s.owner.lastNs = s.state.LastNs() // the store's time does not go back when the clock did
	s.publish()
	if s.opts.Driver != nil {
		s.opts.Driver.Drive("store "+s.opts.Dir, s)
		return s, nil
	}
	go s.run()
	return s, nil
}

// Close closes the log of a recovery without Begin.
func (r *Recovery[C, R, T]) Close() error {
	if r.store.log == nil {
		return nil
	}
	return errors.Join(r.reader.Close(), r.store.log.Close())
}

// loadSnapshot leaves an empty state when there is no snapshot that can be used; the
// log then decides whether it reaches back far enough.
func (s *Store[C, R, T]) loadSnapshot() error {
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
