package launchpad

import (
	"errors"
	"fmt"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/internal/wire"
)

// candleSec is the length of the candles that are kept. Longer ones are sums of them.
const candleSec = 60

// Candle holds the prices of a pool in one interval: quote currency per token, as Token.Price returns it. It opens at
// the close before it, so no price is between two candles. Published; immutable.
type Candle struct {
	StartSec               int64 // Unix seconds
	Open, High, Low, Close Amount
	Volume, VolumeToken    Amount // what swaps moved: quote currency, tokens
}

// Merge adds a later candle.
func (k *Candle) Merge(later *Candle) {
	if k.High.Less(later.High) {
		k.High = later.High
	}
	if later.Low.Less(k.Low) {
		k.Low = later.Low
	}
	k.Close = later.Close
	k.Volume, k.VolumeToken = k.Volume.Add(later.Volume), k.VolumeToken.Add(later.VolumeToken)
}

// Candles calls yield for the kept candles of a minute, oldest first.
func (t *Token) Candles(yield func(*Candle) bool) {
	for i := range t.candles() {
		if !yield(t.candle(i)) {
			return
		}
	}
}

// candles returns the number of kept candles.
func (t *Token) candles() int {
	if t.newest == nil {
		return 0
	}
	return len(t.closed) + 1
}

func (t *Token) candle(i int) *Candle {
	if i == len(t.closed) {
		return t.newest
	}
	return &t.closed[i]
}

// chart adds the price that a pool has after a change, with what a swap moved, to the token's candles.
func (s *State) chart(t *Token, quote, tokens Amount) {
	price := quotient(t.ReserveQuote, t.ReserveToken)
	k := Candle{
		StartSec: fixed.FloorDiv(floorSec(s.nowNs), candleSec) * candleSec, Open: price, High: price, Low: price,
	}
	switch last := t.newest; {
	case last == nil:
		s.candles++
	case last.StartSec == k.StartSec:
		k = *last
		s.digest -= last.mix(t.No)
	default:
		k.Open, k.High, k.Low = last.Close, last.Close, last.Close
		s.closeCandle(t)
	}
	k.Merge(&Candle{High: price, Low: price, Close: price, Volume: quote, VolumeToken: tokens})
	t.newest = &k
	s.digest += k.mix(t.No)
}

// closeCandle closes the newest candle. Where no more of them may be kept, the token's oldest one goes.
func (s *State) closeCandle(t *Token) {
	t.closed = append(t.closed, *t.newest)
	if s.candles < s.maxCandles && len(t.closed) < MaxTokenCandles {
		s.candles++
		return
	}
	s.digest -= t.closed[0].mix(t.No)
	t.closed = t.closed[1:] // append leaves the place behind when it needs a longer array
}

// code encodes or decodes a candle. Prices are in no sum of amounts, so they may be larger than amounts.
func (k *Candle) code(c *wire.Coder) {
	c.I64(&k.StartSec)
	for _, price := range [...]*Amount{&k.Open, &k.High, &k.Low, &k.Close} {
		price.codeWords(c)
	}
	k.Volume.code(c)
	k.VolumeToken.code(c)
}

func (k *Candle) mix(no uint32) uint64 {
	h := mix.Of4(k.Open.mix(), k.High.mix(), k.Low.mix(), k.Close.mix())
	return mix.Of4(mix.Of(h, uint64(k.StartSec)), k.Volume.mix(), k.VolumeToken.mix(), uint64(no)<<8|mixCandle)
}

// codeCandles encodes or decodes the candles of a token.
func (t *Token) codeCandles(c *wire.Coder) {
	for i := range c.Len(t.candles()) {
		var k Candle
		if !c.Reading() {
			k = *t.candle(i)
		}
		if k.code(c); c.Err() != nil {
			return
		}
		if !c.Reading() {
			continue
		}
		if i > 0 {
			t.closed = append(t.closed, *t.newest)
		}
		t.newest = &k
	}
}

// checkCandles reports candles that do not follow each other, or that do not end at the pool's price.
func (t *Token) checkCandles(nowNs int64) error {
	price, last := Amount{}, (*Candle)(nil)
	if !t.Empty() {
		price = quotient(t.ReserveQuote, t.ReserveToken)
	}
	if t.candles() > MaxTokenCandles {
		return fmt.Errorf("%d candles", t.candles())
	}
	for k := range t.Candles {
		switch {
		case k.StartSec%candleSec != 0 || last != nil && (k.StartSec <= last.StartSec || k.Open != last.Close):
			return fmt.Errorf("the candle at %d does not follow the one before it", k.StartSec)
		case k.Open.Less(k.Low) || k.Close.Less(k.Low) || k.High.Less(k.Open) || k.High.Less(k.Close):
			return fmt.Errorf("the candle at %d has prices beyond its own bounds", k.StartSec)
		}
		last = k
	}
	switch {
	case last == nil && t.Empty():
		return nil
	case last == nil || t.Empty() || last.Close != price || last.StartSec > floorSec(nowNs):
		return errors.New("the newest candle does not end at the pool's price")
	}
	return nil
}
