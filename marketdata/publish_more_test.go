package marketdata

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// checkRoot compares a root's sums with its views, and checks that nothing of the publication stays behind.
func checkRoot(t *testing.T, f *Feed, root *Root) {
	t.Helper()
	var want Root
	pairs := 0
	for id := range engine.PairID(root.Len()) {
		v := root.View(id)
		if v == nil {
			continue
		}
		pairs++
		want.SeqSum += uint64(v.Seq)
		want.BookSeqSum += uint64(v.BookSeq)
		want.TradesSeqSum += uint64(v.TradesSeq)
		want.TickersSeqSum += uint64(v.TickerSeq)
		want.TickersVersion += v.TickerVersion
		want.DroppedYoung += v.DroppedYoung
		sum := uint64(0)
		if f.opts.Checksums {
			sum = v.Checksum()
		}
		if v.Sum != sum {
			t.Errorf("pair %d: the sum is %d, want %d", id, v.Sum, sum)
		}
	}
	got := [...]uint64{
		root.SeqSum, root.BookSeqSum, root.TradesSeqSum, root.TickersSeqSum, root.TickersVersion, root.DroppedYoung,
	}
	same(t, [...]uint64{
		want.SeqSum, want.BookSeqSum, want.TradesSeqSum, want.TickersSeqSum, want.TickersVersion, want.DroppedYoung,
	}, got)
	same(t, (root.Len()+groupViews-1)/groupViews, len(root.groups))
	same(t, pairs, len(root.Sorted()))
	for _, p := range f.changed[len(f.changed):cap(f.changed)] {
		if p != nil {
			t.Errorf("pair %d stays in memory", p.id)
		}
	}
}

// The sums of a root are those of its views after each publication, with gaps between the pairs, young trades that
// were dropped and a pair that is withheld.
func TestTheSumsOfARoot(t *testing.T) {
	rnd := newRand(t)
	for _, sums := range []bool{false, true} {
		r := newRig(Options{Retention: Retention{TradesMin: 1, TradesMax: 3}, Checksums: sums}, 0)
		f := r.feed
		for _, id := range []engine.PairID{0, 30, 31, 62, 63, 64, 95, 96} {
			f.Fold([]engine.Event{addPair(id, fmt.Sprintf("P%d_USD", id))})
			f.Publish(rigStartNs)
			checkRoot(t, f, f.Board().Load())
		}
		f.Withhold([]engine.PairID{30})
		for n := range 200 {
			r.now += rnd.Int64N(3600 * nanosecond)
			for range 1 + rnd.IntN(4) {
				p := f.pairs[[]engine.PairID{0, 30, 31, 64, 96}[rnd.IntN(5)]]
				events := []engine.Event{{Kind: engine.EventNothing, Pair: p.id, Seq: p.seq + 1, TimeNs: r.now}}
				switch rnd.IntN(3) {
				case 0:
					events = append(events, engine.Event{
						Kind: engine.EventLevel, Pair: p.id, Seq: p.seq + 2, TimeNs: r.now, Price: 1 + rnd.Int64N(40),
						Amount: 1 + rnd.Int64N(5),
					})
				case 1:
					events = append(events, engine.Event{
						Kind: engine.EventTrade, Pair: p.id, Seq: p.seq + 2, TimeNs: r.now, Price: 1 + rnd.Int64N(40),
						Amount: 1, Trade: p.ring.view.last + 1, Order: engine.MakeOrderID(p.id, 1),
						Maker: engine.MakeOrderID(p.id, 2),
					})
				}
				f.opts.NoOrders = true
				f.Fold(events)
			}
			if n%50 == 49 {
				f.Withhold(nil)
			}
			f.Publish(r.now)
			if n%50 == 49 {
				f.Withhold([]engine.PairID{30})
				f.Publish(r.now + 1)
			}
			checkRoot(t, f, f.Board().Load())
		}
		if f.Board().Load().DroppedYoung == 0 {
			t.Error("no young trade was dropped")
		}
	}
}

// A publication makes names and assets when they have changed, and keeps the old ones otherwise.
func TestNamesAndAssetsAreMadeWhenTheyChange(t *testing.T) {
	r := newRig(Options{}, 2)
	asset := func(symbol string) {
		r.apply(engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: symbol}},
		})
	}
	asset("A")
	r.publish()
	before := r.feed.Board().Load()
	r.place(0, 1, engine.Buy, 100, 1)
	r.publish()
	after := r.feed.Board().Load()
	if after == before || after.names != before.names || &after.Assets()[0] != &before.Assets()[0] {
		t.Error("a new order makes other names or assets")
	}
	asset("B")
	r.publish()
	later := r.feed.Board().Load()
	if len(later.Assets()) != 2 || len(before.Assets()) != 1 || later.names != before.names {
		t.Errorf("%d assets, %d before", len(later.Assets()), len(before.Assets()))
	}
	r.feed.Fold([]engine.Event{addPair(2, "0_USD")}) // the first one by its code
	r.publish()
	root := r.feed.Board().Load()
	same(t, []engine.PairID{2, 0, 1}, root.Sorted())
	if len(root.Assets()) != 2 {
		t.Errorf("%d assets", len(root.Assets()))
	}
}

