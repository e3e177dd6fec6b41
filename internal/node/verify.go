package node

import (
	"crypto/rand"
	"errors"
	"fmt"

	"tickhive/accounts"
	"tickhive/internal/machine"
	"tickhive/internal/seal"
	"tickhive/internal/stream"
)

// Verifier executes the records of a stream and compares the digests of the writer.
type Verifier struct {
	State   *machine.State
	Digests int       // that were compared
	Secrets *seal.Key // opens the records of the accounts; State has no accounts without it
}

// Begin begins with a snapshot.
func (v *Verifier) Begin(from *Snapshot) error {
	s := v.State
	if s.Money != nil {
		body, err := v.Secrets.Open(from.Store(stream.Accounts), seal.Snapshot)
		if err != nil {
			return err
		}
		if s.Money, err = accounts.DecodeSnapshot(body, accounts.Options{Random: rand.Reader}); err != nil {
			return err
		}
	}
	return from.Market(s.Read)
}

// Take checks a message that counts.
func (v *Verifier) Take(m *stream.Message) error {
	if m.DigestPos != 0 && m.DigestPos == v.State.Pos {
		if own := machine.Digest(v.State.Core); own != m.Digest {
			return fmt.Errorf("at record %d the state differs from the writer's: digest %016x, the writer had %016x",
				v.State.Pos, own, m.Digest)
		}
		v.Digests++
	}
	for at, record := range m.All() {
		rec, err := Record(at, record), error(nil)
		if rec.Log == machine.OfAccounts && v.State.Money != nil {
			rec.Payload, err = v.Secrets.Open(record, seal.Record)
		}
		if err = errors.Join(err, v.State.Apply(&rec)); err != nil {
			return fmt.Errorf("record %d of log %d: %w", at.Pos, at.Log, err)
		}
	}
	return nil
}

// Record returns a record of a stream as the machine takes it.
func Record(at stream.Place, payload []byte) machine.Record {
	log := machine.Journal
	if at.Log == stream.Accounts {
		log = machine.OfAccounts
	}
	return machine.Record{Log: log, Pos: at.Pos, Payload: payload, File: "the stream"}
}
