package replica

import (
	"errors"
	"fmt"
	"io"

	"tickhive/engine"
	"tickhive/internal/wal"
)

// Skips are the records of a log that are never carried out, because a later record of the
// log says so (engine.Skip). A recovery needs them before it replays, so it reads what it is
// about to replay twice; the first time it looks at one byte of each record.
type Skips map[uint64]bool

// Collect adds the skips that a reader's records name.
func (s Skips) Collect(rd *wal.Reader) error {
	var cmd engine.Command
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !engine.IsSkip(rec.Payload) {
			continue
		}
		if err := engine.DecodeCommand(rec.Payload, &cmd); err != nil {
			return fmt.Errorf("%s: record %d at offset %d: %w", rec.File, rec.Seq, rec.Offset, err)
		}
		s[uint64(cmd.Order)] = true
	}
}

// pass goes past a record that is not carried out: one that is skipped, or says what is. Time
// and the position that sinks have seen go on.
func (r *Replica) pass(rec wal.Record) {
	if engine.DecodeCommand(rec.Payload, &r.cmd) == nil {
		r.LastNs = max(r.LastNs, r.cmd.TimeNs)
	}
	r.Pos = rec.Seq
	for _, fold := range r.opts.Sinks {
		fold(nil, r.Pos)
	}
}

// PoisonError is a record that cannot be carried out: core or a fold panicked. What was
// folding it is half changed and of no use any more.
type PoisonError struct {
	File   string
	Offset int64
	Seq    uint64
	Cause  any    // of the panic
	Stack  []byte // where it was
}

// Error says which record it is, and what the panic said.
func (e *PoisonError) Error() string {
	return fmt.Sprintf("%s: record %d at offset %d cannot be carried out: %v", e.File, e.Seq, e.Offset, e.Cause)
}
