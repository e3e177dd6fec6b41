package marketdata

import "sync/atomic"

// pageLevels is the size of a page: large enough that a book of 40 a side is a handful
// of kept texts, small enough that one change renders and copies little.
const pageLevels = 16

// PageText names one kept text of a page.
type PageText uint8

// The texts kept with a page: rows of /api/orderbook and rows of the aggregator's book.
const (
	PageBase PageText = iota
	PageAgg
	pageTexts
)

// Page is up to 16 neighbouring levels of one side, best first. Frozen once published,
// but for its write-once texts.
type Page struct {
	gen    uint64 // the generation that may still change it
	n      int
	levels [pageLevels]Level
	text   [pageTexts]atomic.Pointer[[]byte]
}

// Levels are the page's levels, best first. Do not change them.
func (p *Page) Levels() []Level { return p.levels[:p.n:p.n] }

// Text is the kept text of the page; the first caller renders it. render appends to dst
// and must be a pure function of the levels (digits of a pair never change), so that two
// readers who render at once store equal bytes. The result is frozen.
func (p *Page) Text(kind PageText, render func(dst []byte, levels []Level) []byte) []byte {
	if t := p.text[kind].Load(); t != nil {
		return *t
	}
	t := render(nil, p.Levels())
	if p.text[kind].CompareAndSwap(nil, &t) {
		return t
	}
	return *p.text[kind].Load()
}

// pageBlock is how many pages share an allocation. Copying pages is most of what a publish
// costs, and allocating most of the copying. A page that is read keeps its block: at worst
// four pages stay for one, 80 bytes a level.
const pageBlock = 4

// pagePool hands out new pages. Owner: the feed's goroutine.
type pagePool struct {
	block *[pageBlock]Page
	used  int
}

func (pp *pagePool) page(gen uint64) *Page {
	if pp.block == nil || pp.used == pageBlock {
		pp.block, pp.used = new([pageBlock]Page), 0
	}
	p := &pp.block[pp.used]
	pp.used++
	p.gen = gen
	return p
}

func (pp *pagePool) copyOf(p *Page, gen uint64) *Page {
	c := pp.page(gen)
	c.n = p.n
	copy(c.levels[:], p.levels[:p.n])
	return c
}

func (p *Page) insert(i int, l Level) {
	copy(p.levels[i+1:p.n+1], p.levels[i:p.n])
	p.levels[i] = l
	p.n++
}

func (p *Page) remove(i int) {
	copy(p.levels[i:p.n-1], p.levels[i+1:p.n])
	p.n--
}
