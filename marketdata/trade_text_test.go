package marketdata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// manyTrades returns a rig with trades of pair 0, published.
func manyTrades(o Options, n int) *rig {
	r := newRig(o, 1)
	for range n {
		r.trade(0, engine.Buy, 100, 1)
	}
	r.publish()
	return r
}

func renderTrades(calls *int) func([]byte, engine.TradeID, []Trade) []byte {
	return func(dst []byte, first engine.TradeID, trades []Trade) []byte {
		*calls++
		return fmt.Appendf(dst, "%d-%d", first, first+engine.TradeID(len(trades))-1)
	}
}

// A chunk is closed with its last trade, and named by each of its trades, also after others were dropped.
func TestChunksOfTrades(t *testing.T) {
	for _, c := range []struct {
		keep, n int
		want    []string // chunks; a + marks a closed one
	}{
		{5000, 1023, []string{"1-1023"}},
		{5000, 1024, []string{"1-1024+"}},
		{5000, 1025, []string{"1-1024+", "1025-1025"}},
		{2000, 4096, []string{"2097-3072", "3073-4096+"}},
		{1500, 4000, []string{"2501-3072", "3073-4000"}},
	} {
		r := manyTrades(Options{Retention: Retention{TradesMin: 1, TradesMax: c.keep}}, c.n)
		tr := &r.feed.Board().Load().View(0).Trades
		var got []string
		for id := tr.First(); id <= tr.Last(); id++ {
			first, trades, closed := tr.Chunk(id)
			last := first + engine.TradeID(len(trades)) - 1
			name := fmt.Sprintf("%d-%d", first, last)
			calls := 0
			if text := string(tr.ChunkText(id, ChunkTapeGzip, renderTrades(&calls))); text != name {
				t.Fatalf("the text of %d is that of %s, want %s", id, text, name)
			}
			if closed {
				name += "+"
			}
			if !slices.Contains(got, name) {
				got = append(got, name)
			}
		}
		same(t, c.want, got)
		for _, id := range []engine.TradeID{0, tr.First() - 1, tr.Last() + 1} {
			if !panics(func() { tr.Chunk(id) }) || !panics(func() { tr.At(id) }) {
				t.Errorf("%d trades: trade %d is given", c.n, id)
			}
		}
	}
}

// A cached text that is read between two sweeps stays; one that is not goes.
func TestATextThatIsReadStays(t *testing.T) {
	const chunks, size = 8, 100
	kept := Retention{TradesMin: 1, TradesMax: 100_000}
	r := manyTrades(Options{Retention: kept, ChunkText: chunks * size}, chunks*chunkTrades)
	tr := &r.feed.Board().Load().View(0).Trades
	calls := 0
	render := func(dst []byte, first engine.TradeID, _ []Trade) []byte {
		calls++
		return append(make([]byte, 0, size), strings.Repeat("x", int(first/chunkTrades))...)
	}
	read := func(chunk int) (rendered bool) {
		before := calls
		tr.ChunkText(engine.TradeID(chunk*chunkTrades+1), ChunkAggBuy, render)
		return calls > before
	}
	sweep := func() {
		for _, c := range r.feed.pairs[0].ring.view.chunks {
			r.feed.cache.sweep(c)
		}
	}
	for chunk := range chunks {
		if !read(chunk) || read(chunk) {
			t.Fatalf("chunk %d is not cached", chunk)
		}
	}
	sweep() // all were read since they were cached
	if n := r.feed.cache.bytes.Load(); n != chunks*size {
		t.Errorf("%d bytes are cached after the first sweep", n)
	}
	for chunk := range 3 {
		if read(chunk) {
			t.Errorf("chunk %d was read and is rendered again", chunk)
		}
	}
	sweep()
	if n := r.feed.cache.bytes.Load(); n != 3*size {
		t.Errorf("%d bytes are cached after the second sweep", n)
	}
	for chunk := range chunks {
		if rendered := read(chunk); rendered != (chunk >= 3) {
			t.Errorf("chunk %d is rendered: %v", chunk, rendered)
		}
	}
	sweep()
	sweep()
	if n := r.feed.cache.bytes.Load(); n != 0 {
		t.Errorf("%d bytes are cached and nothing was read", n)
	}
}

