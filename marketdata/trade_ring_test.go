package marketdata

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// naiveKept returns what docs/contract/listing.md#historical-trades retains after each trade,
// and the number of dropped young trades.
func naiveKept(trades []naiveTrade, minKept, maxKept int) (first engine.TradeID, droppedNs int64, young uint64) {
	first = 1
	for n := range trades {
		now := trades[n].ns
		for {
			kept := n + 1 - int(first-1)
			oldest := trades[first-1]
			old := now-oldest.ns > 86400*1_000_000_000
			if kept <= minKept || (!old && kept <= maxKept) {
				break
			}
			if !old {
				young++
			}
			droppedNs = oldest.ns
			first++
		}
	}
	return first, droppedNs, young
}

func TestTradeRingKeepsADayAndTheMinimumAndNeverMoreThanTheMaximum(t *testing.T) {
	rnd := newRand(t)
	for _, c := range []struct{ min, max, n int }{
		{1, 1, 50}, {3, 10, 200}, {10, 100, 5000}, {2000, 5000, 12_000}, {10, 1 << 20, 8000}, {1024, 2048, 9000},
	} {
		r := newRig(Options{Retention: Retention{TradesMin: c.min, TradesMax: c.max}}, 1)
		var views []*View
		for i := range c.n {
			if rnd.IntN(20) == 0 {
				r.now += rnd.Int64N(3600 * nanosecond)
			}
			if rnd.IntN(1500) == 0 {
				r.now += rnd.Int64N(30 * 3600 * nanosecond)
			}
			r.now += rnd.Int64N(5)
			r.trade(0, engine.Side(rnd.IntN(2)), 1+rnd.Int64N(100), 1+rnd.Int64N(100))
			if rnd.IntN(400) == 0 || i == c.n-1 {
				r.publish()
				views = append(views, r.feed.Board().Load().View(0))
			}
		}
		all := naiveTrades(r.events, 0)
		for _, v := range views {
			first, dropped, young := naiveKept(all[:v.Trades.Last()], c.min, c.max)
			tr := &v.Trades
			if tr.First() != first || tr.DroppedNs() != dropped || v.DroppedYoung != young {
				t.Fatalf("min %d max %d after %d: first %d dropped %d young %d, want %d %d %d",
					c.min, c.max, tr.Last(), tr.First(), tr.DroppedNs(), v.DroppedYoung, first, dropped, young)
			}
			checkTrades(t, tr, all)
		}
	}
}

// A trade is retained until it is more than a day old: for the whole nanosecond at which it is
// exactly that old.
func TestATradeIsRetainedForAWholeDay(t *testing.T) {
	r := newRig(Options{Retention: Retention{TradesMin: 1, TradesMax: 10}}, 1)
	first := r.now
	for _, c := range []struct {
		afterNs int64
		kept    int
		dropped int64
	}{
		{0, 1, 0},
		{secondsOfDay * nanosecond, 2, 0},
		{secondsOfDay*nanosecond + 1, 2, first},
	} {
		r.now = first + c.afterNs
		r.trade(0, engine.Buy, 100, 1)
		r.publish()
		v := r.feed.Board().Load().View(0)
		if v.Trades.Len() != c.kept || v.Trades.DroppedNs() != c.dropped || v.DroppedYoung != 0 {
			t.Errorf("after %d ns: %d kept, dropped up to %d, %d young; want %d, %d, 0",
				c.afterNs, v.Trades.Len(), v.Trades.DroppedNs(), v.DroppedYoung, c.kept, c.dropped)
		}
	}
}

