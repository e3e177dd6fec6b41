package format

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
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

// dateLayout is one way to write a time.
type dateLayout struct {
	layout string
	day    bool // it has no time of day
	utc    bool // it ends with the name of UTC
}

// dateLayouts lists the layouts of dates in files and in --from that can be read in one way only. A time without a
// zone is in the zone of the layout.
var dateLayouts = writtenAs(
	"2006-01-02", "20060102", "2006/1/2", "2006.01.02", "02.01.2006", "2-Jan-06", "2-Jan-2006", "Jan 2, 2006",
)

// writtenAs returns the layouts of these dates, alone and with a time of day and a zone behind them.
func writtenAs(dates ...string) (out []dateLayout) {
	for _, date := range dates {
		for _, clock := range []string{"T15:04:05", " 15:04:05", " 15:04", "T15:04"} {
			for _, zone := range []string{"Z07:00", ""} { // the commonest first
				out = append(out, dateLayout{layout: date + clock + zone})
			}
		}
		out = append(out, dateLayout{layout: date, day: true})
	}
	for _, date := range dates {
		for _, clock := range []string{" 15:04:05", " 15:04", "T15:04:05", " 3:04:05 PM", " 3:04 PM"} {
			for _, zone := range []string{"-0700", "-07", " -0700", " Z07:00", " UTC", " GMT", " GMT-0700"} {
				utc := strings.HasSuffix(zone, "UTC") || strings.HasSuffix(zone, "GMT")
				out = append(out, dateLayout{layout: date + clock + zone, utc: utc})
			}
			if strings.HasSuffix(clock, "PM") {
				out = append(out, dateLayout{layout: date + clock})
			}
		}
	}
	for _, special := range []string{"2006-01-02D15:04:05", "2006-01-02 03-PM", "20060102 150405"} {
		out = append(out, dateLayout{layout: special})
	}
	return out
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
	timeDayMs  // ms since midnight of the date in the file's name
	timeDayS   // s since that midnight
	timeDotnet // units of 100 ns since the year 1
	timeExcel  // days since 1899-12-30
	timeWritten
	timeWrittenDay // a date without a time of day
)

func (k timeKind) String() string {
	return [...]string{
		"nothing", "Unix s", "Unix ms", "Unix us", "Unix ns", "ms of the file's day", "s of the file's day",
		"ticks of .NET", "days of a spreadsheet", "a written date", "a written date",
	}[k]
}

// isUnix reports whether the notation is a Unix time in some unit.
func (k timeKind) isUnix() bool { return k >= timeUnix && k <= timeNs }

// OneUnit returns the notation to compare with the other rows of a file. Dates with and without a time of day may be
// mixed, so both give timeWritten.
func (k timeKind) OneUnit() timeKind { return min(k, timeWritten) }

const (
	dotnetEpoch = 621_355_968_000_000_000 // .NET ticks of 1970-01-01
	dotnetFirst = 630_822_816_000_000_000 // of 2000-01-01
	dotnetLast  = 662_380_416_000_000_000 // of 2100-01-01
	excelEpoch  = -25_569 * 24 * 3600     // 1899-12-30, Unix s
)

// timeReader reads the times of one file.
type timeReader struct {
	zone   *time.Location
	kind   timeKind // notation of the times; timeNone: by their values
	layout string   // of written times; "": one of dates

	day    int64 // midnight UTC of the file's day, Unix ns
	hasDay bool

	dates []dateLayout
	last  int  // index in dates of the layout of the time before
	local bool // the time before was written without a zone

	zoned, unzoned int // written times that name their zone, and that do not
}

// earliest returns the first time at which the clock in the zone shows what at shows: it shows an hour twice when
// daylight saving time ends.
func (t *timeReader) earliest(at time.Time) time.Time {
	if t.zone == time.UTC || !t.local {
		return at
	}
	if before := at.Add(-time.Hour); before.Hour() == at.Hour() {
		return before
	}
	return at
}

// again returns the time at which the clock in the zone shows the time before a second time. ok is false when it does
// not.
func (t *timeReader) again(ns int64) (second int64, ok bool) {
	if t.zone == time.UTC || !t.local {
		return 0, false
	}
	at := time.Unix(0, ns).In(t.zone)
	after := at.Add(time.Hour)
	return after.UnixNano(), after.Hour() == at.Hour()
}

