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

func (p *Page) copyFor(gen uint64) *Page {
	c := &Page{gen: gen, n: p.n}
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
