package marketdata

import (
	"sync/atomic"

	"tickhive/engine"
)

// ChunkText names one cached text of a closed chunk of trades.
type ChunkText uint8

// The texts that are cached with a chunk: rows, newest first, of takers that bought, that sold, or of both (tape);
// as text, or compressed for answers in gzip, with decimals as numbers or quoted.
const (
	ChunkAggBuy ChunkText = iota
	ChunkAggSell
	ChunkAggBuyGzip
	ChunkAggSellGzip
	ChunkAggBuyQuotedGzip
	ChunkAggSellQuotedGzip
	ChunkTapeGzip
	chunkTexts
)

// textCache limits the bytes of cached text in all chunks of a feed. Readers add text while there is room; the
// writer removes text that no reader requests (sweep).
type textCache struct {
	bytes atomic.Int64
	limit int64
	// dropped marks, by its address, a chunk that left the ring: readers of an old view render its text for each call.
	dropped []byte
}

// Chunk returns the retained trades of the chunk that contains id, and the id of the first of them. closed
// reports that the chunk is full and no trade of it was dropped; ChunkText caches the text of closed chunks
// only. The slice is frozen.
func (t *Trades) Chunk(id engine.TradeID) (first engine.TradeID, trades []Trade, closed bool) {
	t.at(id)
	k := (id - t.base) / chunkTrades
	start := t.base + k*chunkTrades
	end := start + chunkTrades - 1
	closed = start >= t.first && end <= t.last
	first, last := max(start, t.first), min(end, t.last)
	c := t.chunks[k]
	return first, c.trades[first-start : last-start+1 : last-start+1], closed
}

// ChunkText returns the rendered text of the chunk that contains id. It caches the text of a closed chunk while
// the cache has room; otherwise it renders the text for each call. render appends to dst and must be a pure
// function of the trades. The result is frozen.
func (t *Trades) ChunkText(id engine.TradeID, kind ChunkText,
	render func(dst []byte, first engine.TradeID, trades []Trade) []byte,
) []byte {
	first, trades, closed := t.Chunk(id)
	if !closed {
		return render(nil, first, trades)
	}
	c := t.chunks[(id-t.base)/chunkTrades]
	if p := c.text[kind].Load(); p != nil && p != &t.cache.dropped {
		if !c.used.Load() {
			c.used.Store(true)
		}
		return *p
	}
	text := render(nil, first, trades)
	size := int64(cap(text))
	if t.cache.bytes.Add(size) > t.cache.limit || !c.text[kind].CompareAndSwap(nil, &text) {
		t.cache.bytes.Add(-size)
		return text
	}
	c.used.Store(true)
	return text
}

// forget subtracts the texts of a dropped chunk from the count and prevents readers of old views from caching
// new ones.
func (tc *textCache) forget(c *tradeChunk) {
	for k := range c.text {
		if p := c.text[k].Swap(&tc.dropped); p != nil {
			tc.bytes.Add(-int64(cap(*p)))
		}
	}
}

// sweep removes the texts of c unless a reader requested them since the last sweep.
func (tc *textCache) sweep(c *tradeChunk) {
	if c.used.Swap(false) {
		return
	}
	for k := range c.text {
		if p := c.text[k].Swap(nil); p != nil {
			tc.bytes.Add(-int64(cap(*p)))
		}
	}
}
