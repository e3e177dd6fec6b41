package format

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// Lengths of time in ns.
const (
	secondNs = int64(time.Second)
	dayNs    = 24 * int64(time.Hour)
)

// NsText returns a Unix time as text for messages.
func NsText(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// defaultDay is the date for files with times of day and no date in their name.
var defaultDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var dayInName = regexp.MustCompile(`(?:^|[^0-9])((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?:[^0-9]|$)`)

// dayOf returns midnight UTC of the date in a file name (2012-06-21 or 20120621), in Unix ns.
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

// dateLayouts lists the layouts of dates in files and in --from. Without a zone they are UTC.
var dateLayouts = []string{
	"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"20060102 15:04:05.999999999", "20060102 15:04", "2006-01-02 15:04", "2006-01-02", "20060102",
}

// remedyUnit begins the remedies for times in another unit than the format has.
const remedyUnit = "times of this format are "

// remedyTime is the remedy for a time that cannot be read.
const remedyTime = "write a Unix time in s, ms, us or ns, or a date such as 2026-01-01T10:30:00Z"

// maxTimeNs bounds recorded times. It leaves room in an int64 for the windows of a day.
const maxTimeNs = math.MaxInt64 / 2

// minTimeNs is the earliest Unix time that a file may give as a number, 1980-01-01. A smaller number is
// something else: a date without dashes, the number of a row, a spreadsheet's day, seconds of the day, or a
// time in another unit.
const minTimeNs = 315_532_800 * secondNs

// timeKind is the notation of a time.
type timeKind uint8

// The notations. timeMs, timeUs and timeNs are Unix times in other units.
const (
	timeNone timeKind = iota
	timeUnix          // Unix seconds
	timeMs
	timeUs
	timeNs
	timeDayMs // ms since midnight of the date in the file's name
	timeWritten
	timeWrittenDay // a date without a time of day
)

func (k timeKind) String() string {
	return [...]string{
		"nothing", "Unix s", "Unix ms", "Unix us", "Unix ns", "ms of the file's day", "a written date",
		"a written date",
	}[k]
}

// OneUnit returns the notation to compare with the other rows of a file, which must all use one notation. Dates with
// and without a time of day may be mixed, so both give timeWritten.
func (k timeKind) OneUnit() timeKind { return min(k, timeWritten) }

// readTime reads a Unix time or a date. The size of a Unix time determines its unit: seconds below 10^11, then
// ms, us, ns. With hasDay, whole numbers below the ms of a day count from midnight of the file's day.
func readTime(s []byte, day int64, hasDay bool) (int64, timeKind, error) {
	n, err := ParseDecimal(s)
	if err != nil {
		return readDate(s)
	}
	if hasDay {
		if ms, err := n.Units(0); err == nil && ms >= 0 && ms < dayNs/1e6 {
			return day + ms*1e6, timeDayMs, nil
		}
	}
	if date := undashed(s); date != "" {
		return 0, timeNone, flawAt(0, "write "+date+", or a Unix time",
			"time %q: a date without dashes reads as a number", clip(s))
	}
	ns, kind, err := unixNs(n)
	if err != nil {
		return 0, timeNone, flawAt(0, remedyTime, "time %q is out of range", clip(s))
	}
	if hasDay && ns < minTimeNs {
		return 0, timeNone, flawAt(0, "write whole milliseconds of the file's day, or a Unix time",
			"time %q is %s as a Unix time", clip(s), NsText(ns))
	}
	if ns < minTimeNs {
		return 0, timeNone, flawAt(0, remedyTime, "time %q is %s as a Unix time, before 1980", clip(s), NsText(ns))
	}
	return ns, kind, nil
}

// readDate reads a written date.
func readDate(s []byte) (int64, timeKind, error) {
	text := strings.TrimSpace(string(s))
	for _, layout := range dateLayouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if y := t.Year(); y < 1970 || y > 2100 {
			return 0, timeNone, flawAt(0, remedyTime, "time %q: year %d is outside 1970 to 2100", clip(s), y)
		}
		if len(layout) == len("2006-01-02") {
			return t.UnixNano(), timeWrittenDay, nil
		}
		return t.UnixNano(), timeWritten, nil
	}
	return 0, timeNone, flawAt(0, remedyTime, "%q is not a time", clip(s))
}

// undashedLayouts maps a number of digits to the layout of a date of that many digits and to the layout in
// which the remedy writes it.
var undashedLayouts = map[int][2]string{
	len("20060102"):          {"20060102", "2006-01-02"},
	len("200601021504"):      {"200601021504", "2006-01-02T15:04:05"},
	len("20060102150405"):    {"20060102150405", "2006-01-02T15:04:05"},
	len("20060102150405000"): {"20060102150405.000", "2006-01-02T15:04:05.000"},
}

