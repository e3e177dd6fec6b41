package replay

import (
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/sim/replay/format"
	"tickhive/sim/replay/format/input"
)

// intervalSeconds holds the lengths of the intervals of fixed length; months and years have none.
var intervalSeconds = [marketdata.Day + 1]int64{60, 180, 300, 900, 1800, 3600, 14400, 86400}

// intervalOf returns the candle interval with a length in ns.
func intervalOf(ns int64) (marketdata.Interval, bool) {
	for i := range marketdata.Day + 1 {
		if intervalSeconds[i]*secondNs == ns {
			return i, true
		}
	}
	return 0, false
}

// candlesPerQuery is the number of recorded candles that one query compares.
const candlesPerQuery = 500

// candleCheck compares the recorded candles of one interval after all records have been fed.
type candleCheck struct {
	interval marketdata.Interval
	counts   Check
	pending  []candle
	last     int64 // close of the last public candle before the pending ones, 0: none
}

// candle is a recorded candle that has not been compared yet.
type candle struct {
	startSec int64
	format.Prices
	at input.Position
}

// openCandles prepares the comparison of each set of recorded candles. In a recording with answers, candles of
// a length that is no interval are compared as minutes.
func (c *checker) openCandles() {
	for _, set := range c.s.Sets {
		i, ok := intervalOf(set.LengthNs)
		if !ok && c.s.Shape != format.Answers {
			c.candles = append(c.candles, nil)
			continue
		}
		c.candles = append(c.candles, &candleCheck{interval: i, counts: Check{Kind: i.String() + " candles"}})
		c.empty.Kind = "empty " + i.String() + "s"
	}
}

// expect adds a record that the public data must agree with at the end: a candle, or the values of the day.
func (c *checker) expect(r *format.Record, nowNs int64) error {
	if r.Kind == format.Today {
		return c.compareToday(&r.Today, nowNs)
	}
	set := c.candles[r.Bar.Set]
	if set == nil {
		return nil
	}
	if !c.covers(set.interval, r, nowNs) {
		c.partial++
		return nil
	}
	if set.pending = append(set.pending, candle{r.NS / secondNs, r.Bar, r.At}); len(set.pending) < candlesPerQuery {
		return nil
	}
	return c.compareCandles(set)
}

// covers reports whether the records fed contain all trades of a candle. The first candle may lack trades from
// before the file; a recording of bars has no partial candle.
func (c *checker) covers(i marketdata.Interval, r *format.Record, nowNs int64) bool {
	start, first := r.NS/secondNs, c.firstNs/secondNs
	switch {
	case r.Bar.Trades < 0 && start > nowNs/secondNs:
		return false
	case c.firstIsBar && c.whole:
		return start+intervalSeconds[i] > first
	}
	return start > first
}

// flushCandles compares the pending candles of every set.
func (c *checker) flushCandles() error {
	for _, set := range c.candles {
		if set == nil {
			continue
		}
		if err := c.compareCandles(set); err != nil {
			return err
		}
	}
	return nil
}

// compareCandles compares the pending candles with the public ones.
// A recorded candle without trades must be flat at the close before it, and the public data must have no candle there.
// It counts by itself if the recording states the number of trades.
func (c *checker) compareCandles(set *candleCheck) error {
	if len(set.pending) == 0 {
		return nil
	}
	from := set.pending[0].startSec
	if set.last == 0 { // the close before may be the first candle's, which is not compared
		from = min(from, c.firstNs/secondNs-intervalSeconds[set.interval])
	}
	got, err := c.pub.Candles(set.interval, from, set.pending[len(set.pending)-1].startSec)
	if err != nil {
		return err
	}
	for i := range set.pending {
		want := &set.pending[i]
		for len(got) > 0 && got[0].Start < want.startSec {
			set.last, got = got[0].Close, got[1:]
		}
		has := len(got) > 0 && got[0].Start == want.startSec
		count, good := &set.counts, false
		switch empty := want.Trades == 0 || want.Trades < 0 && want.Volume == 0; {
		case !empty:
			good = has && want.equals(&got[0])
		case want.Trades == 0:
			count = &c.empty
			fallthrough
		default:
			good = !has && (set.last == 0 || want.flatAt(set.last))
		}
		if count.add(good); !good {
			ours := "no candle"
			if has {
				ours = c.barText(got[0].Open, got[0].High, got[0].Low, got[0].Close, got[0].Volume)
			} else if set.last != 0 {
				ours += " after a close of " + c.price(set.last)
			}
			theirs := c.barText(want.Open, want.High, want.Low, want.Close, fixed.FromU64(uint64(want.Volume)))
			c.miss(count.Kind, want.at, ours, theirs+" at "+input.NsText(want.startSec*secondNs))
		}
	}
	if len(got) > 0 {
		set.last = got[len(got)-1].Close
	}
	set.pending = set.pending[:0]
	return nil
}

func (w *candle) equals(c *marketdata.Candle) bool {
	return c.Open == w.Open && c.High == w.High && c.Low == w.Low && c.Close == w.Close &&
		c.Volume == fixed.FromU64(uint64(w.Volume))
}

// flatAt reports whether the candle has no volume and all its prices equal price.
func (w *candle) flatAt(price int64) bool {
	return w.Volume == 0 && w.Open == price && w.High == price && w.Low == price && w.Close == price
}

// compareToday compares the seven values of the day: volume, vwap, number of trades, high, low, open and last.
// It skips the comparison when the trades do not reach back to 00:00 UTC.
func (c *checker) compareToday(want *format.Values, nowNs int64) error {
	day := nowNs / secondNs
	day -= day % 86_400
	if c.firstNs > day*secondNs {
		return nil
	}
	candles, err := c.pub.Candles(marketdata.Day, day, day)
	if err != nil {
		return err
	}
	last, err := c.pub.Last()
	if err != nil {
		return err
	}
	trades, err := c.pub.Trades(c.fed)
	if err != nil {
		return err
	}
	if len(candles) != 1 {
		c.values.All += 7
		return nil
	}
	count := int64(0)
	for i := range trades {
		if trades[i].TimeNs/secondNs >= day {
			count++
		}
	}
	got := &candles[0]
	for _, v := range [][2]int64{
		{want.High, got.High}, {want.Low, got.Low}, {want.Open, got.Open}, {want.Last, last}, {want.Trades, count},
	} {
		c.values.add(v[0] == v[1])
	}
	c.values.add(fixed.FromI64(want.Volume) == got.Volume.ToI128())
	c.values.add(fixed.FromI64(want.VWAP) == c.vwap(got).ToI128())
	return nil
}

// vwap returns sum(price x volume) / sum(volume), truncated to format.VWAPDigits decimals.
func (c *checker) vwap(candle *marketdata.Candle) fixed.U128 {
	sum, digits := candle.QuoteVolume, c.s.Price.Chosen()
	for i := digits; i < format.VWAPDigits; i++ {
		sum, _ = sum.MulCheck(10)
	}
	q, _ := sum.DivMod(candle.Volume)
	for i := digits; i > format.VWAPDigits; i-- {
		q, _ = q.DivMod64(10)
	}
	return q
}