// A publication sweeps texts only once the cache is three quarters full, through all pairs in turn.
func TestPublicationsMakeRoomForTexts(t *testing.T) {
	r := newRig(Options{Retention: Retention{TradesMin: 1, TradesMax: 100_000}, ChunkText: 1000}, 3)
	for pair := range engine.PairID(3) {
		for range 2 * chunkTrades {
			r.trade(pair, engine.Buy, 100, 1)
		}
	}
	r.publish()
	read := func(pair engine.PairID, chunk int) {
		tr := &r.feed.Board().Load().View(pair).Trades
		tr.ChunkText(engine.TradeID(chunk*chunkTrades+1), ChunkAggBuy, func([]byte, engine.TradeID, []Trade) []byte {
			return make([]byte, 0, 250)
		})
	}
	publish := func() int64 {
		r.place(0, 1, engine.Buy, 1, 1)
		r.publish()
		return r.feed.cache.bytes.Load()
	}
	read(0, 0)
	read(0, 1)
	read(1, 0)
	for range 3 {
		if n := publish(); n != 750 {
			t.Fatalf("%d bytes: three quarters are no reason to sweep", n)
		}
	}
	read(2, 1)
	if n := publish(); n > 750 {
		t.Errorf("%d bytes are cached after a publication that had to make room", n)
	}
}

// Rows come in the order and with the ids that were asked for, from blocks that are rendered once, also while trades
// are added and dropped. An old view renders the blocks of chunks that are gone, and no longer caches them.
func TestRowsOfBlocks(t *testing.T) {
	r := newRig(Options{Retention: Retention{TradesMin: 2000, TradesMax: 2000}}, 1)
	rendered := 0
	render := func(b []byte, first engine.TradeID, trades []Trade) []byte {
		for i, tr := range slices.Backward(trades) {
			rendered++
			b = fmt.Appendf(b, "%d:%d,", first+engine.TradeID(i), tr.Amount)
		}
		return b
	}
	check := func(tr *Trades, low, high engine.TradeID, kind BlockText, most int) {
		t.Helper()
		var want []byte
		for id := high; id >= low; id-- {
			want = fmt.Appendf(want, "%d:%d,", id, id%7+1)
		}
		rendered = 0
		if got := tr.AppendRows([]byte("["), low, high, kind, render); string(got) != "["+string(want) {
			t.Fatalf("rows %d to %d: %s\nwant %s", high, low, got, want)
		}
		if rendered > most {
			t.Errorf("rows %d to %d: %d are rendered, want at most %d", high, low, rendered, most)
		}
	}
	view := func() *Trades { return &r.feed.Board().Load().View(0).Trades }
	var old *Trades
	for id := engine.TradeID(1); id <= 6000; id++ {
		r.trade(0, engine.Buy, 100, int64(id%7+1))
		if id%97 != 0 {
			continue
		}
		r.publish()
		tr := view()
		low := max(tr.First(), id-min(id, 100)+1)
		check(tr, low, id, BlockDeals, 97+2*blockTrades)
		check(tr, low, id, BlockDeals, 2*(blockTrades-1))
		check(tr, low, id, Uncached, 100)
		check(tr, tr.First(), min(tr.First()+40, id), BlockAggBuy, 41)
		check(tr, tr.First(), min(tr.First()+40, id), BlockAggBuy, 2*(blockTrades-1))
		if id == 97*20 {
			old = tr
		}
	}
	r.publish()
	check(view(), 1, 0, BlockDeals, 0)
	before := r.feed.cache.bytes.Load()
	check(old, old.First(), old.First()+99, BlockDeals, 100)
	check(old, old.First(), old.First()+99, BlockAggSell, 100)
	if n := r.feed.cache.bytes.Load(); n != before {
		t.Errorf("%d bytes are cached for dropped chunks", n-before)
	}
	for range 10_000 {
		r.trade(0, engine.Buy, 100, 1)
	}
	r.publish()
	if n := r.feed.cache.bytes.Load(); n != 0 {
		t.Errorf("%d bytes are cached though all their chunks are gone", n)
	}
}
