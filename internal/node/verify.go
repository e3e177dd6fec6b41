package node

import (
	"fmt"

	"tickhive/internal/machine"
	"tickhive/internal/stream"
)

// Verifier executes the records of a stream and compares the digests of the writer.
type Verifier struct {
	State   *machine.State
	Digests int // that were compared
}

// Begin begins with a snapshot.
func (v *Verifier) Begin(from *Snapshot) error { return from.Body(v.State.Read) }

// Take checks a message that counts.
func (v *Verifier) Take(m *stream.Message) error {
	if m.DigestPos != 0 && m.DigestPos == v.State.Pos {
		if own := machine.Digest(v.State.Core); own != m.Digest {
			return fmt.Errorf("at record %d the state differs from the writer's: digest %016x, the writer had %016x",
				v.State.Pos, own, m.Digest)
		}
		v.Digests++
	}
	for pos, record := range m.All() {
		rec := Record(pos, record)
		if err := v.State.Apply(&rec); err != nil {
			return fmt.Errorf("record %d: %w", pos, err)
		}
	}
	return nil
}

// Record returns a record of a stream as the machine takes it.
func Record(pos uint64, payload []byte) machine.Record {
	return machine.Record{Pos: pos, Payload: payload, File: "the stream"}
}
