package marketdata

import (
	"slices"

	"tickhive/internal/fixed"
)

// Interval is one of the ten candle lengths of docs/contract/api.md.
type Interval uint8

// The intervals, shortest first. Month and Year follow the calendar in UTC.
const (
	Minute Interval = iota
	Minutes3
	Minutes5
	Minutes15
	Minutes30
	Hour
	Hour4
	Day
	Month
	Year
	Intervals = 10
)

var intervalNames = [Intervals]string{
	"minute", "minutes3", "minutes5", "minutes15", "minutes30", "hour", "hour4", "day", "month", "year",
}

func (i Interval) String() string { return intervalNames[i] }

// IntervalNames returns the names of all intervals, shortest first.
func IntervalNames() []string { return slices.Clone(intervalNames[:]) }

// ParseInterval returns the interval with this wire name.
func ParseInterval(name string) (Interval, bool) {
	for i, n := range intervalNames {
		if n == name {
			return Interval(i), true
		}
	}
	return 0, false
}

// Candle holds open, high, low, close and volume of one interval that has trades.
type Candle struct {
	Start                  int64      // Unix seconds of the interval's boundary
	Open, High, Low, Close int64      // ticks
	Volume                 fixed.U128 // lots; saturates at 2^128-1 (after 2^65 trades of the largest size)
	QuoteVolume            fixed.U128 // product units; saturates at 2^128-1 (after 2^32 trades of the largest size)
	Trades                 int64

	// TakerVolume and TakerQuote are the parts of Volume and QuoteVolume that takers have bought.
	TakerVolume, TakerQuote fixed.U128
}

// Merge adds the trades of a later candle. A candle without trades takes all but the later one's Start.
func (c *Candle) Merge(later *Candle) {
	if c.Trades == 0 {
		start := c.Start
		*c = *later
		c.Start = start
		return
	}
	c.High = max(c.High, later.High)
	c.Low = min(c.Low, later.Low)
	c.Close = later.Close
	c.Volume = c.Volume.AddSat(later.Volume)
	c.QuoteVolume = c.QuoteVolume.AddSat(later.QuoteVolume)
	c.Trades += later.Trades
	c.TakerVolume = c.TakerVolume.AddSat(later.TakerVolume)
	c.TakerQuote = c.TakerQuote.AddSat(later.TakerQuote)
}
