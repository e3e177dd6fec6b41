package marketdata

import (
	"slices"
	"sync/atomic"

	"github.com/tickhive/tickhive/engine"
)

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

// dirPages is the largest number of pages in a directory. A publish copies one directory and the list of
// directories per side: with 32 pages that is 256 bytes each for a book of up to 16,000 levels. One flat list
// of 1,000 pages would cost a copy of 8 KB.
const dirPages = 32

// directory is a list of pages, best first. A generation copies it at most once.
type directory struct {
	gen   uint64
	n     int
	pages [dirPages]*Page
	text  [pageTexts]atomic.Pointer[dirText] // set once, when a reader reads a full directory
}

// Side is one side of a published book: levels in pages, pages in directories. Frozen.
type Side struct {
	dirs   []*directory
	levels int
}

// Len returns the number of levels.
func (s *Side) Len() int { return s.levels }

// Best returns the first level; false when the side is empty.
func (s *Side) Best() (Level, bool) {
	if s.levels == 0 {
		return Level{}, false
	}
	return s.dirs[0].pages[0].levels[0], true
}

// Pages yields the pages, best first, until yield returns false.
func (s *Side) Pages(yield func(*Page) bool) {
	for _, d := range s.dirs {
		for _, p := range d.pages[:d.n] {
			if !yield(p) {
				return
			}
		}
	}
}

