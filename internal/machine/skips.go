package machine

import (
	"fmt"

	"github.com/tickhive/tickhive/engine"
)

// Skips is the set of records that must not be applied, because a later record names them (engine.Skip). A
// recovery must know it before the replay, so it reads the log twice; the first pass looks at one byte of each
// record.
type Skips map[uint64]bool

// skip advances the state over a record that is not applied: a skipped record, or a Skip record itself. It
// still advances the time and the position of the folds.
func (s *State) skip(rec *Record) {
	if engine.DecodeCommand(rec.Payload, &s.cmd) == nil {
		s.LastNs = max(s.LastNs, s.cmd.TimeNs)
	}
	s.pass(rec.Pos)
}

// PoisonError reports a record that cannot be applied, because the core or a fold panicked. The state is
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
