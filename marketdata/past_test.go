package marketdata

import (
	"bytes"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// pastRig returns a rig whose only pair begins with a past.
func pastRig() *rig {
	r := newRig(Options{}, 0)
	r.now = enginetest.PastEndSec * nanosecond
	r.apply(engine.Command{
		Kind: engine.AddPair, Pair: 0, Instrument: rigPair(0), Control: &engine.ControlRecord{Past: enginetest.Past()},
	})
	return r
}

// Every interval has the sum of the past's candles that fit into it, and no candle where the past is coarser.
func TestCandlesBeginWithThePast(t *testing.T) {
	r := pastRig()
	v := r.shown()
	for i := range Interval(Intervals) {
		var want []Candle
		for _, c := range enginetest.Past() {
			if i.Seconds()%c.Length != 0 {
				continue
			}
			one := pastCandle(&c)
			one.Start = i.Floor(c.Start)
			if n := len(want); n > 0 && want[n-1].Start == one.Start {
				want[n-1].Merge(&one)
			} else {
				want = append(want, one)
			}
		}
		series := v.Candles(i)
		var got []Candle
		for k := range series.Len() {
			got = append(got, series.At(k))
		}
		same(t, want, got)
	}
}

// The ticker has the last price and the window of the past, the trades begin at 1, and an answer with all of them says
// that it lacks some.
func TestTheTickerAgreesWithThePast(t *testing.T) {
	r := pastRig()
	past := enginetest.Past()
	v := r.shown()
	last, first := past[len(past)-1], past[3] // the day before the last candle begins with a candle of four hours
	var volume, quote uint64
	for _, c := range past[5:] { // the ones before have ended a day ago, at half past the first minute
		volume += uint64(c.Volume)
		quote += uint64(c.Volume * c.Average)
	}
	if v.Ticker.Last != last.Close || v.Ticker.LastTrade != 0 || v.Ticker.Volume.Lo != volume ||
		v.Ticker.QuoteVolume.Lo != quote || v.Ticker.Ago24h != past[4].Close || first.Length != 14_400 {
		t.Errorf("%+v, want volume %d, quote volume %d", v.Ticker, volume, quote)
	}
	if v.Trades.Len() != 0 || v.Trades.DroppedNs() != r.now-1 || v.TradesSeq != 2 || v.TickerSeq != 2 {
		t.Errorf("%+v, seq %d, %d", v.Trades, v.TradesSeq, v.TickerSeq)
	}
}

// Trades join the candle that the past has begun, and a restored pair is the same as before.
func TestTradesContinueThePast(t *testing.T) {
	r := pastRig()
	r.trade(0, engine.Buy, 205, 7)
	v := r.shown()
	past := enginetest.Past()
	series, last := v.Candles(Minute), past[len(past)-1]
	c := series.At(series.Len() - 1)
	if c.Start != last.Start || c.Open != last.Open || c.Close != 205 || c.Trades != last.Trades+1 ||
		c.Volume.Lo != uint64(last.Volume)+7 {
		t.Errorf("%+v behind %+v", c, last)
	}
	if v.Ticker.Last != 205 || v.Ticker.LastTrade != 1 || v.Trades.First() != 1 {
		t.Errorf("%+v", v.Ticker)
	}
	state := r.feed.AppendPairState(nil, 0)
	back := NewFeed(Options{})
	if err := back.DecodePairState(state); err != nil || !bytes.Equal(state, back.AppendPairState(nil, 0)) {
		t.Errorf("a restored pair differs: %v", err)
	}
}

// shown returns what readers see of the first pair.
func (r *rig) shown() *View {
	r.publish()
	return r.feed.Board().Load().View(0)
}
