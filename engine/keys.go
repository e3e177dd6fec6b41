package engine

import (
	"math"

	"github.com/tidwall/btree"
)

// treeDegree is the degree of the B-tree; a node splits at 255 entries. With a degree of 32, a book that varies
// between 63 and 64 levels would split and merge a node at every order. The number of levels near the touch
// varies by less than 255.
const treeDegree = 128

// keys is a sorted map from key to level slot. It always holds one entry below all
// others: a tree that becomes empty would drop its root and allocate the next one.
type keys struct{ tree *btree.Map[int64, int32] }

func newKeys() keys {
	k := keys{btree.NewMap[int64, int32](treeDegree)}
	k.tree.Set(math.MinInt64, 0)
	return k
}

// count returns the number of keys.
func (k keys) count() int { return k.tree.Len() - 1 }

// get returns the slot under key, 0 when there is none.
func (k keys) get(key int64) int32 {
	s, _ := k.tree.Get(key)
	return s
}

func (k keys) set(key int64, s int32) { k.tree.Set(key, s) }

func (k keys) del(key int64) { k.tree.Delete(key) }

// max returns the highest key and its slot, 0 when there is none.
func (k keys) max() (int64, int32) {
	key, s, _ := k.tree.Max()
	return key, s
}

// popMax removes and returns max. There must be one.
func (k keys) popMax() (int64, int32) {
	key, s, _ := k.tree.PopMax()
	return key, s
}

// down calls visit for the slots from the highest key on, until visit returns false.
func (k keys) down(visit func(s int32) bool) {
	k.tree.Reverse(func(_ int64, s int32) bool { return s != 0 && visit(s) })
}

// downFrom visits the slots from the highest key at or below key on until visit says no.
func (k keys) downFrom(key int64, visit func(s int32) bool) {
	k.tree.Descend(key, func(_ int64, s int32) bool { return s != 0 && visit(s) })
}

// up visits the slots from the lowest key on until visit says no.
func (k keys) up(visit func(s int32) bool) {
	k.tree.Scan(func(_ int64, s int32) bool { return s == 0 || visit(s) })
}

// min returns the slot of the lowest key, 0 when there is none.
func (k keys) min() (slot int32) {
	k.up(func(s int32) bool {
		slot = s
		return false
	})
	return slot
}
