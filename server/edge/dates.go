package edge

import (
	"time"

	"tickhive/internal/refuse"
)

// Moment is a date of a request. It holds seconds and nanoseconds, because the years that a
// request can carry (0 to 9999) exceed the range of int64 nanoseconds.
type Moment struct{ Sec, Nsec int64 }

// After reports whether m is later than o.
func (m Moment) After(o Moment) bool { return m.Sec > o.Sec || m.Sec == o.Sec && m.Nsec > o.Nsec }

// The range of Unix seconds that fit into int64 nanoseconds, with room for rounding up.
const (
	MinSec = -9_223_372_035
	MaxSec = 9_223_372_035
)

// FloorNs returns the latest multiple of unit ns that is not after m, or the nearest second
// that fits into int64.
func (m Moment) FloorNs(unit int64) int64 {
	if m.Sec < MinSec {
		return MinSec * 1_000_000_000
	}
	if m.Sec > MaxSec {
		return MaxSec * 1_000_000_000
	}
	return m.Sec*1_000_000_000 + m.Nsec/unit*unit
}

// CeilNs returns the earliest multiple of unit ns that is not before m.
func (m Moment) CeilNs(unit int64) int64 {
	ns := m.FloorNs(unit)
	if m.Nsec%unit != 0 && m.Sec >= MinSec && m.Sec <= MaxSec {
		ns += unit
	}
	return ns
}

// Date reads a date parameter of the market-data routes (docs/contract/market-data.md#deals):
// YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS with up to 9 fractional digits and an optional Z.
func (c *Ctx) Date(name string) (m Moment, given bool, err *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return Moment{}, false, err
	}
	m, ok := parseDate(raw)
	if !ok {
		return Moment{}, false, refuse.Param(name,
			"The parameter %s must be a UTC date of the form YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS with up to 9 "+
				"fractional digits and an optional Z.", name)
	}
	return m, true, nil
}

func parseDate(s []byte) (Moment, bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return Moment{}, false
	}
	year, ok1 := number(s[:4])
	month, ok2 := number(s[5:7])
	day, ok3 := number(s[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return Moment{}, false
	}
	var h, m, sec, nsec int
	if s = s[10:]; len(s) > 0 {
		var ok bool
		if h, m, sec, nsec, ok = parseClock(s); !ok {
			return Moment{}, false
		}
	}
	t := time.Date(year, time.Month(month), day, h, m, sec, 0, time.UTC)
	return Moment{t.Unix(), int64(nsec)}, true
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

// DateTime reads a date-time parameter of the account routes. Unlike the market-data routes, they
// accept any RFC 3339 offset; without one the time is UTC (docs/contract/accounts.md#accruals).
func (c *Ctx) DateTime(name string) (m Moment, given bool, err *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return Moment{}, false, err
	}
	m, ok := ParseDateTime(raw)
	if !ok {
		return Moment{}, false, refuse.Param(name,
			"The parameter %s must be a date-time such as 2026-01-01T00:00:00Z; any offset is taken, none means UTC. "+
				"A plus sign in a query is written %%2B.", name)
	}
	return m, true, nil
}

// ParseDateTime parses a date like parseDate and also accepts an offset at the end: +02:00.
func ParseDateTime(s []byte) (Moment, bool) {
	const offsetBytes = len("+00:00")
	at := len(s) - offsetBytes
	if at < len("2006-01-02T15:04:05") || s[at+3] != ':' || s[at] != '+' && s[at] != '-' && s[at] != ' ' {
		return parseDate(s)
	}
	hours, ok1 := number(s[at+1 : at+3])
	minutes, ok2 := number(s[at+4:])
	if !ok1 || !ok2 || hours > 23 || minutes > 59 || s[at-1] == 'Z' {
		return Moment{}, false
	}
	m, ok := parseDate(s[:at])
	offset := int64(hours*3600 + minutes*60)
	if s[at] == '-' {
		offset = -offset
	}
	m.Sec -= offset // a plus sign that was not percent-encoded arrives as a space
	return m, ok
}