// undashed returns the date from 1900 to 2100 that the digits of s form, with dashes; "" when they form none.
func undashed(s []byte) string {
	layouts, ok := undashedLayouts[len(s)]
	if !ok || s[0] != '1' && s[0] != '2' {
		return ""
	}
	text := string(s)
	if len(s) == len("20060102150405000") {
		text = text[:14] + "." + text[14:]
	}
	t, err := time.Parse(layouts[0], text)
	if err != nil || t.Year() < 1900 || t.Year() > 2100 {
		return ""
	}
	return t.Format(layouts[1])
}

// unixNs reads a Unix time, whose size determines its unit.
func unixNs(n Decimal) (int64, timeKind, error) {
	whole, err := n.Floor(0)
	if err != nil || whole < 0 {
		return 0, timeNone, errNumber
	}
	digits, kind := 9, timeUnix // number of digits from the time's unit to ns
	for limit := int64(100_000_000_000); whole >= limit && digits > 0; limit *= 1000 {
		digits -= 3
		kind++
	}
	ns, err := n.Floor(digits)
	if err != nil || ns < 0 || ns > maxTimeNs {
		return 0, timeNone, errNumber
	}
	return ns, kind, nil
}

var timeOfDay = regexp.MustCompile(`^[0-2]?\d:[0-5]\d(:[0-5]\d(\.\d+)?)?$`)

// isTimeOfDay reports whether a text is a time of day: 10:30, 10:30:00 or 10:30:00.5.
func isTimeOfDay(s []byte) bool {
	return len(s) > 3 && len(s) < 20 && (s[1] == ':' || s[2] == ':') && timeOfDay.Match(s)
}

// joinTime returns the time of a written date and a time of day, UTC.
func joinTime(day, clock []byte) (ns int64, ok bool) {
	midnight, _, err := readDate(day)
	if err != nil || len(day) != len("2006-01-02") && len(day) != len("20060102") || !isTimeOfDay(clock) {
		return 0, false
	}
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		if t, err := time.Parse(layout, string(clock)); err == nil {
			return midnight + int64(t.Sub(t.Truncate(24*time.Hour))), true
		}
	}
	return 0, false
}

// readUnix reads a Unix time in a known unit. It cuts off parts finer than ns.
func readUnix(s []byte, unit timeKind) (int64, error) {
	ns, fits, err := readScaled(s, 9-3*int(unit-timeUnix))
	switch {
	case err != nil:
		return 0, err
	case !fits:
		return 0, flawAt(0, remedyUnit+unit.String(), "time %q is out of range", clip(s))
	case ns < minTimeNs:
		return 0, flawAt(0, remedyUnit+unit.String(), "time %q is %s, before 1980", clip(s),
			NsText(ns))
	}
	return ns, nil
}

// readSeconds reads seconds with decimals. It cuts off parts finer than ns.
func readSeconds(s []byte) (int64, error) {
	ns, fits, err := readScaled(s, 9)
	if err == nil && !fits {
		err = fmt.Errorf("time %q: out of range", clip(s))
	}
	return ns, err
}

// readScaled reads a number with the unit 10^digits ns. fits reports that the result is in range.
func readScaled(s []byte, digits int) (ns int64, fits bool, err error) {
	n, err := ParseDecimal(s)
	if err != nil {
		return 0, false, quoted("time", s, err)
	}
	ns, err = n.Floor(digits)
	return ns, err == nil && ns >= 0 && ns <= maxTimeNs, nil
}

// ParseFrom reads the value of --from: a time as readTime reads it, a date 20260101, or a time of day (10:30 or
// 10:30:00.5). A time of day is on the UTC day of firstNs, the time of the first record.
func ParseFrom(s string, firstNs int64) (int64, error) {
	for _, layout := range []string{"15:04", "15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			since := t.Sub(t.Truncate(24 * time.Hour))
			return firstNs - firstNs%dayNs + int64(since), nil
		}
	}
	ns, _, err := readDate([]byte(s))
	if n, bad := ParseDecimal([]byte(s)); bad == nil && undashed([]byte(s)) == "" {
		ns, _, err = unixNs(n)
	}
	if err != nil {
		return 0, fmt.Errorf("replay: from %q: %w; %s, or a time of day such as 10:30", s, err, remedyTime)
	}
	return ns, nil
}