// A publication moves the windows of changed pairs too, ends the newest command, and does not go back.
func TestAPublicationMovesTheWindowOfAChangedPair(t *testing.T) {
	r := newRig(Options{}, 1)
	r.trade(0, engine.Buy, 100, 5)
	r.publish()
	r.now += secondsOfDay*nanosecond + 1
	id := r.place(0, 1, engine.Buy, 90, 1)
	r.publish()
	if v := r.feed.Board().Load().View(0); !v.Ticker.Volume.IsZero() || v.Ticker.High != 0 || v.Ticker.Bid != 90 {
		t.Errorf("%+v", v.Ticker)
	}
	h := r.feed.History()
	if len(h.changed) != 0 {
		t.Errorf("%d orders of the newest command are not settled", len(h.changed))
	}
	if o, ok := h.Order(id); !ok || o.Seq != r.core.LastSeq(0) {
		t.Errorf("%+v, %v", o, ok)
	}
	if r.feed.gen != 3 {
		t.Errorf("generation %d after two publications", r.feed.gen)
	}
}

// A publication behind an earlier one shows the window of the second that it publishes.
func TestAPublicationBehindAnEarlierOne(t *testing.T) {
	r := newRig(Options{}, 1)
	r.trade(0, engine.Buy, 100, 5)
	r.fold()
	for _, c := range []struct{ second, high, volume int64 }{
		{0, 100, 5},
		{secondsOfDay, 0, 0},
		{secondsOfDay - 1, 100, 5},
	} {
		r.feed.markChanged(r.feed.pairs[0])
		r.feed.Publish(rigStartNs + c.second*nanosecond)
		if got := r.feed.Board().Load().View(0).Ticker; got.High != c.high || got.Volume.Lo != uint64(c.volume) {
			t.Errorf("at second %d: %+v", c.second, got)
		}
	}
}

// A text that a reader has made counts as requested until the next look at its chunk.
func TestANewTextCountsAsRequested(t *testing.T) {
	r := manyTrades(Options{Retention: Retention{TradesMin: 2 * chunkTrades}}, chunkTrades)
	p := r.feed.pairs[0]
	if p.ring.view.cache != &r.feed.cache {
		t.Error("the pair has another cache than its feed")
	}
	calls := 0
	r.feed.Board().Load().View(0).Trades.ChunkText(1, ChunkAggBuy, renderTrades(&calls))
	c := p.ring.view.chunks[0]
	for _, want := range []bool{true, false} {
		r.feed.cache.sweep(c)
		if kept := c.text[ChunkAggBuy].Load() != nil; kept != want {
			t.Errorf("kept: %v, want %v", kept, want)
		}
	}
}

// The touch follows the book level by level; a command changes it if the touch differs at its end, with the seq
// and the second of the event that changed it last.
func TestTheTouchFollowsTheBook(t *testing.T) {
	rnd := newRand(t)
	for range soak(40, 20) {
		p := newPairState(&engine.Event{Instrument: &engine.Instrument{}}, nil)
		p.tickerSeq, p.changedSec = 3, 50
		var book [2]map[int64]int64
		book[0], book[1] = map[int64]int64{}, map[int64]int64{}
		best, boundary := [2]int64{}, [2]int64{}
		seq, sec := engine.Seq(0), int64(0)
		for n := range 300 {
			e := engine.Event{
				Kind: engine.EventLevel, Side: engine.Side(rnd.IntN(2)), Price: 1 + rnd.Int64N(6),
				Seq:    engine.Seq(n + 1),
				TimeNs: int64(40+n/4) * nanosecond,
			}
			if levels := book[e.Side]; levels[e.Price] == 0 || rnd.IntN(2) == 0 {
				e.Amount = 1 + rnd.Int64N(3)
				levels[e.Price] = e.Amount
			} else {
				delete(levels, e.Price)
			}
			p.foldLevel(&e, 1)
			now := [2]int64{}
			for price := range book[0] {
				now[0] = max(now[0], price)
			}
			for price := range book[1] {
				if now[1] == 0 || price < now[1] {
					now[1] = price
				}
			}
			if now != best {
				best, seq, sec = now, e.Seq, e.TimeNs/nanosecond
			}
			same(t, touch{best, seq, sec}, p.touch)
			same(t, [2]engine.Seq{e.Seq}, [2]engine.Seq{p.bookSeq})
			if rnd.IntN(3) > 0 {
				continue
			}
			wantSeq, wantSec := p.tickerSeq, p.changedSec
			if best != boundary {
				boundary, wantSeq, wantSec = best, max(wantSeq, seq), max(wantSec, sec)
			}
			p.noteTouch()
			same(t, boundary, p.boundaryTouch)
			same(t, [2]int64{int64(wantSeq), wantSec}, [2]int64{int64(p.tickerSeq), p.changedSec})
			if rnd.IntN(4) == 0 { // a trade is newer
				p.tickerSeq, p.changedSec = e.Seq+5, p.touch.sec+3
			}
		}
	}
}