// readTime reads a Unix time or a date. The size of a Unix time determines its unit: seconds below 10^11, then
// ms, us, ns. With hasDay, whole numbers below the ms of a day count from midnight of the file's day.
func readTime(s []byte, day int64, hasDay bool) (int64, timeKind, error) {
	t := timeReader{zone: time.UTC, day: day, hasDay: hasDay, dates: dateLayouts}
	return t.read(s)
}

// read reads a time.
func (t *timeReader) read(s []byte) (int64, timeKind, error) {
	switch t.kind {
	case timeNone:
		return t.guess(s)
	case timeWritten:
		return t.written(s)
	case timeUnix, timeMs, timeUs, timeNs:
		ns, err := readUnix(s, t.kind)
		return ns, t.kind, err
	default:
	}
	n, err := ParseDecimal(s)
	if err != nil {
		return 0, timeNone, flawAt(0, remedyTime, "%q is not a time", clip(s))
	}
	ns, ok := t.counted(n)
	if !ok || ns < minTimeNs || ns > maxTimeNs {
		return 0, timeNone, flawAt(0, remedyTime, "time %q, %s, is outside 1980 to 2100", clip(s), t.kind)
	}
	return ns, t.kind, nil
}

// counted returns the time of a number that counts from another moment than 1970.
func (t *timeReader) counted(n Decimal) (int64, bool) {
	var v int64
	var err error
	switch t.kind {
	case timeDotnet:
		v, err = n.Units(0)
		if v < dotnetFirst || v > dotnetLast {
			return 0, false
		}
		return (v - dotnetEpoch) * 100, err == nil
	case timeDayS:
		v, err = n.Floor(9)
		return t.midnight(v), err == nil && v >= 0 && v < dayNs
	case timeDayMs:
		v, err = n.Floor(6)
		return t.midnight(v), err == nil && v >= 0 && v < dayNs
	default: // a day of a spreadsheet: its fraction is rounded to ms, because it was a binary float
		v, err = n.Floor(11)
		if err != nil || v < 0 {
			return 0, false
		}
		day, part := v/100_000_000_000, v%100_000_000_000
		ms := (part*864 + 500_000) / 1_000_000
		at := time.Unix(excelEpoch+day*24*3600, 0).UTC()
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, int(ms)*1e6, t.zone).UnixNano(), day < 73_051
	}
}

// midnight returns the time at which a clock in the zone shows ns after midnight of the file's day.
func (t *timeReader) midnight(ns int64) int64 {
	if t.zone == time.UTC {
		return t.day + ns
	}
	at := time.Unix(0, t.day+ns).UTC()
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(),
		t.zone).UnixNano()
}

// guess reads a time whose notation its value determines.
func (t *timeReader) guess(s []byte) (int64, timeKind, error) {
	n, err := ParseDecimal(s)
	if err != nil {
		return t.written(s)
	}
	if t.hasDay {
		if ms, err := n.Units(0); err == nil && ms >= 0 && ms < dayNs/1e6 {
			return t.midnight(ms * 1e6), timeDayMs, nil
		}
	}
	if date := undashed(s); date != "" {
		return 0, timeNone, flawAt(0, "write "+date+", or a Unix time, or name the --time-format",
			"time %q: a date without dashes reads as a number", clip(s))
	}
	if isRounded(s) {
		return 0, timeNone, flawAt(0, "fetch the file again, or format the column as a number before it is saved",
			"time %q: a spreadsheet has rounded it", clip(s))
	}
	if v, err := n.Units(0); err == nil && v >= dotnetFirst && v < dotnetLast {
		return 0, timeNone, flawAt(0, "give --time-format dotnet, or --time-format ns",
			"time %q is %s in ticks of .NET and %s as Unix ns", clip(s), NsText((v-dotnetEpoch)*100), NsText(v))
	}
	ns, kind, err := unixNs(n)
	if err != nil {
		return 0, timeNone, flawAt(0, remedyTime, "time %q is out of range", clip(s))
	}
	if t.hasDay && ns < minTimeNs {
		return 0, timeNone, flawAt(0, "write whole milliseconds of the file's day, or a Unix time, or give "+
			"--time-format day-s or day-ms", "time %q is %s as a Unix time", clip(s), NsText(ns))
	}
	if ns < minTimeNs {
		return 0, timeNone, flawAt(0, remedyTime, "time %q is %s as a Unix time, before 1980", clip(s), NsText(ns))
	}
	return ns, kind, nil
}

// isRounded reports whether a number was written with an exponent and fewer digits than it has before its point.
func isRounded(s []byte) bool {
	e := bytes.IndexAny(s, "eE")
	if e < 0 {
		return false
	}
	exponent, _ := strconv.Atoi(strings.TrimPrefix(string(s[e+1:]), "+"))
	return len(bytes.Replace(s[:e], []byte{'.'}, nil, 1)) <= exponent
}

