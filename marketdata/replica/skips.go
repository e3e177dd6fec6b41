package replica

import (
	"errors"
	"fmt"
	"io"

	"tickhive/engine"
	"tickhive/internal/wal"
)

// Skips is the set of records that must not be applied, because a later record names them (engine.Skip). A
// recovery must know it before the replay, so it reads the log twice; the first pass looks at one byte of each
// record.
type Skips map[uint64]bool

// Collect adds the records that the Skip records of rd name.
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

// skip advances the replica over a record that is not applied: a skipped record, or a Skip record itself. It
// still advances the time and the position of the sinks.
func (r *Replica) skip(rec wal.Record) {
	if engine.DecodeCommand(rec.Payload, &r.cmd) == nil {
		r.LastNs = max(r.LastNs, r.cmd.TimeNs)
	}
	r.pass(rec.Seq)
}

// pass moves the position beyond a record that is not applied.
func (r *Replica) pass(pos uint64) {
	r.Pos = pos
	for _, fold := range r.opts.Sinks {
		fold(nil, r.Pos)
	}
}

// PoisonError reports a record that cannot be applied, because the core or a fold panicked. The replica is
// partly changed then and must not be used.
type PoisonError struct {
	File   string
	Offset int64
	Seq    uint64
	Cause  any    // the value of the panic
	Stack  []byte // the stack of the panic
}

// Error returns the file, the record, its offset and the value of the panic.
func (e *PoisonError) Error() string {
	return fmt.Sprintf("%s: record %d at offset %d cannot be carried out: %v", e.File, e.Seq, e.Offset, e.Cause)
}
