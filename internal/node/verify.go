package node

import (
	"fmt"

	"tickhive/hive"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/marketdata/replica"
)

// Verifier executes the records of the market in a stream, decodes the others, and compares the digests of the writer.
type Verifier struct {
	Market  *replica.Replica
	Digests int // that were compared
}

// Begin reads the market's part of a snapshot.
func (v *Verifier) Begin(from *Snapshot) error { return from.Market(v.Market.Read) }

// Take checks a message that counts.
func (v *Verifier) Take(m *stream.Message) error {
	if m.DigestPos != 0 && m.DigestPos == v.Market.Pos {
		if own := replica.Digest(v.Market.Core); own != m.Digest {
			return fmt.Errorf("at record %d the state differs from the writer's: digest %016x, the writer had %016x",
				v.Market.Pos, own, m.Digest)
		}
		v.Digests++
	}
	for at, record := range m.All() {
		if err := v.record(at, record); err != nil {
			return fmt.Errorf("record %d of log %d: %w", at.Pos, at.Log, err)
		}
	}
	return nil
}

// record executes a record of the market, and decodes one of the agents. The accounts' may be sealed: the checksum of
// the message is their proof.
func (v *Verifier) record(at stream.Place, record []byte) (err error) {
	switch at.Log {
	case stream.Engine:
		return v.Market.Apply(wal.Record{Seq: at.Pos, Payload: record, File: "the stream"})
	case stream.Launchpad:
		_, err = launchpad.DecodeRecord(record)
	case stream.Hive:
		_, err = hive.DecodeRecord(record)
	case stream.Accounts:
	}
	return err
}
