package hive

import (
	"fmt"

	"tickhive/internal/wire"
)

// RecordVersion is the version of the encoding of records and snapshots.
const RecordVersion = 4

// appendRecord appends the encoding of rec for the log.
func appendRecord(dst []byte, rec *Record) []byte { return wire.Append(dst, rec.code) }

// DecodeRecord decodes the result of appendRecord. Any other bytes are an error.
func DecodeRecord(b []byte) (rec Record, err error) {
	if err := wire.Decode(b, rec.code); err != nil {
		return Record{}, fmt.Errorf("hive: record: %w", err)
	}
	return rec, nil
}
