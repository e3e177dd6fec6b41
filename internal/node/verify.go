package node

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// Verifier executes the records of a stream and compares the digests of the writer.
type Verifier struct {
	State   *machine.State
	Digests int // that were compared
}

// Begin begins with a snapshot.
func (v *Verifier) Begin(from *wal.SnapshotFile) error {
	if err := v.State.Read(from.Body()); err != nil {
		return fmt.Errorf("the snapshot of record %d: %w", from.Meta.Seq, err)
	}
	return nil
}

// Take checks a message that counts. The records that the state has pass over.
func (v *Verifier) Take(m *stream.Message, _ stream.State) error {
	compared, err := Execute(v.State, m)
	if compared {
		v.Digests++
	}
	return err
}

// Record returns a record of a stream as the machine takes it.
func Record(pos uint64, payload []byte) machine.Record {
	return machine.Record{Pos: pos, Payload: payload, File: "the stream"}
}
