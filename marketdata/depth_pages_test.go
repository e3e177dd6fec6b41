package marketdata

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// sizes returns the number of levels of each page, by directory, and checks keys and lists.
func sizes(t *testing.T, s *depthSide) (out [][]int) {
	t.Helper()
	if len(s.nodes) != len(s.dirs) || len(s.tops) != len(s.dirs) {
		t.Fatalf("%d nodes, %d directories, %d keys", len(s.nodes), len(s.dirs), len(s.tops))
	}
	for d, node := range s.nodes {
		if node.dir != s.dirs[d] || node.keys[0] != s.tops[d] {
			t.Fatalf("directory %d is another one, or its key %d is not %d", d, s.tops[d], node.keys[0])
		}
		var pages []int
		for p, page := range node.dir.pages {
			if (page != nil) != (p < node.dir.n) {
				t.Fatalf("page %d of %d is %v", p, node.dir.n, page)
			}
			if page != nil {
				pages = append(pages, page.n)
				if key := page.levels[0].Price * s.sign; node.keys[p] != key {
					t.Fatalf("page %d has the key %d, want %d", p, node.keys[p], key)
				}
			}
		}
		out = append(out, pages)
	}
	return out
}

// ladder returns a side of asks at 10, 20, 30 and so on.
func ladder(levels int64) *depthSide {
	s := newDepthSide(engine.Sell)
	for price := range levels {
		s.set(10+10*price, 5, 1)
	}
	return &s
}

// A full page splits in two halves, and a page of four levels joins a neighbor, the next one first, if the two have
// at most twelve.
func TestPagesSplitAndJoin(t *testing.T) {
	for _, c := range []struct {
		levels int64
		set    []int64 // new levels
		remove []int64
		want   []int
	}{
		{16, nil, nil, []int{16}},
		{17, nil, nil, []int{8, 9}},
		{16, []int64{5}, nil, []int{9, 8}},
		{16, []int64{85}, nil, []int{9, 8}}, // behind the eighth
		{16, []int64{95}, nil, []int{8, 9}},
		{25, nil, nil, []int{8, 8, 9}},
		{17, nil, []int64{10, 20, 30, 40}, []int{4, 9}},              // thirteen together
		{17, nil, []int64{10, 20, 30, 40, 100}, []int{4, 8}},         // the larger one looks at no neighbor
		{17, nil, []int64{10, 20, 30, 40, 100, 50}, []int{11}},       // now they join
		{17, nil, []int64{100, 10, 20, 30}, []int{5, 8}},             // five is not small
		{17, nil, []int64{100, 10, 20, 30, 40}, []int{12}},           // twelve together
		{17, nil, []int64{90, 100, 110, 120}, []int{8, 5}},           //
		{17, nil, []int64{90, 100, 110, 120, 130}, []int{12}},        // with the one before
		{25, nil, []int64{90, 100, 110, 120}, []int{12, 9}},          // the next one is too large
		{25, nil, []int64{170, 90, 100, 110, 120}, []int{8, 12}},     // the next one first
		{25, nil, []int64{10, 90, 100, 110, 120}, []int{11, 9}},      //
		{33, nil, []int64{250, 170, 180, 190, 200}, []int{8, 8, 12}}, //
		{17, nil, []int64{10, 20, 30, 40, 50, 60, 70, 80}, []int{9}}, // a page is empty
		{16, nil, []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150}, []int{1}},
	} {
		s := ladder(c.levels)
		want := map[int64]int64{}
		for i := range c.levels {
			want[10+10*i] = 5
		}
		for _, price := range c.set {
			same(t, int64(0), s.set(price, 7, 1))
			want[price] = 7
		}
		for _, price := range c.remove {
			same(t, int64(5), s.set(price, 0, 1))
			delete(want, price)
		}
		same(t, [][]int{c.want}, sizes(t, s))
		side := s.publish()
		checkSide(t, &side, want, 1)
	}
	empty := ladder(1)
	empty.set(10, 0, 1)
	same(t, [][]int(nil), sizes(t, empty))
	same(t, int64(0), empty.set(10, 3, 1))
	same(t, [][]int{{1}}, sizes(t, empty))
}

