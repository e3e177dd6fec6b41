package hive

import (
	"fmt"

	"tickhive/internal/wire"
)

// RecordVersion is the version of records and snapshots.
const RecordVersion = 1

// AppendRecord appends the journal form of rec.
func AppendRecord(dst []byte, rec *Record) []byte {
	c := wire.Writer(dst)
	rec.code(c)
	return c.Bytes()
}

// DecodeRecord is the inverse of AppendRecord; it refuses anything else.
func DecodeRecord(b []byte) (Record, error) {
	var rec Record
	c := wire.Reader(b)
	rec.code(c)
	if err := c.End(); err != nil {
		return Record{}, fmt.Errorf("hive: record: %w", err)
	}
	return rec, nil
}
