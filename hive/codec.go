package hive

import (
	"fmt"

	"tickhive/internal/wire"
)

// RecordVersion is the version of records and snapshots.
const RecordVersion = 1

// appendRecord appends the journal form of rec.
func appendRecord(dst []byte, rec *Record) []byte { return wire.Append(dst, rec.code) }

// DecodeRecord decodes the bytes of appendRecord and refuses anything else.
func DecodeRecord(b []byte) (rec Record, err error) {
	if err := wire.Decode(b, rec.code); err != nil {
		return Record{}, fmt.Errorf("hive: record: %w", err)
	}
	return rec, nil
}
