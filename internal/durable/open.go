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

// Open recovers the state (newest valid snapshot, else the one before, and the log
// after it) and starts the store's goroutine. *CorruptError, *VersionError and
// *vfs.LockedError refuse the start.
func Open[S State[C, R, T, V], C, R, T, V any](opts Options[S, C, R, T, V]) (*Store[S, C, R, T, V], error) {
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
	if opts.FS == nil {
		s.state = opts.New()
	} else if err := s.recover(); err != nil {
		return nil, err
	}
	if lt, ok := any(s.state).(LastTimer); ok {
		s.owner.lastNs = lt.LastNs()
	}
	s.publish()
	go s.run()
	return s, nil
}

// recover opens the log and rebuilds the state. On an error the log is closed again.
func (s *Store[S, C, R, T, V]) recover() error {
	log, err := wal.Open(s.opts.FS, s.opts.Dir, s.opts.Log)
	if err != nil {
		return err
	}
	s.log = log
	if err := s.rebuild(); err != nil {
		return errors.Join(err, log.Close())
	}
	return nil
}

func (s *Store[S, C, R, T, V]) rebuild() error {
	s.info = RecoveryInfo{LastSeq: s.log.LastSeq(), TornTail: s.log.Recovered().TornTail}
	if err := s.loadSnapshot(); err != nil {
		return err
	}
	if s.info.SnapshotSeq > s.log.LastSeq() {
		return &wal.CorruptError{
			File: s.opts.Dir, Seq: s.log.LastSeq() + 1,
			Reason: fmt.Sprintf("the snapshot reflects record %d, the log ends at %d", s.info.SnapshotSeq,
				s.log.LastSeq()),
		}
	}
	r, err := s.log.Reader(s.info.SnapshotSeq + 1)
	if err != nil {
		if len(s.info.Damaged) > 0 {
			err = fmt.Errorf("%w; snapshots not usable: %v", err, s.info.Damaged)
		}
		return err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			s.letGo()
			return s.found.SetAside(s.opts.FS, s.opts.Dir)
		}
		if err != nil {
			return err
		}
		if err := s.replay(rec); err != nil {
			return err
		}
		if s.opts.Progress != nil {
			s.opts.Progress(r.Progress())
		}
	}
}

func (s *Store[S, C, R, T, V]) replay(raw wal.Record) error {
	rec, err := s.opts.DecodeRecord(raw.Payload)
	if err != nil {
		return &wal.CorruptError{
			File: raw.File, Offset: raw.Offset, Seq: raw.Seq,
			Reason: "record does not decode: " + err.Error(),
		}
	}
	if s.opts.BeforeReplay != nil {
		if err := s.opts.BeforeReplay(s.state, &rec); err != nil {
			return fmt.Errorf("wal: replay of record %d: %w", raw.Seq, err)
		}
	}
	s.state.Apply(&rec)
	s.info.Replayed++
	s.owner.sinceSnap += int64(wal.FrameBytes(len(raw.Payload)))
	return nil
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
