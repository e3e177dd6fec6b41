package marketdata

import (
	"math/bits"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// bucket holds the sums of the trades of one second.
type bucket struct {
	sec              int64
	high, low, close int64 // ticks
	volume, quote    fixed.U128
}

// extreme is a candidate for the highest or lowest price of the window: the price and its second.
type extreme struct{ sec, price int64 }

// window is the 24 h window of a pair, exact to the second (docs/contract/market-data.md#ticker): at second T a
// trade at t counts while T-86400 < floor(t) <= T. There is one bucket per traded second: adding a trade and
// removing a second are O(1) amortised. The highest and lowest price are at the front of two monotonic queues.
//
// Memory: at most 86,400 buckets of 64 bytes and twice as many extremes of 16, in queues that
// grow by doubling: (64 + 2x16) x 131,072 = 12.6 MB for a pair that trades in every second of a
// day, 10 KB for a pair with a trade in 100 of them.
//
// The window can move back, and buckets that it had left count again: a trade behind the last publication
// moves it. slide therefore never drops a bucket; only a trade a day later does. The figures are thus a
// function of the trades and the current second, and the buckets, which snapshots and hashes contain, are a
// function of the trades alone.
//
// Owner: the feed's goroutine.
type window struct {
	buckets queue[bucket]
	out     int // number of buckets at the front that no longer count at the current second
	highs   queue[extreme]
	lows    queue[extreme]

	// volume and quote are the sums over the buckets that count. A trade has at most 2^63 lots and 2^96 product
	// units: 2^32 of the largest trades within a day wrap the sums until they leave the window.
	volume, quote fixed.U128
	first         int64 // price of the pair's first trade, 0: never traded
	agoBase       int64 // close of the newest dropped bucket, 0: none
}

// slide moves the window to the second now, forward or back.
func (w *window) slide(now int64) {
	edge := now - secondsOfDay
	for ; w.out > 0 && w.buckets.at(w.out-1).sec > edge; w.out-- {
		b := w.buckets.at(w.out - 1)
		w.volume, w.quote = w.volume.AddWrap(b.volume), w.quote.AddWrap(b.quote)
		w.returnExtremes(b)
	}
	was := w.out
	for ; w.out < w.buckets.len() && w.buckets.at(w.out).sec <= edge; w.out++ {
		b := w.buckets.at(w.out)
		w.volume, w.quote = w.volume.SubWrap(b.volume), w.quote.SubWrap(b.quote)
	}
	if w.out > was {
		dropUntil(&w.highs, edge)
		dropUntil(&w.lows, edge)
	}
}

// counts reports whether sec is the newest traded second, and counts at the second now.
func (w *window) counts(sec, now int64) bool {
	n := w.buckets.len()
	return n > 0 && w.buckets.at(n-1).sec == sec && sec > now-secondsOfDay
}

// add adds the trades of t, which must not be earlier than any trade before.
func (w *window) add(t *tick) {
	w.slide(t.Start)
	for ; w.out > 0 && w.buckets.at(0).sec <= t.Start-secondsOfDay; w.out-- {
		w.agoBase = w.buckets.at(0).close
		w.buckets.popFront()
	}
	if w.first == 0 {
		w.first = t.Open
	}
	w.volume = w.volume.AddWrap(t.Volume)
	w.quote = w.quote.AddWrap(t.QuoteVolume)
	if n := w.buckets.len(); n > 0 && w.buckets.at(n-1).sec == t.Start {
		b := w.buckets.at(n - 1)
		b.high, b.low, b.close = max(b.high, t.High), min(b.low, t.Low), t.Close
		b.volume, b.quote = b.volume.AddWrap(t.Volume), b.quote.AddWrap(t.QuoteVolume)
	} else {
		w.buckets.pushBack(bucket{t.Start, t.High, t.Low, t.Close, t.Volume, t.QuoteVolume})
	}
	w.pushExtremes(t.Start, t.High, t.Low)
}

func (w *window) pushExtremes(sec, high, low int64) {
	for n := w.highs.len(); n > 0 && w.highs.at(n-1).price <= high; n-- {
		w.highs.popBack()
	}
	if n := w.highs.len(); n == 0 || w.highs.at(n-1).sec != sec {
		w.highs.pushBack(extreme{sec, high})
	}
	for n := w.lows.len(); n > 0 && w.lows.at(n-1).price >= low; n-- {
		w.lows.popBack()
	}
	if n := w.lows.len(); n == 0 || w.lows.at(n-1).sec != sec {
		w.lows.pushBack(extreme{sec, low})
	}
}

// returnExtremes puts the extremes of b back at the front of the queues, when the window has moved back to b. b
// must be older than every bucket that counts.
func (w *window) returnExtremes(b *bucket) {
	if w.highs.len() == 0 || b.high > w.highs.at(0).price {
		w.highs.pushFront(extreme{b.sec, b.high})
	}
	if w.lows.len() == 0 || b.low < w.lows.at(0).price {
		w.lows.pushFront(extreme{b.sec, b.low})
	}
}

// ago returns price24hAgo: the close of the newest second that has left the window. When none has left, it
// returns the price of the pair's first trade.
func (w *window) ago() int64 {
	switch {
	case w.out > 0:
		return w.buckets.at(w.out - 1).close
	case w.agoBase != 0:
		return w.agoBase
	}
	return w.first
}

// left returns the second at which the newest bucket outside the window has left it; 0 when every bucket
// counts.
func (w *window) left() int64 {
	if w.out == 0 {
		return 0
	}
	return w.buckets.at(w.out-1).sec + secondsOfDay
}

// nextSec returns the second at which the oldest counting trade leaves the window; false when no trade counts.
func (w *window) nextSec() (int64, bool) {
	if w.out == w.buckets.len() {
		return 0, false
	}
	return w.buckets.at(w.out).sec + secondsOfDay, true
}

// figures copies the window's figures into t.
func (w *window) figures(t *Ticker) {
	t.Ago24h = w.ago()
	t.Volume, t.QuoteVolume = w.volume, w.quote
	t.High, t.Low = 0, 0
	if w.highs.len() > 0 {
		t.High, t.Low = w.highs.at(0).price, w.lows.at(0).price
	}
}

// dropUntil removes the extremes of seconds up to sec from the front of the queue.
func dropUntil(q *queue[extreme], sec int64) {
	for q.len() > 0 && q.at(0).sec <= sec {
		q.popFront()
	}
}

// Ticker holds the last trade, the touch and the 24 h window of a pair, in integers.
type Ticker struct {
	LastTrade   engine.TradeID // 0: never traded
	Last        int64          // ticks, 0: never traded
	Ago24h      int64          // ticks; price24hAgo of docs/contract/market-data.md#ticker
	High, Low   int64          // ticks; highest and lowest price in the window, 0: no trade in it
	Volume      fixed.U128     // lots in the window
	QuoteVolume fixed.U128     // product units in the window
	Bid, Ask    int64          // ticks, 0: empty side
	ChangedSec  int64          // Unix second of the last change of these figures
}

// version returns a hash of the figures. Equal figures have equal hashes, also after a restart; different ones
// collide with a chance of 2^-64. A counter would begin again at a restart, and one number could then identify
// different figures.
func (t *Ticker) version(pair engine.PairID) uint64 {
	h := mix(uint64(pair)+1, uint64(t.LastTrade))
	for _, v := range [...]uint64{
		uint64(t.Last), uint64(t.Ago24h), uint64(t.High), uint64(t.Low),
		t.Volume.Hi, t.Volume.Lo, t.QuoteVolume.Hi, t.QuoteVolume.Lo,
		uint64(t.Bid), uint64(t.Ask), uint64(t.ChangedSec),
	} {
		h = mix(h, v)
	}
	return h
}

// mix combines h and v into one hash, by a multiplication of 64 x 64 bits.
func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9E3779B97F4A7C15, v^0xC2B2AE3D27D4EB4F)
	return hi ^ lo ^ bits.RotateLeft64(h, 23)
}
