package replay

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

const (
	secondNs = int64(time.Second)
	dayNs    = 24 * int64(time.Hour)
)

// defaultDay is the day of files that carry a time of day and no date in their name.
var defaultDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var dayInName = regexp.MustCompile(`(?:^|[^0-9])((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?:[^0-9]|$)`)

// dayOf is midnight UTC of the day that a file name carries (2012-06-21 or 20120621), in
// Unix ns.
func dayOf(name string) (int64, bool) {
	m := dayInName.FindStringSubmatch(name)
	if m == nil {
		return defaultDay.UnixNano(), false
	}
	t, err := time.Parse("20060102", m[1]+m[2]+m[3])
	if err != nil {
		return defaultDay.UnixNano(), false
	}
	return t.UnixNano(), true
}

// dateLayouts are the written dates that files and --from may use, UTC unless they say
// otherwise.
var dateLayouts = []string{
	"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"20060102 15:04:05.999999999", "20060102 15:04", "2006-01-02 15:04", "2006-01-02", "20060102",
}

var errTime = errors.New("not a time: want Unix s, ms, us or ns, or a date such as 2026-01-01T00:00:00")

// The years that a recorded time may be of: what int64 ns hold, less some room for
// the day's windows.
const (
	minTimeNs = int64(0)
	maxTimeNs = math.MaxInt64 / 2
)

// parseTime reads a Unix time (its unit is told by its size: seconds below 10^11, then ms,
// us, ns) or a date. day is midnight of the file's day when its name carries one: whole
// numbers below one day of milliseconds then count from it.
func parseTime(s []byte, day int64, hasDay bool) (int64, error) {
	if n, err := parseNumber(s); err == nil && (hasDay || !isDate(s)) {
		if hasDay {
			if ms, err := n.units(0); err == nil && ms >= 0 && ms < dayNs/1e6 {
				return day + ms*1e6, nil
			}
		}
		return n.unixNs()
	}
	text := strings.TrimSpace(string(s))
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return boundTime(t)
		}
	}
	return 0, fmt.Errorf("%q: %w", clip(s), errTime)
}

// isDate tells YYYYMMDD from a Unix second: as seconds these would be days of 1970.
func isDate(s []byte) bool {
	return len(s) == 8 && (s[0] == '1' && s[1] == '9' || s[0] == '2' && s[1] == '0')
}

func boundTime(t time.Time) (int64, error) {
	if y := t.Year(); y < 1970 || y > 2100 {
		return 0, fmt.Errorf("year %d is outside 1970 to 2100", y)
	}
	return t.UnixNano(), nil
}

// unixNs reads a Unix time whose unit is told by its size.
func (n number) unixNs() (int64, error) {
	whole, _, err := n.divide(0)
	if err != nil || whole < 0 {
		return 0, errTime
	}
	unit := 9 // digits from the number's unit to ns
	for limit := int64(100_000_000_000); whole >= limit && unit > 0; limit *= 1000 {
		unit -= 3
	}
	ns, _, err := n.divide(unit)
	if err != nil || ns < minTimeNs || ns > maxTimeNs {
		return 0, errTime
	}
	return ns, nil
}

// secondsToNs reads seconds with up to nine decimals, cutting finer ones.
func secondsToNs(s []byte) (int64, error) {
	n, err := parseNumber(s)
	if err != nil {
		return 0, fmt.Errorf("time %q: %w", clip(s), err)
	}
	ns, _, err := n.divide(9)
	if err != nil || ns < 0 || ns > maxTimeNs {
		return 0, fmt.Errorf("time %q: out of range", clip(s))
	}
	return ns, nil
}

// ParseFrom reads the value of --from: an instant as parseTime takes it, or a time of day
// (10:30 or 10:30:00.5) on the day, UTC, of firstNs, the file's first record.
func ParseFrom(s string, firstNs int64) (int64, error) {
	for _, layout := range []string{"15:04", "15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			since := t.Sub(t.Truncate(24 * time.Hour))
			return firstNs - firstNs%dayNs + int64(since), nil
		}
	}
	ns, err := parseTime([]byte(s), 0, false)
	if err != nil {
		return 0, fmt.Errorf("replay: from: %w", err)
	}
	return ns, nil
}
