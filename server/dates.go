package server

import (
	"time"

	"tickhive/internal/refuse"
)

// moment is a date of a request. It holds seconds and nanoseconds, because the years that a
// request can carry (0 to 9999) exceed the range of int64 nanoseconds.
type moment struct{ sec, nsec int64 }

func (m moment) after(o moment) bool { return m.sec > o.sec || m.sec == o.sec && m.nsec > o.nsec }

// The range of Unix seconds that fit into int64 nanoseconds, with room for rounding up.
const (
	minSec = -9_223_372_035
	maxSec = 9_223_372_035
)

// floorNs returns the latest multiple of unit ns that is not after m, or the nearest second
// that fits into int64.
func (m moment) floorNs(unit int64) int64 {
	if m.sec < minSec {
		return minSec * 1_000_000_000
	}
	if m.sec > maxSec {
		return maxSec * 1_000_000_000
	}
	return m.sec*1_000_000_000 + m.nsec/unit*unit
}

// ceilNs returns the earliest multiple of unit ns that is not before m.
func (m moment) ceilNs(unit int64) int64 {
	ns := m.floorNs(unit)
	if m.nsec%unit != 0 && m.sec >= minSec && m.sec <= maxSec {
		ns += unit
	}
	return ns
}

// date reads a date parameter of the market-data routes (docs/contract/market-data.md#deals):
// YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS with up to 9 fractional digits and an optional Z.
func (c *Ctx) date(name string) (m moment, given bool, err *refuse.Refusal) {
	raw, err := c.raw(name)
	if err != nil || len(raw) == 0 {
		return moment{}, false, err
	}
	m, ok := parseDate(raw)
	if !ok {
		return moment{}, false, refuse.Param(name,
			"The parameter %s must be a UTC date of the form YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS with up to 9 fractional digits and an optional Z.", name)
	}
	return m, true, nil
}

func parseDate(s []byte) (moment, bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return moment{}, false
	}
	year, ok1 := number(s[:4])
	month, ok2 := number(s[5:7])
	day, ok3 := number(s[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return moment{}, false
	}
	var h, m, sec, nsec int
	if s = s[10:]; len(s) > 0 {
		var ok bool
		if h, m, sec, nsec, ok = parseClock(s); !ok {
			return moment{}, false
		}
	}
	t := time.Date(year, time.Month(month), day, h, m, sec, 0, time.UTC)
	return moment{t.Unix(), int64(nsec)}, true
}

// parseClock reads THH:MM:SS[.fraction][Z].
func parseClock(s []byte) (h, m, sec, nsec int, ok bool) {
	if len(s) < 9 || s[0] != 'T' || s[3] != ':' || s[6] != ':' {
		return 0, 0, 0, 0, false
	}
	h, ok1 := number(s[1:3])
	m, ok2 := number(s[4:6])
	sec, ok3 := number(s[7:9])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 59 {
		return 0, 0, 0, 0, false
	}
	s = s[9:]
	if len(s) > 0 && s[len(s)-1] == 'Z' {
		s = s[:len(s)-1]
	}
	if len(s) == 0 {
		return h, m, sec, 0, true
	}
	digits := s[1:]
	if s[0] != '.' || len(digits) == 0 || len(digits) > 9 {
		return 0, 0, 0, 0, false
	}
	nsec, ok = number(digits)
	for range 9 - len(digits) {
		nsec *= 10
	}
	return h, m, sec, nsec, ok
}

// number parses decimal digits; the caller limits their number.
func number(s []byte) (int, bool) {
	n := 0
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

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