// checkTrades reads every retained trade by id and by chunk, and searches around its time.
func checkTrades(t *testing.T, tr *Trades, all []naiveTrade) {
	t.Helper()
	for id := tr.First(); id <= tr.Last(); id++ {
		got, want := tr.At(id), all[id-1]
		if got.TimeNs != want.ns || got.Price != want.price || got.Amount != want.amount {
			t.Fatalf("trade %d is %+v, want %+v", id, got, want)
		}
		for d := int64(-1); d <= 1; d++ {
			s := tr.Search(want.ns + d)
			if (s <= tr.Last() && all[s-1].ns < want.ns+d) || (s > tr.First() && all[s-2].ns >= want.ns+d) ||
				s < tr.First() || s > tr.Last()+1 {
				t.Fatalf("search for %d gives %d of %d..%d", want.ns+d, s, tr.First(), tr.Last())
			}
		}
	}
	for id := tr.First(); id <= tr.Last(); {
		first, trades, closed := tr.Chunk(id)
		if first != id || len(trades) == 0 || closed != (len(trades) == chunkTrades) {
			t.Fatalf("chunk of %d begins at %d with %d trades, closed %v", id, first, len(trades), closed)
		}
		for i := range trades {
			if trades[i] != tr.At(first+engine.TradeID(i)) {
				t.Fatalf("chunk of %d: trade %d differs", id, i)
			}
		}
		id += engine.TradeID(len(trades))
	}
}

func TestAPairWithoutTradesHasNone(t *testing.T) {
	r := newRig(Options{}, 1)
	r.publish()
	v := r.feed.Board().Load().View(0)
	if v.Trades.First() != 0 || v.Trades.Last() != 0 || v.Trades.Len() != 0 || v.Trades.Search(5) != 1 ||
		v.Trades.DroppedNs() != 0 {
		t.Fatalf("trades of a new pair: %+v", v.Trades)
	}
	for i := range Interval(Intervals) {
		if c := v.Candles(i); c.Len() != 0 || c.Search(0) != 0 {
			t.Fatal("candles of a new pair")
		}
	}
	if (v.Ticker != Ticker{}) {
		t.Fatalf("ticker of a new pair: %+v", v.Ticker)
	}
}

func TestChunkTextIsKeptWithinItsBoundAndGoesWithItsChunk(t *testing.T) {
	r := newRig(Options{Retention: Retention{TradesMin: 10, TradesMax: 20_000}, ChunkText: 8000}, 1)
	trade := func(n int) {
		for range n {
			r.trade(0, engine.Buy, 100, 1)
		}
		r.publish()
	}
	trade(20_000)
	rendered := 0
	render := func(dst []byte, first engine.TradeID, trades []Trade) []byte {
		rendered++
		return append(make([]byte, 0, 1000), byte(first), byte(len(trades)>>8))
	}
	v := r.feed.Board().Load().View(0)
	read := func() {
		for id := v.Trades.First(); id <= v.Trades.Last(); id += chunkTrades {
			want := string([]byte{byte(id), byte(min(chunkTrades, int(v.Trades.Last()-id)+1) >> 8)})
			if got := string(v.Trades.ChunkText(id, ChunkAggBuy, render)); got != want {
				t.Fatalf("text of the chunk at %d is %q, want %q", id, got, want)
			}
		}
	}
	read()
	if rendered != 20 {
		t.Fatalf("rendered %d chunks, want 20", rendered)
	}
	if n := r.feed.cache.bytes.Load(); n != 8000 {
		t.Fatalf("%d bytes counted, want the bound", n)
	}
	read()
	if rendered != 32 {
		t.Fatalf("rendered %d in two passes, want 8 of 20 kept", rendered)
	}
	trade(1) // two sweeps: requested before the first, not before the second
	trade(1)
	if n := r.feed.cache.bytes.Load(); n > 6000 {
		t.Fatalf("%d bytes counted after the sweeps", n)
	}
	trade(21_000) // every old chunk is dropped
	if n := r.feed.cache.bytes.Load(); n != 0 {
		t.Fatalf("%d bytes counted though all chunks are gone", n)
	}
	read() // an old view still returns its text, without caching it
	if n := r.feed.cache.bytes.Load(); n != 0 {
		t.Fatalf("%d bytes counted for dropped chunks", n)
	}
}
