package durable

import (
	"errors"
	"fmt"
	"io"

	"tickhive/internal/wal"
)

// startSnapshot encodes the state and starts a goroutine that writes the snapshot, so the store waits only for
// the encoding. The log is synced up to this point, so a snapshot is never ahead of its log.
func (s *Store[C, R, T]) startSnapshot() {
	body := s.opts.sealSnapshot(s.state.AppendSnapshot(nil))
	mark := s.begin()
	if s.opts.Driver != nil {
		s.owner.write = func() error { return s.writeSnapshot(mark, body) }
		return
	}
	go func() { s.owner.snapDone <- s.writeSnapshot(mark, body) }()
}

// awaitSnapshot waits for the snapshot that is being written. With a driver it writes the pending snapshot
// itself.
func (s *Store[C, R, T]) awaitSnapshot() {
	if write := s.owner.write; write != nil {
		s.owner.write = nil
		s.snapshotWritten(write())
		return
	}
	s.snapshotWritten(<-s.owner.snapDone)
}

// snapshotNow takes a snapshot and waits until it is durable.
func (s *Store[C, R, T]) snapshotNow() error {
	if s.log == nil {
		return nil
	}
	if s.owner.writing {
		s.awaitSnapshot()
	}
	if err := s.commit(); err != nil {
		return err
	}
	// Encode before begin, which reads what the encoded state reflects.
	body := s.opts.sealSnapshot(s.state.AppendSnapshot(nil))
	err := s.writeSnapshot(s.begin(), body)
	s.snapshotWritten(err)
	return err
}

// begin returns the sequences that a snapshot of the current state covers.
func (s *Store[C, R, T]) begin() snapshotMark {
	m := snapshotMark{seq: s.log.LastSeq()}
	if r, ok := s.state.(Reflector); ok {
		m.reflects = r.ReflectsSeq()
	}
	o := &s.owner
	o.writing, o.writingAt, o.sinceSnap, o.touched, o.wanted = true, m, 0, false, false
	return m
}

func (s *Store[C, R, T]) writeSnapshot(mark snapshotMark, body []byte) error {
	if s.opts.BeforeSnapshot != nil {
		if err := s.opts.BeforeSnapshot(mark.reflects); err != nil {
			return fmt.Errorf("durable: what the snapshot reflects is not durable: %w", err)
		}
	}
	meta := wal.SnapshotMeta{Seq: mark.seq, Reflects: mark.reflects}
	return s.log.WriteSnapshot(meta, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

// snapshotWritten records a written snapshot and releases the log records that the retained snapshots cover.
// After a failure, which only makes the next recovery longer, the store tries again after a quarter of
// SnapshotBytes.
func (s *Store[C, R, T]) snapshotWritten(err error) {
	o := &s.owner
	o.writing = false
	if errors.Is(err, wal.ErrStopped) {
		s.sick(err)
	}
	if err != nil {
		s.logf("store %s: no snapshot at %d: %v", s.opts.Dir, o.writingAt.seq, err)
		o.sinceSnap += s.opts.SnapshotBytes * 3 / 4
		return
	}
	if o.seqs[0] != o.writingAt.seq {
		copy(o.seqs[1:], o.seqs[:])
		copy(o.reflects[1:], o.reflects[:])
	}
	o.seqs[0], o.reflects[0] = o.writingAt.seq, o.writingAt.reflects+1
	s.letGo()
}

// letGo releases log records. The store's own log may drop records up to the oldest retained snapshot, from
// which a recovery starts when the newest one is damaged. The other log may drop records up to the position
// that this snapshot reflects (RetainFrom).
func (s *Store[C, R, T]) letGo() {
	oldest := len(s.owner.seqs) - 1
	s.owner.retainFrom.Store(max(s.owner.reflects[oldest], 1))
	s.owner.fallback.Store(s.owner.seqs[oldest])
	if s.opts.KeepAll || s.owner.reflects[oldest] == 0 {
		return
	}
	if err := s.log.DropBefore(s.owner.seqs[oldest] + 1); err != nil {
		s.logf("store %s: old segments stay: %v", s.opts.Dir, err)
		if errors.Is(err, wal.ErrStopped) {
			s.sick(err)
		}
	}
}
