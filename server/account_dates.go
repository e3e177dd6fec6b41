package server

import (
	"time"

	"tickhive/internal/refuse"
)

// dateTime reads a date-time parameter of the account routes. Unlike the market-data routes, they
// accept any RFC 3339 offset; without one the time is UTC (docs/contract/accounts.md#accruals).
func (c *Ctx) dateTime(name string) (m moment, given bool, err *refuse.Refusal) {
	raw, err := c.raw(name)
	if err != nil || len(raw) == 0 {
		return moment{}, false, err
	}
	m, ok := parseDateTime(raw)
	if !ok {
		return moment{}, false, refuse.Param(name,
			"The parameter %s must be a date-time such as 2026-01-01T00:00:00Z; any offset is taken, none means UTC. A plus sign in a query is written %%2B.", name)
	}
	return m, true, nil
}

// parseDateTime is parseDate that also accepts an offset at the end, for example +02:00.
func parseDateTime(s []byte) (moment, bool) {
	const offsetBytes = len("+00:00")
	at := len(s) - offsetBytes
	if at < len("2006-01-02T15:04:05") || s[at+3] != ':' || s[at] != '+' && s[at] != '-' && s[at] != ' ' {
		return parseDate(s)
	}
	hours, ok1 := number(s[at+1 : at+3])
	minutes, ok2 := number(s[at+4:])
	if !ok1 || !ok2 || hours > 23 || minutes > 59 || s[at-1] == 'Z' {
		return moment{}, false
	}
	m, ok := parseDate(s[:at])
	offset := int64(hours*3600 + minutes*60)
	if s[at] == '-' {
		offset = -offset
	}
	m.sec -= offset // a plus sign that was not encoded arrives as a space
	return m, ok
}

// appendStamp appends a time in the project's own format: ISO with milliseconds and Z.
func appendStamp(dst []byte, ns int64) []byte {
	return append(appendISO(append(dst, '"'), ns, 3), '"')
}

// appendStampOrNull is appendStamp, null for 0.
func appendStampOrNull(dst []byte, ns int64) []byte {
	if ns == 0 {
		return append(dst, "null"...)
	}
	return appendStamp(dst, ns)
}

// dateTimeNs reads a date-time member of a body; ok is false for a text that is none.
func dateTimeNs(text []byte) (ns int64, ok bool) {
	m, ok := parseDateTime(text)
	if !ok {
		return 0, false
	}
	return m.floorNs(1), true
}

const msNs = int64(time.Millisecond)
