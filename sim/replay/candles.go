package replay

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// intervalOf finds the candle interval of a length in ns.
func intervalOf(ns int64) (marketdata.Interval, bool) {
	for i := range marketdata.Day + 1 {
		if intervalSeconds[i]*secondNs == ns {
			return i, true
		}
	}
	return 0, false
}

// intervalSeconds are the lengths of the intervals that have one.
var intervalSeconds = [marketdata.Day + 1]int64{60, 180, 300, 900, 1800, 3600, 14400, 86400}

// lengthByName are words in file names that tell the length of its bars, ns.
var lengthByName = []struct {
	word string
	ns   int64
}{
	{"second", secondNs},
	{"minute", int64(time.Minute)},
	{"hour", int64(time.Hour)},
	{"daily", dayNs},
	{"day", dayNs},
}

// barLength tells how long the bars of a file are: by its name, else by the largest
// length that divides all their starts.
func barLength(file string, divisor int64) int64 {
	name := strings.ToLower(filepath.Base(file))
	for _, l := range lengthByName {
		if strings.Contains(name, l.word) {
			return l.ns
		}
	}
	return divisor
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// bar is a recorded candle in ticks and lots.
type bar struct {
	startSec               int64
	open, high, low, close int64
	volume                 int64
}

// candlesPerQuery is the number of recorded candles that one query compares.
const candlesPerQuery = 500

// candleCheck compares recorded candles of one interval once their time is over.
type candleCheck struct {
	interval marketdata.Interval
	next     func() (bar, error) // io.EOF after the last
	pending  []bar
	counts   Check
}

func newCandleCheck(i marketdata.Interval, next func() (bar, error)) *candleCheck {
	return &candleCheck{interval: i, next: next, counts: Check{Kind: i.String() + " candles"}}
}

// flush asks for the candles of the pending bars and compares them.
func (c *candleCheck) flush(pub Public) error {
	if len(c.pending) == 0 {
		return nil
	}
	from, to := c.pending[0].startSec, c.pending[len(c.pending)-1].startSec
	got, err := pub.Candles(c.interval, from, to)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	at := 0
	for _, want := range c.pending {
		for at < len(got) && got[at].Start < want.startSec {
			at++
		}
		c.counts.All++
		if at < len(got) && want.equals(&got[at]) {
			c.counts.Good++
		}
	}
	c.pending = c.pending[:0]
	return nil
}

func (b *bar) equals(c *marketdata.Candle) bool {
	return c.Start == b.startSec && c.Open == b.open && c.High == b.high && c.Low == b.low &&
		c.Close == b.close && c.Volume == fixed.FromU64(uint64(b.volume))
}
