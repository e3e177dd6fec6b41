package engine

import (
	"errors"
	"fmt"
	"math"
)

// MaxPast limits the candles of a pair's past. Together they take at most 384 KB of a record, which a message of the
// stream can carry, and less than 2 ms of the loop (docs/internals/bounds.md#work-of-a-record).
const MaxPast = 8192

// PastCandle is a candle of the time before a pair's first trade, as a simulated market has made it up. It stands for
// trades that no order book has matched. Immutable.
type PastCandle struct {
	Start                  int64 // Unix second, a multiple of Length
	Length                 int64 // seconds: whole minutes that divide a day
	Open, High, Low, Close int64 // ticks
	Average                int64 // ticks: every lot counts at this price in the quote volume
	Volume, TakerVolume    int64 // lots: of all trades, and of those that takers have bought
	Trades                 int64
}

// checkPast reports the first wrong candle of a past that ends by nowNs. The candles come in the order of time and do
// not overlap.
func checkPast(past []PastCandle, nowNs int64) error {
	if len(past) > MaxPast {
		return fmt.Errorf("a past of %d candles, at most %d", len(past), MaxPast)
	}
	end := int64(math.MinInt64)
	for i := range past {
		if err := past[i].check(); err != nil {
			return fmt.Errorf("candle %d of the past: %w", i, err)
		}
		if past[i].Start < end {
			return fmt.Errorf("candle %d of the past begins before the one in front of it ends", i)
		}
		end = past[i].Start + past[i].Length
	}
	if n := len(past); n > 0 && past[n-1].Start > nowNs/1_000_000_000 {
		return errors.New("the past ends after its pair was added")
	}
	return nil
}

// pastBound limits the times of a past, in Unix seconds, so that no sum overflows: the year 9999.
const pastBound = 253_402_300_800

func (c *PastCandle) check() error {
	switch {
	case c.Length < 60 || c.Length%60 != 0 || 86_400%c.Length != 0:
		return fmt.Errorf("%d seconds do not divide a day into whole minutes", c.Length)
	case c.Start < 0 || c.Start > pastBound || c.Start%c.Length != 0:
		return fmt.Errorf("%d is no multiple of its length", c.Start)
	case c.Low < 1 || c.Low > min(c.Open, c.Close, c.Average) || c.High < max(c.Open, c.Close, c.Average):
		return errors.New("its prices are not between the lowest and the highest")
	case c.Trades < 1 || c.Volume < c.Trades || c.TakerVolume < 0 || c.TakerVolume > c.Volume:
		return errors.New("its volume does not belong to its trades")
	}
	return nil
}

// past encodes or decodes a past: the number of candles, then of each start and prices as differences from the candle
// before, which are small.
func (w walker) past(past []PastCandle) []PastCandle {
	n := w.Len(len(past))
	if n > MaxPast {
		w.Fail("a past of %d candles, at most %d", n, MaxPast)
		return nil
	}
	if w.Reading() && n > 0 {
		past = make([]PastCandle, n)
	}
	var before PastCandle
	for i := range past {
		c := past[i]
		for _, v := range [...]struct {
			p    *int64
			from int64
		}{
			{&c.Start, before.Start + before.Length},
			{&c.Length, before.Length},
			{&c.Open, before.Close},
			{&c.Close, before.Close},
			{&c.High, before.Close},
			{&c.Low, before.Close},
			{&c.Average, before.Close},
			{&c.Volume, 0},
			{&c.TakerVolume, 0},
			{&c.Trades, 0},
		} {
			d := *v.p - v.from
			if w.I64(&d); w.Reading() {
				*v.p = v.from + d
			}
		}
		if w.Reading() {
			past[i] = c
		}
		before = c
	}
	return past
}
