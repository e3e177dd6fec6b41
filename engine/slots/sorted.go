package slots

import "math"

// The levels next to the touch of a book appear and disappear with every other order. They are therefore in a short
// array instead of the tree, which saves a tenth of the time of an operation on a busy book. TopMove levels move
// between array and tree at once.
const (
	TopLevels = 16
	TopMove   = 8
)

// Sorted is a sorted map from key to slot whose highest TopLevels entries are in an array, the others in a tree.
//
//	Tree: all the others | Top: lowest .. highest
type Sorted struct {
	N    int // number of entries in Top; it is 0 only when Tree is empty too
	Top  [TopLevels]Rung
	Tree Keys
}

// Rung is an entry of Sorted.Top: a key, such as a price, and its slot.
type Rung struct {
	Key  int64
	Slot int32
}

// NewSorted returns an empty map.
func NewSorted() Sorted { return Sorted{Tree: NewKeys()} }

// Count returns the number of keys.
func (x *Sorted) Count() int { return x.Tree.Count() + x.N }

// Best returns the highest entry, slot 0 below all keys when there is none.
func (x *Sorted) Best() Rung {
	if x.N == 0 {
		return Rung{Key: math.MinInt64}
	}
	return x.Top[x.N-1]
}

// Get returns the slot under key, 0 when there is none.
func (x *Sorted) Get(key int64) int32 {
	if x.N == 0 {
		return 0
	}
	if key < x.Top[0].Key {
		return x.Tree.Get(key)
	}
	for i := x.N - 1; x.Top[i].Key >= key; i-- { // the lowest key of the array is at most key
		if x.Top[i].Key == key {
			return x.Top[i].Slot
		}
	}
	return 0
}

// Insert stores the slot of a key that has none.
func (x *Sorted) Insert(key int64, s int32) {
	if x.N == TopLevels && key > x.Top[0].Key {
		x.spill()
	}
	if key < x.Top[0].Key && (x.N == TopLevels || x.Tree.Count() > 0) {
		x.Tree.Set(key, s)
		return
	}
	i := x.N
	for ; i > 0 && x.Top[i-1].Key > key; i-- {
		x.Top[i] = x.Top[i-1]
	}
	x.Top[i] = Rung{key, s}
	x.N++
}

// Push stores the slot of a key above all others.
func (x *Sorted) Push(key int64, s int32) {
	if x.N == TopLevels {
		x.spill()
	}
	x.Top[x.N] = Rung{key, s}
	x.N++
}

// spill moves the lowest entries of the array to the tree.
func (x *Sorted) spill() {
	for _, r := range x.Top[:TopMove] {
		x.Tree.Set(r.Key, r.Slot)
	}
	x.N = copy(x.Top[:], x.Top[TopMove:])
}

// refill moves the highest entries of the tree to the empty array.
func (x *Sorted) refill() {
	n := min(TopMove, x.Tree.Count())
	for i := n - 1; i >= 0; i-- {
		key, s := x.Tree.PopMax()
		x.Top[i] = Rung{key, s}
	}
	x.N = n
}

// Pop removes the highest key. There must be one.
func (x *Sorted) Pop() {
	if x.N--; x.N == 0 {
		x.refill()
	}
}

// Delete removes a key, which must be there with the slot.
func (x *Sorted) Delete(key int64, s int32) {
	if key < x.Top[0].Key {
		x.Tree.Delete(key)
		return
	}
	i := x.N - 1
	for x.Top[i].Slot != s {
		i--
	}
	if x.N--; i < x.N {
		copy(x.Top[i:x.N], x.Top[i+1:])
	}
	if x.N == 0 {
		x.refill()
	}
}

// Down calls visit for the slots from the highest key on, until visit returns false.
func (x *Sorted) Down(visit func(slot int32) bool) {
	for i := x.N - 1; i >= 0; i-- {
		if !visit(x.Top[i].Slot) {
			return
		}
	}
	x.Tree.Down(visit)
}

// DownFrom visits the slots from the highest key at or below key on, until visit returns false.
func (x *Sorted) DownFrom(key int64, visit func(slot int32) bool) {
	for i := x.N - 1; i >= 0; i-- {
		if x.Top[i].Key <= key && !visit(x.Top[i].Slot) {
			return
		}
	}
	x.Tree.DownFrom(key, visit)
}

// Lowest returns the slot of the lowest key, 0 when there is none.
func (x *Sorted) Lowest() int32 {
	if s := x.Tree.Min(); s != 0 {
		return s
	}
	if x.N > 0 {
		return x.Top[0].Slot
	}
	return 0
}
