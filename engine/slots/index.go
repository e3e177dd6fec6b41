package slots

import "unsafe"

// An index consists of pages of pageSize numbers. A page is made when the first of its
// numbers gets a slot, and is reused when the last has lost it. A number that keeps its slot for ever keeps one page
// (2 KiB), and 16 bytes for every pageSize numbers after it. The directory counts the slots of a page, so that a change
// touches one line of the page.
const (
	pageBits = 9
	pageSize = 1 << pageBits
	// pageBatch pages are allocated at once, fewer as long as there are fewer.
	pageBatch = 16
)

type idPage [pageSize]int32

// pageEntry is the entry of a page in the directory.
type pageEntry struct {
	page *idPage // nil: no number of the page has a slot
	live int32   // numbers that have one
}

// Index maps n (from 1) to a slot (not 0).
type Index struct {
	pages []pageEntry
	base  uint64 // page number of pages[0]; all earlier pages are empty for ever
	first int    // every page before pages[first] is empty
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
	x.pages = make([]pageEntry, newest>>pageBits-x.base+1)
}

// Get returns the slot of n, 0 when it has none.
func (x *Index) Get(n uint64) int32 {
	p := n>>pageBits - x.base
	if p >= uint64(len(x.pages)) || x.pages[p].page == nil {
		return 0
	}
	return x.pages[p].page[n&(pageSize-1)]
}

// CacheLine returns the cache line in which Get finds the slot of n.
func (x *Index) CacheLine(n uint64) CacheLine {
	p := n>>pageBits - x.base
	if p >= uint64(len(x.pages)) || x.pages[p].page == nil {
		return 0
	}
	return CacheLine(unsafe.Pointer(&x.pages[p].page[n&(pageSize-1)]))
}

// Put sets the slot of n, which must have none.
func (x *Index) Put(n uint64, slot int32) {
	p := n>>pageBits - x.base
	if p >= uint64(len(x.pages)) || x.pages[p].page == nil {
		x.makePage(n >> pageBits)
		p = n>>pageBits - x.base
	}
	e := &x.pages[p]
	e.page[n&(pageSize-1)] = slot
	e.live++
}

// Delete removes the slot of n, which must have one.
func (x *Index) Delete(n uint64) {
	e := &x.pages[n>>pageBits-x.base]
	if e.page != nil { // it is not: without this, Go would read the page's head to see that
		e.page[n&(pageSize-1)] = 0
	}
	if e.live--; e.live == 0 {
		x.free = append(x.free, e.page)
		e.page = nil
	}
}

func (x *Index) makePage(number uint64) {
	if number < x.base {
		// The number is below every page, because it got its slot late: shift the directory.
		shift := make([]pageEntry, x.base-number, int(x.base-number)+len(x.pages))
		x.pages, x.base, x.first = append(shift, x.pages...), number, 0
	}
	for number-x.base >= uint64(len(x.pages)) {
		if len(x.pages) == cap(x.pages) {
			x.trim()
		}
		x.pages = append(x.pages, pageEntry{})
	}
	if len(x.free) == 0 {
		batch := make([]idPage, max(1, min(pageBatch, x.made)))
		x.made += len(batch)
		for i := range batch {
			x.free = append(x.free, &batch[i])
		}
	}
	p := int(number - x.base)
	x.pages[p].page = x.free[len(x.free)-1]
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
	for x.first < len(x.pages) && x.pages[x.first].page == nil {
		x.first++
	}
}

// Next returns the lowest number at or above from that has a slot, and the slot; ok is false when there is none. Walks
// from the front pass each page that has become empty only once.
func (x *Index) Next(from uint64) (n uint64, slot int32, ok bool) {
	if slot = x.Get(from); slot != 0 {
		return from, slot, true
	}
	x.skipEmpty()
	p := x.first
	if q := from >> pageBits; q > x.base+uint64(p) {
		p = int(min(q-x.base, uint64(len(x.pages))))
	}
	for ; p < len(x.pages); p++ {
		page := x.pages[p].page
		if page == nil {
			continue
		}
		start := (x.base + uint64(p)) << pageBits
		i := uint64(0)
		if from > start {
			i = from - start
		}
		for ; i < pageSize; i++ {
			if page[i] != 0 {
				return start + i, page[i], true
			}
		}
	}
	return 0, 0, false
}

// Pages returns the length of the directory.
func (x *Index) Pages() int { return len(x.pages) }
