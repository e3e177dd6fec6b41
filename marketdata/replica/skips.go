package replica

import (
	"errors"
	"fmt"
	"io"

	"tickhive/engine"
	"tickhive/internal/wal"
)

// Skips holds the records of a log that are never applied, because a later record of the log
// says so (engine.Skip). A recovery needs them before it replays, so it reads the same records
// twice; the first pass looks at one byte of each record.
type Skips map[uint64]bool

// Collect adds the skips named by the reader's records.
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

// skip passes over a record that is not applied: a skipped record or a skip itself. The time and
// the position that sinks have seen still advance.
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

// PoisonError names a record that cannot be applied, because core or a fold panicked. The
// replica is then half changed and must not be used.
type PoisonError struct {
	File   string
	Offset int64
	Seq    uint64
	Cause  any    // value of the panic
	Stack  []byte // stack of the panic
}

// Error names the record and the value of the panic.
func (e *PoisonError) Error() string {
	return fmt.Sprintf("%s: record %d at offset %d cannot be carried out: %v", e.File, e.Seq, e.Offset, e.Cause)
}
