package public

import (
	"bytes"
	"sort"
	"strconv"

	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// udfSeries is a series of candles, oldest first.
type udfSeries interface {
	Len() int
	At(i int) marketdata.Candle
	// Search returns the index of the first candle that starts at sec or later.
	Search(sec int64) int
}

// weeks are candles of weeks, which begin on Monday in UTC.
type weeks []marketdata.Candle

const (
	weekSec = 7 * 24 * 3600
	// mondaySec is the start of the first week: 1970 began on a Thursday.
	mondaySec = -3 * 24 * 3600
)

// weeksOf folds the candles of days, at most 7,301.
func weeksOf(days *marketdata.Candles) weeks {
	var all weeks
	for i := range days.Len() {
		day := days.At(i)
		start := day.Start - (day.Start-mondaySec)%weekSec
		if n := len(all); n > 0 && all[n-1].Start == start {
			all[n-1].Merge(&day)
			continue
		}
		day.Start = start
		all = append(all, day)
	}
	return all
}

// Len implements udfSeries.
func (w weeks) Len() int { return len(w) }

// At implements udfSeries.
func (w weeks) At(i int) marketdata.Candle { return w[i] }

// Search implements udfSeries.
func (w weeks) Search(sec int64) int {
	return sort.Search(len(w), func(i int) bool { return w[i].Start >= sec })
}

// maxFraction is the number of fractional digits of a Unix second that are read.
const maxFraction = 18

// udfSecond returns a parameter in Unix seconds, which may have a fraction: JavaScript code divides milliseconds. Bars
// start at whole seconds, so those from it on, and those before it, are bounded by the next whole second, above.
func udfSecond(c *edge.Ctx, name string) (below, above int64, given bool, err *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return 0, 0, false, err
	}
	whole, fraction, pointed := bytes.Cut(raw, []byte("."))
	digits := bytes.TrimPrefix(whole, []byte("-"))
	if len(digits) == 0 || !isDigits(digits) || !isDigits(fraction) || pointed != (len(fraction) > 0) ||
		len(fraction) > maxFraction {
		return 0, 0, false, refuse.Param(name, "The parameter %s must be Unix seconds, with a fraction or without.",
			name)
	}
	sec, bad := strconv.ParseInt(string(whole), 10, 64)
	if bad != nil || sec < -udfMaxSecond || sec > udfMaxSecond {
		return 0, 0, false, refuse.Param(name, "The parameter %s must be from %d to %d.", name, -udfMaxSecond,
			udfMaxSecond)
	}
	below, above = sec, sec
	if len(bytes.Trim(fraction, "0")) > 0 {
		if raw[0] == '-' {
			below--
		} else {
			above++
		}
	}
	return below, above, true, nil
}

func isDigits(text []byte) bool {
	for _, b := range text {
		if b-'0' > 9 {
			return false
		}
	}
	return true
}