// directories returns a side of directories with full pages.
func directories(pages ...int) *depthSide {
	s := newDepthSide(engine.Sell)
	price := int64(1)
	for _, n := range pages {
		node := s.pool.node(1)
		for p := range n {
			page := s.pool.page(1)
			page.n = pageLevels
			for i := range page.levels {
				page.levels[i] = Level{price, 5}
				price++
			}
			node.dir.pages[p], node.keys[p] = page, page.levels[0].Price
			s.levels += pageLevels
		}
		node.dir.n = n
		s.nodes, s.tops, s.dirs = append(s.nodes, node), append(s.tops, node.keys[0]), append(s.dirs, node.dir)
	}
	s.topGen = 1
	return &s
}

func counts(t *testing.T, s *depthSide) (out []int) {
	t.Helper()
	for _, pages := range sizes(t, s) {
		out = append(out, len(pages))
	}
	return out
}

// A directory of eight pages joins a neighbor, the next one first, if the two have at most 24; a full one splits.
func TestDirectoriesSplitAndJoin(t *testing.T) {
	for _, c := range []struct {
		pages      []int
		dir, page  int // that goes
		want       []int
		emptyNodes int
	}{
		{[]int{10, 10}, 0, 3, []int{9, 10}, 0},
		{[]int{9, 16}, 0, 3, []int{24}, 1},
		{[]int{9, 16}, 0, 0, []int{24}, 1},
		{[]int{9, 17}, 0, 3, []int{8, 17}, 0},
		{[]int{16, 9}, 1, 8, []int{24}, 1},
		{[]int{17, 9}, 1, 8, []int{17, 8}, 0},
		{[]int{16, 9, 16}, 1, 0, []int{16, 24}, 1},
		{[]int{16, 9, 17}, 1, 0, []int{24, 17}, 1},
		{[]int{17, 9, 17}, 1, 0, []int{17, 8, 17}, 0},
		{[]int{9, 17, 2}, 0, 0, []int{8, 17, 2}, 0},
		{[]int{20, 1, 20}, 1, 0, []int{20, 20}, 1},
		{[]int{1}, 0, 0, nil, 1},
	} {
		s := directories(c.pages...)
		s.removePage(c.dir, c.page, 1)
		same(t, c.want, counts(t, s))
		if len(s.pool.pages) != 1 || len(s.pool.nodes) != c.emptyNodes {
			t.Errorf("%v: %d pages and %d nodes for reuse", c.pages, len(s.pool.pages), len(s.pool.nodes))
		}
	}
	for page, want := range map[int][]int{
		0: {17, 16}, dirPages/2 - 1: {17, 16}, dirPages / 2: {16, 17},
		dirPages - 1: {16, 17},
	} {
		s := directories(dirPages)
		first := s.nodes[0].dir.pages[page].levels[0].Price
		s.splitPage(0, page, 1)
		same(t, want, counts(t, s))
		if half := s.nodes[page/(dirPages/2)]; half.keys[page%(dirPages/2)] != first {
			t.Errorf("page %d is elsewhere", page)
		}
	}
}

