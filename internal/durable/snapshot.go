package durable

import (
	"errors"
	"fmt"
	"io"

	"tickhive/internal/wal"
)

// startSnapshot encodes the state and has it written by another goroutine: the store
// waits for the encoding only. The log is synced up to here, so a snapshot is never
// ahead of its log.
func (s *Store[S, C, R, T, V]) startSnapshot() {
	body := s.state.AppendSnapshot(nil)
	mark := s.begin()
	go func() { s.owner.snapDone <- s.writeSnapshot(mark, body) }()
}

// snapshotNow takes a snapshot and waits for it.
func (s *Store[S, C, R, T, V]) snapshotNow() error {
	if s.log == nil {
		return nil
	}
	if s.owner.writing {
		s.snapshotWritten(<-s.owner.snapDone)
	}
	if err := s.commit(); err != nil {
		return err
	}
	body := s.state.AppendSnapshot(nil) // before begin: what it reflects is known with it
	err := s.writeSnapshot(s.begin(), body)
	s.snapshotWritten(err)
	return err
}

// begin notes what the snapshot of this moment stands for.
func (s *Store[S, C, R, T, V]) begin() snapshotMark {
	m := snapshotMark{seq: s.log.LastSeq()}
	if r, ok := any(s.state).(Reflector); ok {
		m.reflects = r.ReflectsSeq()
	}
	o := &s.owner
	o.writing, o.writingAt, o.sinceSnap, o.folded, o.wanted = true, m, 0, false, false
	return m
}

func (s *Store[S, C, R, T, V]) writeSnapshot(mark snapshotMark, body []byte) error {
	if s.opts.BeforeSnapshot != nil {
		if err := s.opts.BeforeSnapshot(mark.reflects); err != nil {
			return fmt.Errorf("wal: what the snapshot reflects is not durable: %w", err)
		}
	}
	meta := wal.SnapshotMeta{Seq: mark.seq, Reflects: mark.reflects}
	return s.log.WriteSnapshot(meta, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

// snapshotWritten lets go of what the kept snapshots cover. A snapshot that failed costs
// nothing but a longer recovery; the next is tried after a quarter of the usual log.
func (s *Store[S, C, R, T, V]) snapshotWritten(err error) {
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

// letGo publishes what of another log may go, and drops what of our own may: up to the
// oldest kept snapshot, because a damaged newest one falls back to it.
func (s *Store[S, C, R, T, V]) letGo() {
	oldest := len(s.owner.seqs) - 1
	s.owner.retainFrom.Store(max(s.owner.reflects[oldest], 1))
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
