package slots

// An index consists of pages of pageSize numbers. A page is made when the first of its
// numbers gets a slot, and is reused when the last has lost it. A number that keeps its slot for ever keeps one page
// (2 KiB), and 8 bytes for every pageSize numbers after it.
const (
	pageBits = 9
	pageSize = 1 << pageBits
	// pageBatch pages are allocated at once, fewer as long as there are fewer.
	pageBatch = 16
)

type idPage struct {
	slots [pageSize]int32
	live  int32
}

// Index maps n (from 1) to a slot (not 0).
type Index struct {
	pages []*idPage // nil: no number of the page has a slot
	base  uint64    // page number of pages[0]; all earlier pages are empty for ever
	first int       // every page before pages[first] is nil
	free  []*idPage
	made  int // number of pages allocated so far
}

// Span allocates the directory of an empty index for the numbers from oldest (0: none) to newest. A caller that puts
// numbers in random order needs it.
func (x *Index) Span(oldest, newest uint64) {
	x.base = oldest >> pageBits
	if oldest == 0 {
		x.base = newest >> pageBits
	}
	x.pages = make([]*idPage, newest>>pageBits-x.base+1)
}

// Get returns the slot of n, 0 when it has none.
func (x *Index) Get(n uint64) int32 {
	p := n>>pageBits - x.base
	if p >= uint64(len(x.pages)) || x.pages[p] == nil {
		return 0
	}
	return x.pages[p].slots[n&(pageSize-1)]
}

// Put sets the slot of n, which must have none.
func (x *Index) Put(n uint64, slot int32) {
	p := n>>pageBits - x.base
	if p >= uint64(len(x.pages)) || x.pages[p] == nil {
		x.makePage(n >> pageBits)
		p = n>>pageBits - x.base
	}
	page := x.pages[p]
	page.slots[n&(pageSize-1)] = slot
	page.live++
}

// Delete removes the slot of n, which must have one.
func (x *Index) Delete(n uint64) {
	p := n>>pageBits - x.base
	page := x.pages[p]
	page.slots[n&(pageSize-1)] = 0
	if page.live--; page.live == 0 {
		x.free = append(x.free, page)
		x.pages[p] = nil
	}
}

func (x *Index) makePage(number uint64) {
	if number < x.base {
		// The number is below every page, because it got its slot late: shift the directory.
		shift := make([]*idPage, x.base-number, int(x.base-number)+len(x.pages))
		x.pages, x.base, x.first = append(shift, x.pages...), number, 0
	}
	for number-x.base >= uint64(len(x.pages)) {
		if len(x.pages) == cap(x.pages) {
			x.trim()
		}
		x.pages = append(x.pages, nil)
	}
	if len(x.free) == 0 {
		batch := make([]idPage, max(1, min(pageBatch, x.made)))
		x.made += len(batch)
		for i := range batch {
			x.free = append(x.free, &batch[i])
		}
	}
	p := int(number - x.base)
	x.pages[p] = x.free[len(x.free)-1]
	x.free = x.free[:len(x.free)-1]
	x.first = min(x.first, p)
}

// trim drops the empty pages at the front when they are most of the directory, so that
// it stays as long as the span of the numbers with slots, not as the history.
func (x *Index) trim() {
	x.skipEmpty()
	if x.first > len(x.pages)/2 {
		n := copy(x.pages, x.pages[x.first:])
		clear(x.pages[n:])
		x.pages = x.pages[:n]
		x.base += uint64(x.first)
		x.first = 0
	}
}

func (x *Index) skipEmpty() {
	for x.first < len(x.pages) && x.pages[x.first] == nil {
		x.first++
	}
}

// Next returns the lowest number at or above from that has a slot, and the slot; ok is false when there is none. Walks
// from the front pass each page that has become empty only once.
func (x *Index) Next(from uint64) (n uint64, slot int32, ok bool) {
	x.skipEmpty()
	p := x.first
	if q := from >> pageBits; q > x.base+uint64(p) {
		p = int(min(q-x.base, uint64(len(x.pages))))
	}
	for ; p < len(x.pages); p++ {
		page := x.pages[p]
		if page == nil {
			continue
		}
		start := (x.base + uint64(p)) << pageBits
		i := uint64(0)
		if from > start {
			i = from - start
		}
		for ; i < pageSize; i++ {
			if page.slots[i] != 0 {
				return start + i, page.slots[i], true
			}
		}
	}
	return 0, 0, false
}

// Pages returns the length of the directory.
func (x *Index) Pages() int { return len(x.pages) }
