package slots

import (
	"math"

	"github.com/tidwall/btree"
)

// treeDegree is the degree of the B-tree; a node splits at 255 entries. With a degree of 32, a book that varies
// between 63 and 64 levels would split and merge a node at every order. The number of levels near the touch
// varies by less than 255.
const treeDegree = 128

// Keys is a sorted map from key to slot. It always holds one entry below all
// others: a tree that becomes empty would drop its root and allocate the next one.
type Keys struct{ tree *btree.Map[int64, int32] }

// NewKeys returns an empty map.
func NewKeys() Keys {
	k := Keys{btree.NewMap[int64, int32](treeDegree)}
	k.tree.Set(math.MinInt64, 0)
	return k
}

// Count returns the number of keys.
func (k Keys) Count() int { return k.tree.Len() - 1 }

// Get returns the slot under key, 0 when there is none.
func (k Keys) Get(key int64) int32 {
	s, _ := k.tree.Get(key)
	return s
}

// Set stores the slot of key.
func (k Keys) Set(key int64, s int32) { k.tree.Set(key, s) }

// Delete removes key.
func (k Keys) Delete(key int64) { k.tree.Delete(key) }

// Max returns the highest key and its slot, 0 when there is none.
func (k Keys) Max() (int64, int32) {
	key, s, _ := k.tree.Max()
	return key, s
}

// PopMax removes and returns the highest key and its slot. There must be one.
func (k Keys) PopMax() (int64, int32) {
	key, s, _ := k.tree.PopMax()
	return key, s
}

// Down calls visit for the slots from the highest key on, until visit returns false.
func (k Keys) Down(visit func(s int32) bool) {
	k.tree.Reverse(func(_ int64, s int32) bool { return s != 0 && visit(s) })
}

// DownFrom visits the slots from the highest key at or below key on until visit says no.
func (k Keys) DownFrom(key int64, visit func(s int32) bool) {
	k.tree.Descend(key, func(_ int64, s int32) bool { return s != 0 && visit(s) })
}

// Up visits the slots from the lowest key on until visit says no.
func (k Keys) Up(visit func(s int32) bool) {
	k.tree.Scan(func(_ int64, s int32) bool { return s == 0 || visit(s) })
}

// Min returns the slot of the lowest key, 0 when there is none.
func (k Keys) Min() (slot int32) {
	k.Up(func(s int32) bool {
		slot = s
		return false
	})
	return slot
}
