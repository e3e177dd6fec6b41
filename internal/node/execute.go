package node

import (
	"fmt"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/stream"
)

// ErrDiverged reports a state that differs from the writer's.
var ErrDiverged = fmt.Errorf("node: the state differs from the writer's")

// Execute applies the records of a message that counts, behind the state's own position, and compares the digest of the
// writer at its position. compared reports that the message has one.
//
// Errors: ErrDiverged; those of machine.State.Apply, with the record.
func Execute(s *machine.State, m *stream.Message) (compared bool, err error) {
	compare := func() error {
		if m.DigestPos == 0 || m.DigestPos != s.Pos {
			return nil
		}
		compared = true
		if differs := s.Digest().Diff(m.Digest); differs != "" {
			return fmt.Errorf("%w: at record %d, in %s", ErrDiverged, s.Pos, differs)
		}
		return nil
	}
	if err := compare(); err != nil {
		return compared, err
	}
	for pos, payload := range m.All() {
		if pos <= s.Pos {
			continue
		}
		if engine.IsSkip(payload) {
			return compared, fmt.Errorf("record %d: %w", pos, ErrSkips)
		}
		rec := Record(pos, payload)
		if err := s.Apply(&rec); err != nil {
			return compared, fmt.Errorf("record %d: %w", pos, err)
		}
		if err := compare(); err != nil {
			return compared, err
		}
	}
	return compared, nil
}

// ErrSkips reports a record of `journal skip`, which changes the meaning of an earlier one.
var ErrSkips = fmt.Errorf("the writer's journal skips a record, which this node has executed already")