// A state that is taken before the publication has the touch of the newest command.
func TestAStateHasTheNewestTouch(t *testing.T) {
	r := newRig(Options{}, 1)
	r.publish()
	r.now += 5 * nanosecond
	r.place(0, 1, engine.Buy, 90, 1)
	r.fold()
	state := r.feed.AppendPairState(nil, 0)
	r.publish()
	same(t, state, r.feed.AppendPairState(nil, 0))
	if p := r.feed.pairs[0]; p.tickerSeq != r.core.LastSeq(0) || p.changedSec != r.now/nanosecond {
		t.Errorf("ticker seq %d of %d, second %d", p.tickerSeq, r.core.LastSeq(0), p.changedSec)
	}
}

// sweeper returns a feed with pairs whose chunks have a text each, and the number of bytes that are cached.
func sweeper(rnd *rand.Rand, chunks ...int) (f *Feed, all []*tradeChunk) {
	f = NewFeed(Options{})
	for i, n := range chunks {
		if n < 0 {
			continue
		}
		p := newPairState(&engine.Event{Pair: engine.PairID(i), Instrument: &engine.Instrument{}}, &f.cache)
		f.addPair(p)
		for range n {
			c := new(tradeChunk)
			text := make([]byte, 10)
			c.text[rnd.IntN(int(chunkTexts))].Store(&text)
			f.cache.bytes.Add(10)
			p.ring.view.chunks = append(p.ring.view.chunks, c)
			all = append(all, c)
		}
	}
	return f, all
}

// A publication looks at a bounded number of chunks, in turn, as long as the cache is more than three quarters full,
// and removes the texts that no reader has requested since its last look.
func TestRoomForTexts(t *testing.T) {
	rnd := newRand(t)
	left := func(all []*tradeChunk) (out []int) {
		for i, c := range all {
			for k := range c.text {
				if c.text[k].Load() != nil {
					out = append(out, i)
				}
			}
		}
		return out
	}
	f, all := sweeper(rnd, 2, -1, 0, 3)
	f.cache.limit = 67 // three quarters of its quarters are 48
	all[1].used.Store(true)
	f.makeRoomForText()
	same(t, []int{1, 2, 3, 4}, left(all)) // 40 bytes
	same(t, sweepPlace{0, 1}, f.sweepAt)
	f.cache.limit = 52 // 39
	f.makeRoomForText()
	same(t, []int{1, 3, 4}, left(all))
	same(t, sweepPlace{3, 1}, f.sweepAt)
	if all[1].used.Load() {
		t.Error("the chunk that was looked at still counts as requested")
	}
	f.cache.limit = 43 // 30: just enough
	f.makeRoomForText()
	same(t, []int{1, 3, 4}, left(all))
	f.cache.limit = 39 // 27
	all[3].used.Store(true)
	f.makeRoomForText()
	same(t, []int{1, 3}, left(all))
	f.cache.limit = 4
	all[3].used.Store(true)
	f.makeRoomForText()
	if len(left(all)) != 0 || f.cache.bytes.Load() != 0 {
		t.Errorf("%v stay, %d bytes", left(all), f.cache.bytes.Load())
	}
	empty := NewFeed(Options{})
	empty.cache.limit = 0
	empty.cache.bytes.Store(1)
	empty.makeRoomForText() // there is nothing to remove
	same(t, sweepPlace{}, empty.sweepAt)
	large, chunks := sweeper(rnd, sweepChunks+5)
	large.cache.limit = 0
	large.makeRoomForText()
	same(t, 5, len(left(chunks)))
	same(t, sweepPlace{0, sweepChunks}, large.sweepAt)
	large.makeRoomForText()
	same(t, 0, len(left(chunks)))
	f, all = sweeper(rnd, 1)
	f.cache.limit, f.sweepAt = 0, sweepPlace{1, 7} // behind the last pair
	f.makeRoomForText()
	same(t, 0, len(left(all)))
	f, all = sweeper(rnd, 1)
	f.cache.limit = 0
	f.Publish(rigStartNs)
	same(t, 0, len(left(all)))
}
