package accrual

import (
	"cmp"
	"iter"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/fixed"
)

// ArchiveKey names a sum of accruals that are no longer retained one by one.
type ArchiveKey struct {
	Day      int64 // Unix days
	From     uint32
	Currency uint32
	Level    uint32
	Type     Type
}

// Archive holds sums by key. The zero value is empty. A copy costs a few pointers, because it shares its nodes with the
// original until one of the two changes; so a reader may keep one while its owner goes on.
//
// Owner: one goroutine at a time changes and copies it; any number may read a copy.
type Archive struct{ sums *btree.BTreeG[archived] }

type archived struct {
	key ArchiveKey
	sum fixed.I192
}

// archiveDegree bounds a node to 15 sums: a change copies the nodes above it, which a reader may hold.
const archiveDegree = 8

func compareKeys(a, b ArchiveKey) int {
	return cmp.Or(
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.From, b.From), cmp.Compare(a.Currency, b.Currency),
		cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type),
	)
}

// Len returns the number of sums.
func (a Archive) Len() int {
	if a.sums == nil {
		return 0
	}
	return a.sums.Len()
}

// All yields the sums by key.
func (a Archive) All() iter.Seq2[ArchiveKey, fixed.I192] {
	return func(yield func(ArchiveKey, fixed.I192) bool) {
		if a.sums != nil {
			a.sums.Scan(func(s archived) bool { return yield(s.key, s.sum) })
		}
	}
}

// Add adds an amount to a sum.
func (a *Archive) Add(k ArchiveKey, amount fixed.I192) {
	if a.sums == nil {
		before := func(x, y archived) bool { return compareKeys(x.key, y.key) < 0 }
		a.sums = btree.NewBTreeGOptions(before, btree.Options{Degree: archiveDegree, NoLocks: true})
	}
	now, _ := a.sums.Get(archived{key: k})
	a.sums.Set(archived{k, now.sum.Add(amount)})
}

// Copy returns a copy that later changes do not touch.
func (a Archive) Copy() Archive {
	if a.sums == nil {
		return a
	}
	return Archive{a.sums.Copy()}
}