// What is published keeps its directories and pages, whatever the next generation does; within a generation, lists
// and directories are copied once.
func TestAPublishedSideKeepsItsDirectories(t *testing.T) {
	for name, change := range map[string]func(s *depthSide, gen uint64){
		"amount":   func(s *depthSide, gen uint64) { s.set(1, 9, gen) },
		"level":    func(s *depthSide, gen uint64) { s.set(1000, 9, gen) },
		"front":    func(s *depthSide, gen uint64) { s.set(-5, 9, gen) },
		"page":     func(s *depthSide, gen uint64) { s.removePage(0, 0, gen) },
		"joined":   func(s *depthSide, gen uint64) { s.joinDirs(0, gen) },
		"split":    func(s *depthSide, gen uint64) { s.splitDir(1, gen) },
		"dir goes": func(s *depthSide, gen uint64) { s.removeDir(1, gen) },
		"all goes": func(s *depthSide, gen uint64) {
			for s.levels > 0 {
				s.set(s.best(), 0, gen)
			}
			s.set(7, 7, gen)
		},
	} {
		s := directories(3, 4, 2)
		if name == "split" {
			s = directories(3, dirPages, 2)
		}
		side := s.publish()
		var levels []Level
		side.All(func(l Level) bool { levels = append(levels, l); return true })
		dirs, pages := slices.Clone(side.dirs), [][dirPages]*Page{}
		for _, d := range side.dirs {
			pages = append(pages, d.pages)
		}
		change(s, 2)
		for i, d := range side.dirs {
			if d != dirs[i] || d.pages != pages[i] {
				t.Errorf("%s: directory %d was changed", name, i)
			}
		}
		var after []Level
		side.All(func(l Level) bool { after = append(after, l); return true })
		same(t, levels, after)
		if &s.dirs[:1][0] == &side.dirs[0] {
			t.Errorf("%s: the list of directories is shared", name)
		}
		list, dir := &s.dirs[0], s.dirs[0]
		s.set(s.best(), 11, 2)
		s.set(s.best(), 12, 2)
		if &s.dirs[0] != list {
			t.Errorf("%s: the list is copied twice in a generation", name)
		}
		if now := s.dirs[0]; now.gen != 2 || now != dir && dir.gen == 2 {
			t.Errorf("%s: the directory is of generation %d, or copied twice", name, now.gen)
		}
	}
}

// The upper half of a page that splits takes the text with it: only the new level is rendered.
func TestAPageThatSplitsKeepsItsText(t *testing.T) {
	s := ladder(pageLevels)
	rendered := 0
	render := func(dst []byte, levels []Level) []byte {
		rendered += len(levels)
		return renderLevels(dst, levels)
	}
	text := func() string {
		var text texts
		side := s.publish()
		side.Texts(PageBase, 1<<40, render, text.add)
		return text.joined()
	}
	text()
	same(t, pageLevels, rendered)
	s.set(35, 1, 2)
	var levels []Level
	side := s.publish()
	side.All(func(l Level) bool { levels = append(levels, l); return true })
	same(t, string(renderLevels(nil, levels)), text())
	same(t, pageLevels+1, rendered)
}

// chunksOf returns a log with full chunks, in each of which the last change was at a time and by an update.
func chunksOf(n int, timeNs func(i int) int64, updates func(i int) uint64) *levelLog {
	l := &levelLog{}
	for i := range n {
		c := &levelChunk{timeNs: timeNs(i), updates: updates(i)}
		c.changes[chunkChanges-1].seqSide = uint64(1000+i)<<1 | 1
		l.view.chunks = append(l.view.chunks, c)
	}
	l.view.end = n * chunkChanges
	return l
}

// Chunks are dropped at once when 32 of them, or an eighth, are older than 10,000 updates and 60 seconds, or when
// there are as many as memory allows.
func TestWhichChangesOfLevelsAreDropped(t *testing.T) {
	const minute = retainedSec * nanosecond
	old := func(n int) (func(i int) int64, func(i int) uint64) { // the first n are old
		return func(i int) int64 {
				if i < n {
					return 0
				}
				return minute
			}, func(i int) uint64 {
				if i < n {
					return 0
				}
				return retainedUpdates
			}
	}
	for _, c := range []struct {
		name    string
		n, old  int
		now     int64
		updates uint64
		gone    int
	}{
		{"32 of 40", 40, 32, minute, retainedUpdates, 32},
		{"31 of 40", 40, 31, minute, retainedUpdates, 0},
		{"all of 32", 32, 32, minute, retainedUpdates, 32},
		{"too young", 40, 40, minute - 1, retainedUpdates, 0},
		{"too few updates", 40, 40, minute, retainedUpdates - 1, 0},
		{"49 of 400", 400, 49, minute, retainedUpdates, 0},
		{"50 of 400", 400, 50, minute, retainedUpdates, 50},
		{"49 of 399", 399, 49, minute, retainedUpdates, 49},
		{"the bound", maxChanges / chunkChanges, 0, minute, retainedUpdates, maxChanges / chunkChanges / 8},
		{"below the bound", maxChanges/chunkChanges - 1, 0, minute, retainedUpdates, 0},
		{"the bound, and old ones", maxChanges / chunkChanges, 300, minute, retainedUpdates, 300},
	} {
		times, updates := old(c.old)
		l := chunksOf(c.n, times, updates)
		l.updates, l.view.base = c.updates, 5
		before := slices.Clone(l.view.chunks)
		l.trim(c.now)
		base := engine.Seq(5)
		if c.gone > 0 {
			base = engine.Seq(1000 + c.gone - 1)
		}
		if !slices.Equal(l.view.chunks, before[c.gone:]) || l.view.end != (c.n-c.gone)*chunkChanges ||
			l.view.base != base {
			t.Errorf("%s: %d chunks and %d changes from %d, want %d less", c.name, len(l.view.chunks), l.view.end,
				l.view.base, c.gone)
		}
	}
}

