package account

import (
	"time"

	"tickhive/server/edge"
	"tickhive/server/encode"
)

// appendStamp appends a time as an ISO 8601 date with milliseconds and Z.
func appendStamp(dst []byte, ns int64) []byte {
	return append(encode.AppendISO(append(dst, '"'), ns, 3), '"')
}

// appendStampOrNull appends a time like appendStamp, or null for 0.
func appendStampOrNull(dst []byte, ns int64) []byte {
	if ns == 0 {
		return append(dst, "null"...)
	}
	return appendStamp(dst, ns)
}

// dateTimeNs parses a date-time member of a body. ok is false for any other text.
func dateTimeNs(text []byte) (ns int64, ok bool) {
	m, ok := edge.ParseDateTime(text)
	if !ok {
		return 0, false
	}
	return m.FloorNs(1), true
}

const msNs = int64(time.Millisecond)
