package engine

import "github.com/tickhive/tickhive/engine/slots"

// The price cache maps price modulo the cache's size to the level last found at that price. The cache grows
// with the side, so that a thousand quiet pairs take little memory.
const (
	cacheFirst = 64
	cacheLast  = 8192
)

// ladder holds the levels of one side of a book, sorted by key. Better prices have higher keys.
type ladder struct {
	slots.Sorted
	side  Side
	flip  int64 // of key: 0 for bids, -1 for asks
	best  int32 // slot of the best level, 0: the side is empty
	touch int64 // key of the best level, below all keys when the side is empty
	open  int64 // lots resting on this side, hidden ones included
	cache []int32
}

func newLadder(side Side) ladder {
	l := ladder{Sorted: slots.NewSorted(), side: side, flip: -int64(side), cache: make([]int32, cacheFirst)}
	l.cacheTouch()
	return l
}

// key rises with the quality of a price: it is the price for bids, minus the price for asks. The touch is therefore
// among a node's last entries, which are the cheapest to add and remove. The key of a key is the price. There is
// no branch, because the sides of orders follow each other at random, and the CPU would guess half of them wrong.
func (l *ladder) key(price int64) int64 { return (price ^ l.flip) - l.flip }

// downFrom visits the levels from price on, best first, until visit returns false; 0: from the best.
func (l *ladder) downFrom(price int64, visit func(slot int32) bool) {
	if price == 0 {
		l.Down(visit)
		return
	}
	l.DownFrom(l.key(price), visit)
}

// better reports whether price a comes before b.
func (l *ladder) better(a, b int64) bool { return l.key(a) > l.key(b) }

// find returns the level at price, 0 when there is none.
func (l *ladder) find(levels *slots.Slab[level], price int64) int32 {
	key := l.key(price)
	if key > l.touch {
		return 0
	}
	if s := l.cached(price); levels.At(s).price == price { // slot 0 has the price 0
		return s
	}
	s := l.Get(key)
	if s != 0 {
		l.cache[uint64(price)&uint64(len(l.cache)-1)] = s
	}
	return s
}

// cached returns what the price cache has for a price: its level, another one or 0.
func (l *ladder) cached(price int64) int32 { return l.cache[uint64(price)&uint64(len(l.cache)-1)] }

// add adds the level at price, which must not exist yet.
func (l *ladder) add(levels *slots.Slab[level], price int64) (int32, *level) {
	s := levels.Alloc()
	lv := levels.At(s)
	*lv = level{price: price, side: l.side}
	if key := l.key(price); key > l.touch {
		l.Push(key, s)
		l.best, l.touch = s, key
	} else {
		l.Insert(key, s)
	}
	if n := len(l.cache); l.Count()*2 > n && n < cacheLast {
		l.cache = make([]int32, 2*n)
	}
	l.cache[uint64(price)&uint64(len(l.cache)-1)] = s
	return s, lv
}

// cacheTouch updates best and touch, which every match reads.
func (l *ladder) cacheTouch() {
	r := l.Best()
	l.best, l.touch = r.Slot, r.Key
}

// remove removes an empty level.
func (l *ladder) remove(levels *slots.Slab[level], s int32) {
	price := levels.At(s).price
	if i := uint64(price) & uint64(len(l.cache)-1); l.cache[i] == s {
		l.cache[i] = 0
	}
	levels.Release(s)
	if s == l.best {
		l.Pop()
		l.cacheTouch()
	} else {
		l.Delete(l.key(price), s)
	}
}

// ladders holds the two sides of a book.
type ladders [2]ladder

// reached reports whether an order of the other side, with a limit of at least 1, would take from this one.
func (l *ladder) reached(limit int64) bool { return l.key(limit) <= l.touch }

// crosses reports whether an order at price would take from the other side.
func (l *ladders) crosses(side Side, price int64) bool { return l[side&1^1].reached(price) }

// crossed reports whether the best bid is at or above the best ask.
func (l *ladders) crossed() bool { return l[Buy].best != 0 && l.crosses(Buy, l[Buy].touch) }