// A full chunk knows the time and the update of its newest change. A pair that changes often allocates 32 chunks at
// once.
func TestTheChunksOfLevelChanges(t *testing.T) {
	var l levelLog
	for n := range 40 * chunkChanges {
		if n%3 == 0 {
			l.startCommand()
		}
		l.add(&engine.Event{Seq: engine.Seq(n + 1), TimeNs: int64(10 * n), Price: 5}, 1)
		chunks := n/chunkChanges + 1
		if len(l.view.chunks) != chunks || l.view.end != n+1 || l.updates != uint64(n/3+1) {
			t.Fatalf("%d changes: %d chunks, %d updates", n+1, len(l.view.chunks), l.updates)
		}
		spare := 0
		if chunks > blockChunks {
			spare = 2*blockChunks - chunks
		}
		if len(l.block) != spare {
			t.Fatalf("%d chunks: %d more are allocated, want %d", chunks, len(l.block), spare)
		}
		if chunks < 2 {
			continue
		}
		last := (chunks-1)*chunkChanges - 1
		if c := l.view.chunks[chunks-2]; c.timeNs != int64(10*last) || c.updates != uint64(last/3+1) {
			t.Fatalf("chunk %d ends at %d by update %d, want %d", chunks-2, c.timeNs, c.updates, 10*last)
		}
	}
}

// Each command, and each part of one, is an update; the changes of one part are one.
func TestTheUpdatesOfAFold(t *testing.T) {
	f := NewFeed(Options{NoOrders: true})
	f.Fold([]engine.Event{addPair(0, "A_USD")})
	p := f.pairs[0]
	price := int64(1)
	for _, c := range []struct {
		kinds []engine.EventKind
		want  uint64
	}{
		{[]engine.EventKind{engine.EventNothing}, 0},
		{[]engine.EventKind{engine.EventNothing, engine.EventLevel, engine.EventLevel}, 1},
		{[]engine.EventKind{engine.EventLevel, engine.EventLevel}, 2},
		{[]engine.EventKind{engine.EventLevel, engine.EventNothing, engine.EventLevel}, 4},
		{[]engine.EventKind{engine.EventNothing, engine.EventLevel, engine.EventRejected, engine.EventLevel}, 6},
		{[]engine.EventKind{engine.EventAccepted, engine.EventLevel, engine.EventReplaced, engine.EventLevel}, 8},
	} {
		var events []engine.Event
		for i, kind := range c.kinds {
			price++
			events = append(events, engine.Event{
				Kind: kind, Seq: p.seq + engine.Seq(i+1), Price: price, Amount: 1, Order: engine.MakeOrderID(0,
					uint64(price)),
			})
		}
		f.Fold(events)
		if p.changes.updates != c.want {
			t.Errorf("%v: %d updates, want %d", c.kinds, p.changes.updates, c.want)
		}
	}
	f.Publish(rigStartNs)
	before := f.Board().Load()
	e := addPair(0, "A_USD")
	e.Seq, e.Instrument.MakerFee = p.seq+1, 77
	f.Fold([]engine.Event{e})
	f.Publish(rigStartNs)
	root := f.Board().Load()
	if root.View(0).Instrument.MakerFee != 77 || root.PairsVersion != before.PairsVersion+1 {
		t.Errorf("%+v, version %d", root.View(0).Instrument, root.PairsVersion)
	}
}
