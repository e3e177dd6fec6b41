package engine

import "tickhive/engine/slots"

// The levels next to the touch appear and disappear with every other order. They are therefore in a short array
// instead of the tree, which saves a tenth of the time of an operation on a busy book. topMove levels move
// between array and tree at once.
const (
	topLevels = 16
	topMove   = 8
)

// The price cache maps price modulo the cache's size to the level last found at that price. The cache grows
// with the side, so that a thousand quiet pairs take little memory.
const (
	cacheFirst = 64
	cacheLast  = 8192
)

// ladder holds the levels of one side of a book, sorted by key. Better prices have higher keys. The best
// topLevels levels are in an array, the others in a tree.
//
//	tree: all the others | top: worst .. best
type ladder struct {
	side  Side
	best  int32 // slot of the best level, 0: the side is empty
	touch int64 // price of the best level
	n     int   // number of levels in top; it is 0 only when the tree is empty too
	top   [topLevels]rung
	tree  slots.Keys
	open  int64 // lots resting on this side, hidden ones included
	cache []int32
}

// rung is one level of the top.
type rung struct {
	key  int64
	slot int32
}

func newLadder(side Side) ladder {
	return ladder{tree: slots.NewKeys(), side: side, cache: make([]int32, cacheFirst)}
}

// key rises with the quality of a price. The touch is therefore among a node's
// last entries, which are the cheapest to add and remove.
func (l *ladder) key(price int64) int64 {
	if l.side == Buy {
		return price
	}
	return -price
}

// better reports whether price a comes before b.
func (l *ladder) better(a, b int64) bool { return l.key(a) > l.key(b) }

// count returns the number of levels.
func (l *ladder) count() int { return l.tree.Count() + l.n }

// find returns the level at price, 0 when there is none.
func (l *ladder) find(levels *slots.Slab[level], price int64) int32 {
	i := uint64(price) & uint64(len(l.cache)-1)
	if s := l.cache[i]; s != 0 && levels.At(s).price == price {
		return s
	}
	s := l.search(l.key(price))
	if s != 0 {
		l.cache[i] = s
	}
	return s
}

func (l *ladder) search(key int64) int32 {
	if l.n == 0 {
		return 0
	}
	if key < l.top[0].key {
		return l.tree.Get(key)
	}
	for i := l.n - 1; l.top[i].key >= key; i-- { // the worst key of the array is at most key
		if l.top[i].key == key {
			return l.top[i].slot
		}
	}
	return 0
}

// add adds the level at price, which must not exist yet.
func (l *ladder) add(levels *slots.Slab[level], price int64) (int32, *level) {
	s := levels.Alloc()
	lv := levels.At(s)
	*lv = level{price: price, side: l.side}
	l.insert(l.key(price), s)
	if n := len(l.cache); l.count()*2 > n && n < cacheLast {
		l.cache = make([]int32, 2*n)
	}
	l.cache[uint64(price)&uint64(len(l.cache)-1)] = s
	return s, lv
}

func (l *ladder) insert(key int64, s int32) {
	if l.n == topLevels && key > l.top[0].key {
		l.spill()
	}
	if key < l.top[0].key && (l.n == topLevels || l.tree.Count() > 0) {
		l.tree.Set(key, s)
		return
	}
	i := l.n
	for ; i > 0 && l.top[i-1].key > key; i-- {
		l.top[i] = l.top[i-1]
	}
	l.top[i] = rung{key, s}
	l.n++
	l.cacheTouch()
}

// cacheTouch updates best and touch, which every match reads.
func (l *ladder) cacheTouch() {
	r := l.top[l.n-1]
	l.best, l.touch = r.slot, l.key(r.key) // key maps a price to a key and a key back to its price
}

// spill moves the worst levels of the array to the tree.
func (l *ladder) spill() {
	for _, r := range l.top[:topMove] {
		l.tree.Set(r.key, r.slot)
	}
	l.n = copy(l.top[:], l.top[topMove:])
}

// refill moves the best levels of the tree to the empty array.
func (l *ladder) refill() {
	n := min(topMove, l.tree.Count())
	for i := n - 1; i >= 0; i-- {
		key, s := l.tree.PopMax()
		l.top[i] = rung{key, s}
	}
	l.n = n
}

// remove removes an empty level.
func (l *ladder) remove(levels *slots.Slab[level], s int32) {
	price := levels.At(s).price
	if i := uint64(price) & uint64(len(l.cache)-1); l.cache[i] == s {
		l.cache[i] = 0
	}
	levels.Release(s)
	key := l.key(price)
	if key < l.top[0].key {
		l.tree.Delete(key)
		return
	}
	l.n--
	if s != l.best { // the touch is the last one
		i := l.n - 1
		for l.top[i].slot != s {
			i--
		}
		copy(l.top[i:l.n], l.top[i+1:])
	}
	if l.n == 0 {
		l.refill()
	}
	if l.n > 0 {
		l.cacheTouch()
		return
	}
	l.best, l.touch = 0, 0
}

// down calls visit for the levels, best first, until visit returns false.
func (l *ladder) down(visit func(slot int32) bool) {
	for i := l.n - 1; i >= 0; i-- {
		if !visit(l.top[i].slot) {
			return
		}
	}
	l.tree.Down(visit)
}

// downFrom visits the levels from price on, best first, until visit says no; 0: from the best.
func (l *ladder) downFrom(price int64, visit func(slot int32) bool) {
	if price == 0 {
		l.down(visit)
		return
	}
	key := l.key(price)
	for i := l.n - 1; i >= 0; i-- {
		if l.top[i].key <= key && !visit(l.top[i].slot) {
			return
		}
	}
	l.tree.DownFrom(key, visit)
}

// worst returns the slot of the level farthest from the touch, 0: side is empty.
func (l *ladder) worst() int32 {
	if s := l.tree.Min(); s != 0 {
		return s
	}
	if l.n > 0 {
		return l.top[0].slot
	}
	return 0
}

// ladders holds the two sides of a book.
type ladders [2]ladder

// crosses reports whether an order at price would take from the other side.
func (l *ladders) crosses(side Side, price int64) bool {
	if side == Buy {
		return l[Sell].best != 0 && price >= l[Sell].touch
	}
	return price <= l[Buy].touch // the touch of an empty side is 0
}

// crossed reports whether the best bid is at or above the best ask.
func (l *ladders) crossed() bool {
	return l[Sell].best != 0 && l[Buy].touch >= l[Sell].touch
}
