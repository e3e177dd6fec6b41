package marketdata

import (
	"bytes"
	"sync/atomic"

	"github.com/tickhive/tickhive/engine"
)

// dirText caches the joined text of the pages of one directory, with the levelsSum and the number of their
// levels.
type dirText struct {
	text   []byte
	sum    uint64
	levels int
}

// joinedPages is the least number of pages of a directory whose text is joined and cached. A large book then has
// some hundred parts instead of thousands, and a change joins only its own directory again (16 KB). A smaller
// directory, such as the one at the touch, is not worth a second copy.
const joinedPages = 8

// Texts passes the rows of the first n levels of the side to add, or of all when there are fewer: cached texts, each
// with the levelsSum of its levels. The texts are frozen.
func (s *Side) Texts(kind PageText, n int, render RenderLevels, add func(text []byte, sum uint64)) {
	for _, d := range s.dirs {
		if n <= 0 {
			return
		}
		if d.n >= joinedPages && n >= d.n*pageLevels {
			dt := d.joined(kind, render)
			add(dt.text, dt.sum)
			n -= dt.levels
			continue
		}
		for _, p := range d.pages[:d.n] {
			if n <= 0 {
				return
			}
			add(p.textOf(kind, n, render))
			n -= p.n
		}
	}
}

// joined returns the cached joined text of the directory. The first caller renders and joins it.
func (d *directory) joined(kind PageText, render RenderLevels) *dirText {
	if dt := d.text[kind].Load(); dt != nil {
		return dt
	}
	dt, texts := &dirText{}, make([][]byte, 0, dirPages)
	for _, p := range d.pages[:d.n] {
		pt := p.pageText(kind, render)
		texts = append(texts, pt.text)
		dt.sum += pt.sum
		dt.levels += pt.n
	}
	dt.text = bytes.Join(texts, nil)
	d.text[kind].CompareAndSwap(nil, dt) // another reader's text has the same bytes
	return dt
}

// levelsSum returns the sum of the levels' hashes. Equal levels have equal sums, and sums of parts of a side
// can be added. The sum ignores the order, which the prices determine anyway.
func levelsSum(levels []Level) (sum uint64) {
	for i := range levels {
		sum += mix(mix(1, uint64(levels[i].Price)), uint64(levels[i].Amount))
	}
	return sum
}

// pageText holds the cached text of a page and the levels that it shows. The page that replaces this one
// usually differs in a level or two and copies the other rows from here. Frozen.
//
// Memory: 352 bytes and the text, for each page and form that was read. A page that was not read
// yet holds the text that it will patch, so there is at most one text for each page and form.
type pageText struct {
	gen    uint64 // generation of the page that this text shows
	n      int
	sum    uint64 // levelsSum of the levels
	text   []byte
	ends   [pageLevels]uint16 // end of each row in text; 16 rows have at most 5,000 bytes
	levels [pageLevels]Level
}

// RenderLevels appends the rows of levels to dst. A row must be a pure function of its level (the digits of a
// pair never change). Two readers that render at once then store equal bytes, and patch can copy rows.
type RenderLevels func(dst []byte, levels []Level) []byte

// inheritText copies the texts of from into p, which patch will update. p must not be published yet.
func (p *Page) inheritText(from *Page) {
	for k := range p.text {
		if t := from.text[k].Load(); t != nil {
			p.text[k].Store(t)
		}
	}
}

// textOf returns the rows of the first n levels of the page, or of all when it has fewer, and the levelsSum of
// these levels.
func (p *Page) textOf(kind PageText, n int, render RenderLevels) ([]byte, uint64) {
	t := p.pageText(kind, render)
	if n >= t.n {
		return t.text, t.sum
	}
	if n <= 0 {
		return nil, 0
	}
	return t.text[:t.ends[n-1]], levelsSum(t.levels[:n])
}

// pageText returns the cached text of the page; the first caller renders it. The result is
// frozen.
func (p *Page) pageText(kind PageText, render RenderLevels) *pageText {
	before := p.text[kind].Load()
	if before != nil && before.gen == p.gen {
		return before
	}
	t := &pageText{gen: p.gen, n: p.n, sum: levelsSum(p.levels[:p.n])}
	copy(t.levels[:], p.levels[:p.n])
	if before == nil {
		t.text = make([]byte, 0, p.n*levelText)
		for i := range t.n {
			t.text = render(t.text, t.levels[i:i+1])
			t.ends[i] = uint16(len(t.text))
		}
	} else {
		t.patch(before, render)
	}
	if p.text[kind].CompareAndSwap(before, t) {
		return t
	}
	return p.text[kind].Load() // another reader's text, with the same bytes
}