// written reads a written date.
func (t *timeReader) written(s []byte) (int64, timeKind, error) {
	text := strings.TrimSpace(string(s))
	if t.layout != "" {
		const clock = "150405"
		if day, ok := strings.CutSuffix(t.layout, clock); ok && len(text) == len(t.layout)-1 { // 93000 for 093000
			text = text[:len(day)] + "0" + text[len(day):]
		}
		at, err := time.ParseInLocation(t.layout, text, t.zone)
		if err == nil && at.Year() == 0 && t.hasDay { // the layout has no date
			return t.midnight(int64(at.Sub(at.Truncate(24 * time.Hour)))), timeWritten, nil
		}
		t.local = !hasZone(t.layout)
		if err == nil {
			err = t.skipped(at, t.layout, text)
		}
		return t.dated(s, at, dateLayout{}, err)
	}
	if len(t.dates) == 0 {
		return 0, timeNone, flawAt(0, "give --time-format '01/02/2006 15:04:05' if the month is first, "+
			"'02/01/2006 15:04:05' if the day is", "time %q: the file does not show which number is the month", clip(s))
	}
	for i := range t.dates {
		at := t.last + i
		if at >= len(t.dates) {
			at -= len(t.dates)
		}
		l := t.dates[at]
		zone := t.zone
		if l.utc {
			zone = time.UTC
		}
		parsed, err := time.ParseInLocation(l.layout, text, zone)
		if err != nil {
			continue
		}
		t.last, t.local = at, !l.utc && !hasZone(l.layout)
		return t.dated(s, parsed, l, t.skipped(parsed, l.layout, text))
	}
	return t.dated(s, time.Time{}, dateLayout{}, errNumber)
}

// errSkipped reports a time that the clock in the zone never shows.
var errSkipped = errors.New("no such time")

// skipped returns errSkipped for a time of the hour that the clock in the zone leaves out when daylight saving time
// begins: text, of which at was made, says another time of day than at.
func (t *timeReader) skipped(at time.Time, layout, text string) error {
	if t.zone == time.UTC || !t.local {
		return nil
	}
	_, before := at.Add(-2 * time.Hour).Zone()
	if _, after := at.Add(2 * time.Hour).Zone(); after <= before {
		return nil
	}
	if said, err := time.Parse(layout, text); err == nil && (said.Hour() != at.Hour() || said.Minute() != at.Minute()) {
		return errSkipped
	}
	return nil
}

// dated returns a written time, unless it is not one.
func (t *timeReader) dated(s []byte, at time.Time, l dateLayout, err error) (int64, timeKind, error) {
	if errors.Is(err, errSkipped) {
		return 0, timeNone, flawAt(0, "give another --timezone", "time %q: the clock of %s leaves it out", clip(s),
			t.zone)
	}
	if err != nil {
		remedy := remedyTime
		if t.layout != "" {
			remedy = "give another --time-format"
		}
		return 0, timeNone, flawAt(0, remedy, "%q is not a time", clip(s))
	}
	if y := at.Year(); y < 1970 || y > 2100 {
		return 0, timeNone, flawAt(0, remedyTime, "time %q: year %d is outside 1970 to 2100", clip(s), y)
	}
	if t.local {
		t.unzoned++
	} else {
		t.zoned++
	}
	if l.day {
		return at.UnixNano(), timeWrittenDay, nil
	}
	at = t.earliest(at)
	return at.UnixNano(), timeWritten, nil
}

// hasZone reports whether times of a layout name their zone.
func hasZone(layout string) bool {
	return strings.Contains(layout, "07") || strings.Contains(layout, "MST")
}

// readDate reads a written date.
func readDate(s []byte) (int64, timeKind, error) {
	t := timeReader{zone: time.UTC, dates: dateLayouts}
	return t.written(s)
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

// slashed matches a date of numbers with slashes, in which day and month may stand in either order.
var slashed = regexp.MustCompile(`^"?(\d{1,2})/(\d{1,2})/(?:\d{4}|\d\d)\b`)

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

// ParseFrom reads a time of a recording that a user gives: a time as readTime reads it, a date 20260101, or a time of
// day (10:30 or 10:30:00.5). A time of day is on the UTC day of firstNs, the time of the first record.
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
		return 0, fmt.Errorf("%w; %s, or a time of day such as 10:30", err, remedyTime)
	}
	return ns, nil
}
