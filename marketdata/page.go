package marketdata

import "sync/atomic"

// pageLevels is the largest number of levels in a page. A book of 40 levels a side then has only a few cached
// texts, and a change of one level copies and renders little.
const pageLevels = 16

// PageText names one cached text of a page.
type PageText uint8

// The texts cached with a page: rows of /api/orderbook and rows of the aggregator's book.
const (
	PageBase PageText = iota
	PageAgg
	pageTexts
)

// Page holds up to 16 neighbouring levels of one side, best first. Frozen once published, except
// for its write-once texts.
type Page struct {
	// text holds the rendered text of this page. Until a reader has rendered it, it holds the text of the page
	// from which this one was copied; that text is then patched.
	text   [pageTexts]atomic.Pointer[pageText]
	gen    uint64 // the generation that made the page: only it may change the page
	n      int
	levels [pageLevels]Level
}

// Levels returns the page's levels, best first. The caller must not change them.
func (p *Page) Levels() []Level { return p.levels[:p.n:p.n] }

// pageBlock is the number of pages in one allocation. A publish spends most of its time on copying pages, and a
// copy on allocating. A reader that holds one page keeps its whole block alive: at worst four pages for one, 80
// bytes a level.
const pageBlock = 4

// pagePool allocates pages and directories. It reuses a page that was removed in the generation that made it,
// because such a page was never published. Owner: the feed's goroutine.
type pagePool struct {
	block *[pageBlock]Page
	used  int
	pages []*Page
	nodes []*dirNode
}

// poolLimit limits each free list of the pool. A book that grows and shrinks around a page boundary needs only
// a few pages.
const poolLimit = 32

func (pp *pagePool) page(gen uint64) *Page {
	if n := len(pp.pages); n > 0 {
		p := pp.pages[n-1]
		pp.pages = pp.pages[:n-1]
		p.gen = gen
		return p
	}
	if pp.block == nil || pp.used == pageBlock {
		pp.block, pp.used = new([pageBlock]Page), 0
	}
	p := &pp.block[pp.used]
	pp.used++
	p.gen = gen
	return p
}

func (pp *pagePool) recycle(p *Page, gen uint64) {
	if p.gen == gen && len(pp.pages) < poolLimit {
		p.n = 0
		for k := range p.text {
			p.text[k].Store(nil)
		}
		pp.pages = append(pp.pages, p)
	}
}

func (pp *pagePool) node(gen uint64) *dirNode {
	if n := len(pp.nodes); n > 0 {
		node := pp.nodes[n-1]
		pp.nodes = pp.nodes[:n-1]
		node.dir.gen = gen
		return node
	}
	return &dirNode{dir: &directory{gen: gen}}
}

func (pp *pagePool) recycleNode(n *dirNode, gen uint64) {
	if n.dir.gen == gen && len(pp.nodes) < poolLimit {
		clear(n.dir.pages[:])
		n.dir.n = 0
		pp.nodes = append(pp.nodes, n)
	}
}

func (pp *pagePool) copyOf(p *Page, gen uint64) *Page {
	c := pp.page(gen)
	c.n = p.n
	copy(c.levels[:], p.levels[:p.n])
	c.inheritText(p)
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