// levelText estimates the bytes of the longest row of one level.
const levelText = 160

// patch renders the text of t's levels. It copies the rows of levels that before shows too, and renders the
// others.
func (t *pageText) patch(before *pageText, render RenderLevels) {
	// room for one more row than before: growing would cost more than rendering
	b := make([]byte, 0, len(before.text)+levelText)
	from, to := 0, 0 // start and end of the old text that is not copied yet
	old := 0
	for i := range t.n {
		l := t.levels[i]
		k := old
		for k < before.n && before.levels[k].Price != l.Price {
			k++
		}
		same := k < before.n && before.levels[k].Amount == l.Amount
		if k < before.n {
			old = k + 1
		}
		if !same {
			b = append(b, before.text[from:to]...)
			from, to = 0, 0
			b = render(b, t.levels[i:i+1])
			t.ends[i] = uint16(len(b))
			continue
		}
		start := 0
		if k > 0 {
			start = int(before.ends[k-1])
		}
		if start != to {
			b = append(b, before.text[from:to]...)
			from = start
		}
		to = int(before.ends[k])
		t.ends[i] = uint16(len(b) + to - from)
	}
	t.text = append(b, before.text[from:to]...)
}

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

// BlockText names one cached text of a closed block of trades.
type BlockText uint8

// The texts that are cached with a block: its rows, newest first, with a comma behind each one; as deals, or as the
// aggregator's rows of takers that bought or sold. Text that differs from reader to reader is Uncached.
const (
	Uncached BlockText = iota
	BlockDeals
	BlockAggBuy
	BlockAggSell
	blockTexts
)

// blockTrades is the number of trades in a block: a page of 100 trades renders two open ends of 7 rows on
// average and copies the other rows.
const (
	blockTrades = 16
	chunkBlocks = chunkTrades / blockTrades
)

// textSlots is the number of cached texts of a chunk: its own, and those of its blocks.
const textSlots = int(chunkTexts) + int(blockTexts-1)*chunkBlocks

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
	text, ok := t.cache.load(c, int(kind))
	if !ok {
		text = render(nil, first, trades)
		t.cache.store(c, int(kind), text)
	}
	return text
}

// AppendRows appends the rows of the trades from high down to low, which the view retains. It caches the text of closed
// blocks while the cache has room, and renders the others. render appends the rows of trades, whose first id is first,
// as kind says; it must be a pure function of them.
func (t *Trades) AppendRows(b []byte, low, high engine.TradeID, kind BlockText,
	render func(dst []byte, first engine.TradeID, trades []Trade) []byte,
) []byte {
	for high >= low && high > 0 {
		i := int(high - t.base)
		block := i / blockTrades
		first := max(low, t.base+engine.TradeID(block*blockTrades))
		c, slot := t.chunks[i/chunkTrades], 0
		if kind != Uncached && high-first+1 == blockTrades {
			slot = int(chunkTexts) + int(kind-1)*chunkBlocks + block%chunkBlocks
			if text, ok := t.cache.load(c, slot); ok {
				b, high = append(b, text...), first-1
				continue
			}
		}
		end := i%chunkTrades + 1
		from := len(b)
		b = render(b, first, c.trades[end-int(high-first)-1:end])
		if slot > 0 {
			t.cache.store(c, slot, bytes.Clone(b[from:]))
		}
		high = first - 1
	}
	return b
}

// load returns a cached text of c, and notes that a reader has requested it.
func (tc *textCache) load(c *tradeChunk, slot int) (text []byte, ok bool) {
	p := c.text[slot].Load()
	if p == nil || p == &tc.dropped {
		return nil, false
	}
	if !c.used.Load() {
		c.used.Store(true)
	}
	return *p, true
}

// store caches a text of c while there is room, unless another reader was first or c has left the ring.
func (tc *textCache) store(c *tradeChunk, slot int, text []byte) {
	size := int64(cap(text))
	if tc.bytes.Add(size) > tc.limit || !c.text[slot].CompareAndSwap(nil, &text) {
		tc.bytes.Add(-size)
		return
	}
	c.used.Store(true)
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
		if c.text[k].Load() == nil {
			continue
		}
		if p := c.text[k].Swap(nil); p != nil {
			tc.bytes.Add(-int64(cap(*p)))
		}
	}
}
