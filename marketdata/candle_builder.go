package marketdata

import "tickhive/engine"

// tick sums up the trades of one second until they are merged into the ten candles and the
// window. Merging is associative: a trade costs one update instead of eleven, and the result
// does not depend on the time of the merge.
type tick struct {
	Candle // Start is the second; Trades is 0 before its first trade
}

// full reports whether another trade could overflow the tick's sums: price x amount is below 2^126,
// so a sum below 2^127 has room for one more. On a virtual clock a second may have any number of
// trades. Candles saturate and windows take any sum.
func (t *tick) full() bool { return t.QuoteVolume.Hi>>63 != 0 }

func (t *tick) add(sec, price, amount int64, taker engine.Side) {
	one := candleOf(sec, price, amount, taker)
	t.Start = sec
	t.Merge(&one)
}

// candleBuilder builds the ten candle series of a pair. Owner: the feed's goroutine.
type candleBuilder struct {
	series [Intervals]candleSeries
}

func (b *candleBuilder) merge(t *tick, keep *[Intervals]int) {
	for i := range b.series {
		b.series[i].merge(Interval(i), t, keep[i])
	}
}

// publish returns views of all ten series, in one allocation.
func (b *candleBuilder) publish() *[Intervals]Candles {
	views := new([Intervals]Candles)
	for i := range b.series {
		views[i] = b.series[i].view
	}
	return views
}