// All yields the levels, best first, until yield returns false.
func (s *Side) All(yield func(Level) bool) {
	for _, d := range s.dirs {
		for _, p := range d.pages[:d.n] {
			for _, l := range p.levels[:p.n] {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// After a removal, a page with at most mergePage levels merges with a neighbour if the two together have at
// most mergeInto levels. mergeDir and mergeDirTo limit directories likewise. Merging keeps a shrinking book
// from becoming a list of tiny pages. The gap between the limits keeps a level that appears and disappears
// repeatedly from splitting and merging pages each time.
const (
	mergePage   = pageLevels / 4
	mergeInto   = pageLevels * 3 / 4
	mergeDir    = dirPages / 4
	mergeDirTo  = dirPages * 3 / 4
	searchWidth = 8 // up to this many keys a linear scan is faster than a binary search
)

// dirNode is a directory with the first key of each of its pages. Only the writer has the keys: a search reads
// two cache lines instead of one page per probe.
type dirNode struct {
	dir  *directory
	keys [dirPages]int64
}

// depthSide is the working copy of one side of a book. The writer changes a page, a directory or the list of
// directories in place only if the current generation made it. It copies an older one first, because readers
// may hold it.
// Owner: the feed's goroutine.
//
// A key is the price for asks and the negative price for bids: the best level always has the
// lowest key.
type depthSide struct {
	sign   int64
	levels int
	nodes  []*dirNode
	tops   []int64      // key of the first level of each node
	dirs   []*directory // the published list
	topGen uint64       // the generation that may change dirs in place
	pool   pagePool
}

func newDepthSide(s engine.Side) depthSide {
	if s == engine.Buy {
		return depthSide{sign: -1}
	}
	return depthSide{sign: 1}
}

// publish returns the side as a frozen view. The caller must start the next generation before it changes the
// side again.
func (s *depthSide) publish() Side { return Side{dirs: s.dirs, levels: s.levels} }

func (s *depthSide) best() int64 {
	if s.levels == 0 {
		return 0
	}
	return s.dirs[0].pages[0].levels[0].Price
}

// set sets the shown amount at price; 0 removes the level. It returns the amount that was shown
// there before, 0 when the level is new.
func (s *depthSide) set(price, amount int64, gen uint64) (before int64) {
	key := price * s.sign
	if s.levels == 0 {
		s.addFirst(Level{price, amount}, key, gen)
		return 0
	}
	d := lastNotAbove(s.tops, key)
	node := s.nodes[d]
	p := lastNotAbove(node.keys[:node.dir.n], key)
	page := node.dir.pages[p]
	i := s.find(page, key)
	found := i < page.n && page.levels[i].Price == price
	if page.gen != gen {
		page = s.writable(d, p, gen)
	}
	if found {
		before = page.levels[i].Amount
	}
	switch {
	case found && amount != 0:
		page.levels[i].Amount = amount
	case found:
		page.remove(i)
		s.levels--
		s.afterRemove(d, p, i, gen)
	case amount == 0:
		panic("BUG: marketdata: a level that is not there is gone")
	default:
		s.insert(d, p, i, Level{price, amount}, gen)
	}
	return before
}

func (s *depthSide) addFirst(l Level, key int64, gen uint64) {
	if l.Amount == 0 {
		panic("BUG: marketdata: a level that is not there is gone")
	}
	page := s.pool.page(gen)
	page.n = 1
	page.levels[0] = l
	node := s.pool.node(gen)
	node.dir.n = 1
	node.dir.pages[0] = page
	node.keys[0] = key
	s.nodes, s.tops = append(s.nodes[:0], node), append(s.tops[:0], key)
	s.writableTop(gen)
	s.dirs = append(s.dirs[:0], node.dir)
	s.levels = 1
}

// find returns the index of the level with key in the page, or the index at which it would be inserted.
func (s *depthSide) find(p *Page, key int64) int {
	i := 0
	if p.n >= searchWidth && p.levels[searchWidth-1].Price*s.sign < key {
		i = searchWidth
	}
	for i < p.n && p.levels[i].Price*s.sign < key {
		i++
	}
	return i
}

// lastNotAbove returns the last index whose key is at most key, 0 when every key is above it.
func lastNotAbove(keys []int64, key int64) int {
	lo, n := 0, len(keys)
	for n > searchWidth {
		half := n / 2
		if keys[lo+half] <= key {
			lo += half
		}
		n -= half
	}
	for i := lo + 1; i < len(keys) && keys[i] <= key; i++ {
		lo = i
	}
	return lo
}

// writable returns page p of directory d for changes; it copies a page of an older generation first.
func (s *depthSide) writable(d, p int, gen uint64) *Page {
	dir := s.writableDir(d, gen)
	page := dir.pages[p]
	if page.gen != gen {
		page = s.pool.copyOf(page, gen)
		dir.pages[p] = page
	}
	return page
}

func (s *depthSide) writableDir(d int, gen uint64) *directory {
	node := s.nodes[d]
	if node.dir.gen != gen {
		c := directory{n: node.dir.n, pages: node.dir.pages}
		c.gen = gen
		node.dir = &c
		s.writableTop(gen)
		s.dirs[d] = node.dir
	}
	return node.dir
}

func (s *depthSide) writableTop(gen uint64) {
	if s.topGen != gen {
		s.dirs = slices.Clone(s.dirs)
		s.topGen = gen
	}
}

// insert puts a new level at index i of a page that this generation owns. It splits the page first when it is
// full.
func (s *depthSide) insert(d, p, i int, l Level, gen uint64) {
	page := s.nodes[d].dir.pages[p]
	if page.n == pageLevels {
		d, p = s.splitPage(d, p, gen)
		if i > page.n {
			i -= page.n
			p++
			page = s.nodes[d].dir.pages[p]
		}
	}
	page.insert(i, l)
	s.levels++
	if i == 0 {
		s.setKey(d, p, l.Price*s.sign)
	}
}

func (s *depthSide) setKey(d, p int, key int64) {
	s.nodes[d].keys[p] = key
	if p == 0 {
		s.tops[d] = key
	}
}

// splitPage moves the upper half of a page into a new page behind it. It returns the new position of the page,
// which changes when its directory splits too.
func (s *depthSide) splitPage(d, p int, gen uint64) (int, int) {
	if s.nodes[d].dir.n == dirPages {
		s.splitDir(d, gen)
		if p >= dirPages/2 {
			d, p = d+1, p-dirPages/2
		}
	}
	page := s.nodes[d].dir.pages[p]
	upper := s.pool.page(gen)
	upper.n = pageLevels / 2
	copy(upper.levels[:], page.levels[pageLevels/2:])
	upper.inheritText(page)
	page.n = pageLevels / 2
	s.insertPage(d, p+1, upper, gen)
	return d, p
}

func (s *depthSide) insertPage(d, p int, page *Page, gen uint64) {
	dir, node := s.writableDir(d, gen), s.nodes[d]
	copy(dir.pages[p+1:dir.n+1], dir.pages[p:dir.n])
	copy(node.keys[p+1:dir.n+1], node.keys[p:dir.n])
	dir.pages[p] = page
	dir.n++
	s.setKey(d, p, page.levels[0].Price*s.sign)
}

func (s *depthSide) splitDir(d int, gen uint64) {
	dir, node := s.writableDir(d, gen), s.nodes[d]
	half := dirPages / 2
	upper := s.pool.node(gen)
	upper.dir.n = dir.n - half
	copy(upper.dir.pages[:], dir.pages[half:dir.n])
	copy(upper.keys[:], node.keys[half:dir.n])
	clear(dir.pages[half:])
	dir.n = half
	s.writableTop(gen)
	s.dirs = slices.Insert(s.dirs, d+1, upper.dir)
	s.nodes = slices.Insert(s.nodes, d+1, upper)
	s.tops = slices.Insert(s.tops, d+1, upper.keys[0])
}

// afterRemove restores the invariants of page p after its level i was removed: it drops an empty page, updates
// the page's first key, and merges a small page with a neighbour.
func (s *depthSide) afterRemove(d, p, i int, gen uint64) {
	page := s.nodes[d].dir.pages[p]
	if page.n == 0 {
		s.removePage(d, p, gen)
		return
	}
	if i == 0 {
		s.setKey(d, p, page.levels[0].Price*s.sign)
	}
	if page.n > mergePage {
		return
	}
	dir := s.nodes[d].dir
	if p+1 < dir.n && page.n+dir.pages[p+1].n <= mergeInto {
		s.joinPages(d, p, gen)
	} else if p > 0 && page.n+dir.pages[p-1].n <= mergeInto {
		s.joinPages(d, p-1, gen)
	}
}

// joinPages moves page p+1 into page p.
func (s *depthSide) joinPages(d, p int, gen uint64) {
	page := s.writable(d, p, gen)
	next := s.nodes[d].dir.pages[p+1]
	copy(page.levels[page.n:], next.levels[:next.n])
	page.n += next.n
	s.removePage(d, p+1, gen)
}

func (s *depthSide) removePage(d, p int, gen uint64) {
	dir, node := s.writableDir(d, gen), s.nodes[d]
	s.pool.recycle(dir.pages[p], gen)
	copy(dir.pages[p:dir.n-1], dir.pages[p+1:dir.n])
	copy(node.keys[p:dir.n-1], node.keys[p+1:dir.n])
	dir.n--
	dir.pages[dir.n] = nil
	if dir.n == 0 {
		s.removeDir(d, gen)
		return
	}
	if p == 0 {
		s.tops[d] = node.keys[0]
	}
	if dir.n > mergeDir {
		return
	}
	if d+1 < len(s.nodes) && dir.n+s.nodes[d+1].dir.n <= mergeDirTo {
		s.joinDirs(d, gen)
	} else if d > 0 && dir.n+s.nodes[d-1].dir.n <= mergeDirTo {
		s.joinDirs(d-1, gen)
	}
}

// joinDirs moves directory d+1 into directory d.
func (s *depthSide) joinDirs(d int, gen uint64) {
	dir, node := s.writableDir(d, gen), s.nodes[d]
	next := s.nodes[d+1]
	copy(dir.pages[dir.n:], next.dir.pages[:next.dir.n])
	copy(node.keys[dir.n:], next.keys[:next.dir.n])
	dir.n += next.dir.n
	s.removeDir(d+1, gen)
}

func (s *depthSide) removeDir(d int, gen uint64) {
	s.writableTop(gen)
	s.pool.recycleNode(s.nodes[d], gen)
	s.dirs = slices.Delete(s.dirs, d, d+1)
	s.nodes = slices.Delete(s.nodes, d, d+1)
	s.tops = slices.Delete(s.tops, d, d+1)
}
