package marketdata

import (
	"math/rand/v2"
	"testing"
)

// The pool gives a page again that the same generation has removed, empty; it keeps a bounded number of them, and
// none of another generation, which readers may hold.
func TestThePoolOfPages(t *testing.T) {
	var pp pagePool
	first := pp.page(1)
	same(t, uint64(1), first.gen)
	blocks := map[*[pageBlock]Page]bool{pp.block: true}
	for range 3*pageBlock - 1 {
		p := pp.page(7)
		if p == first || p.gen != 7 || p.n != 0 {
			t.Fatalf("%+v", p)
		}
		blocks[pp.block] = true
	}
	same(t, 3, len(blocks))
	published, own := pp.page(1), pp.page(2)
	own.n = 5
	own.text[PageBase].Store(&pageText{})
	own.text[PageAgg].Store(&pageText{})
	pp.recycle(published, 2)
	same(t, 0, len(pp.pages))
	pp.recycle(own, 2)
	same(t, 1, len(pp.pages))
	again := pp.page(3)
	if again != own || again.gen != 3 || again.n != 0 || again.text[PageBase].Load() != nil ||
		again.text[PageAgg].Load() != nil || len(pp.pages) != 0 {
		t.Errorf("%+v", again)
	}
	for n := range 2 * poolLimit {
		pp.recycle(&Page{gen: 9}, 9)
		same(t, min(n+1, poolLimit), len(pp.pages))
	}
	var nodes pagePool
	n := nodes.node(4)
	same(t, uint64(4), n.dir.gen)
	n.dir.n, n.dir.pages[3] = 4, own
	nodes.recycleNode(n, 5)
	same(t, 0, len(nodes.nodes))
	nodes.recycleNode(n, 4)
	same(t, 1, len(nodes.nodes))
	other := nodes.node(6)
	if other != n || other.dir.gen != 6 || other.dir.n != 0 || other.dir.pages != [dirPages]*Page{} ||
		len(nodes.nodes) != 0 {
		t.Errorf("%+v", other.dir)
	}
	for n := range 2 * poolLimit {
		nodes.recycleNode(&dirNode{dir: &directory{gen: 9}}, 9)
		same(t, min(n+1, poolLimit), len(nodes.nodes))
	}
}

// A copy of a page has its levels, and the texts that a reader has rendered, to be patched.
func TestACopyOfAPage(t *testing.T) {
	var pp pagePool
	p := &Page{gen: 1, n: 2}
	p.levels[0], p.levels[1] = Level{1, 2}, Level{3, 4}
	base := p.pageText(PageBase, renderLevels)
	c := pp.copyOf(p, 2)
	same(t, []Level{{1, 2}, {3, 4}}, c.Levels())
	if c.gen != 2 || c.text[PageBase].Load() != base || c.text[PageAgg].Load() != nil {
		t.Errorf("%+v", c)
	}
}

// pageOf returns a page with random levels among few prices and amounts, of a generation.
func pageOf(rnd *rand.Rand, gen uint64) *Page {
	p := &Page{gen: gen}
	for price := int64(1); p.n < pageLevels && price < 40; price++ {
		if rnd.IntN(3) == 0 {
			p.levels[p.n] = Level{price, 1 + rnd.Int64N(3)}
			p.n++
		}
	}
	return p
}

// The text of a page that replaces another one is patched: it has each level's row, and renders those alone that the
// other page did not show.
func TestTheTextOfAPageIsPatched(t *testing.T) {
	rnd := newRand(t)
	for range soak(3000, 20) {
		before, p := pageOf(rnd, 1), pageOf(rnd, 2)
		if rnd.IntN(2) == 0 { // a few changes
			*p = Page{gen: 2, n: before.n, levels: before.levels}
			for range rnd.IntN(3) {
				switch k := rnd.IntN(max(p.n, 1)); {
				case p.n == 0:
				case rnd.IntN(2) == 0:
					p.levels[k].Amount++
				default:
					p.remove(k)
				}
			}
		}
		shown := map[Level]bool{}
		for _, l := range before.Levels() {
			shown[l] = true
		}
		fresh := 0
		for _, l := range p.Levels() {
			if !shown[l] {
				fresh++
			}
		}
		before.pageText(PageBase, renderLevels)
		p.inheritText(before)
		rendered := 0
		text := p.pageText(PageBase, func(dst []byte, levels []Level) []byte {
			rendered += len(levels)
			return renderLevels(dst, levels)
		})
		same(t, fresh, rendered)
		same(t, string(renderLevels(nil, p.Levels())), string(text.text))
		same(t, levelsSum(p.Levels()), text.sum)
		same(t, uint64(2), text.gen)
		for n := -1; n <= pageLevels+1; n++ {
			want := p.Levels()[:max(0, min(n, p.n))]
			got, sum := p.textOf(PageBase, n, renderLevels)
			same(t, string(renderLevels(nil, want)), string(got))
			same(t, levelsSum(want), sum)
		}
		if p.pageText(PageBase, renderLevels) != text {
			t.Fatal("rendered twice")
		}
	}
}

// Of two readers that render a page at once, both show the text of the first.
func TestTwoReadersRenderAPage(t *testing.T) {
	p := &Page{gen: 1, n: 1}
	p.levels[0] = Level{1, 2}
	var first *pageText
	second := p.pageText(PageAgg, func(dst []byte, levels []Level) []byte {
		first = p.pageText(PageAgg, renderLevels)
		return renderLevels(dst, levels)
	})
	if first == nil || second != first || p.text[PageAgg].Load() != first {
		t.Error("two texts of one page")
	}
}
