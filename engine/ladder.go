package engine

import "github.com/tidwall/btree"

// treeDegree puts the size at which a node splits (255 entries) beyond what a touch
// swings over; at 32 a book between 63 and 64 levels splits and joins at every order.
const treeDegree = 128

// The price cache maps price modulo its size to the level last found there. It grows with
// the side, so that a thousand quiet pairs cost nothing.
const (
	cacheFirst = 64
	cacheLast  = 8192
)

// ladder is the levels of one side of a book, ordered by how good they are: keys rise
// towards the best level, which is kept at hand.
type ladder struct {
	tree  *btree.Map[int64, int32]
	side  Side
	best  int32 // slot of the best level, 0: side is empty
	open  int64 // lots resting on this side, hidden ones included
	cache []int32
}

func newLadder(side Side) ladder {
	return ladder{tree: btree.NewMap[int64, int32](treeDegree), side: side, cache: make([]int32, cacheFirst)}
}

// key rises with the quality of a price. A node's last entries are the cheapest to add
// and remove, and that is where the touch is.
func (l *ladder) key(price int64) int64 {
	if l.side == Buy {
		return price
	}
	return -price
}

// better reports whether price a comes before b.
func (l *ladder) better(a, b int64) bool { return l.key(a) > l.key(b) }

// find is the level at price, 0 when there is none.
func (l *ladder) find(levels *slab[level], price int64) int32 {
	i := uint64(price) & uint64(len(l.cache)-1)
	if s := l.cache[i]; s != 0 && levels.at(s).price == price {
		return s
	}
	s, ok := l.tree.Get(l.key(price))
	if ok {
		l.cache[i] = s
	}
	return s
}

// add makes the level at price, which must not exist.
func (l *ladder) add(levels *slab[level], price int64) int32 {
	s := levels.take()
	*levels.at(s) = level{price: price, side: l.side}
	l.tree.Set(l.key(price), s)
	if l.best == 0 || l.better(price, levels.at(l.best).price) {
		l.best = s
	}
	if n := len(l.cache); l.tree.Len()*2 > n && n < cacheLast {
		l.cache = make([]int32, 2*n)
	}
	l.cache[uint64(price)&uint64(len(l.cache)-1)] = s
	return s
}

// remove drops an empty level.
func (l *ladder) remove(levels *slab[level], s int32) {
	price := levels.at(s).price
	if i := uint64(price) & uint64(len(l.cache)-1); l.cache[i] == s {
		l.cache[i] = 0
	}
	if s == l.best {
		l.tree.PopMax()
		_, l.best, _ = l.tree.Max()
	} else {
		l.tree.Delete(l.key(price))
	}
	levels.release(s)
}
