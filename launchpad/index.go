package launchpad

import (
	"bytes"

	"github.com/tidwall/btree"

	"tickhive/internal/fixed"
)

// Sort is an order of the token list, descending, ties by address ascending.
type Sort uint8

// The sorts of docs/contract/api.md.
const (
	Recent Sort = iota // spawnedAt
	Volume             // volume24h
	TVL
	Holders
	sorts
)

var sortNames = [sorts]string{"recent", "volume", "tvl", "holders"}

func (s Sort) String() string { return sortNames[s] }

// filter is one combination of the filters: pool side (or any) with or without "only
// boosted". Each has an index of its own, so no query skips what it does not want.
type filter uint8

const filters = (sides + 1) * 2

// filterOf returns the filter for a pool side (nil: any) and "only boosted".
func filterOf(side *Side, boosted bool) filter {
	c := filter(0)
	if side != nil {
		c = 2 * (1 + filter(*side))
	}
	if boosted {
		c++
	}
	return c
}

func (c filter) matches(t *Token) bool {
	if c&1 == 1 && !t.Boosted {
		return false
	}
	return c < 2 || Side(c/2-1) == t.Side
}

// place is a token's position under one sort.
type place struct {
	value fixed.U128
	id    *Ident
}

func placeBefore(a, b place) bool {
	if c := a.value.Cmp(b.value); c != 0 {
		return c > 0
	}
	return bytes.Compare(a.id.Address[:], b.id.Address[:]) < 0
}

func placeOf(t *Token, by Sort) place {
	p := place{id: t.Ident}
	switch by {
	case Recent:
		p.value.Lo = uint64(t.SpawnedSec)
	case Volume:
		p.value = t.Volume
	case TVL:
		p.value = t.TVL
	case Holders:
		p.value.Lo = uint64(t.Holders)
	}
	return p
}

// index holds every token's place under each sort in each filter that matches it.
type index [sorts][filters]*btree.BTreeG[place]

func newIndex() (ix index) {
	for by := range ix {
		for c := range ix[by] {
			// No lock: the writer is one goroutine and readers have copies.
			ix[by][c] = btree.NewBTreeGOptions(placeBefore, btree.Options{NoLocks: true, Degree: degree})
		}
	}
	return ix
}

func (ix *index) copy() (out index) {
	for by := range ix {
		for c := range ix[by] {
			out[by][c] = ix[by][c].Copy()
		}
	}
	return out
}

func (ix *index) add(t *Token) {
	for by := range Sort(sorts) {
		p := placeOf(t, by)
		for c := range filter(filters) {
			if c.matches(t) {
				ix[by][c].Set(p)
			}
		}
	}
}

// change moves a token from the places of before to the places of t. It leaves equal places
// alone: most changes move one sort, many none.
func (ix *index) change(before, t *Token) {
	for by := range Sort(sorts) {
		from, to := placeOf(before, by), placeOf(t, by)
		for c := range filter(filters) {
			was, is := c.matches(before), c.matches(t)
			if was == is && from.value == to.value {
				continue
			}
			if was {
				ix[by][c].Delete(from)
			}
			if is {
				ix[by][c].Set(to)
			}
		}
	}
}

// rank counts the places of tr before p.
func rank(tr *btree.BTreeG[place], p place) int {
	lo, hi := 0, tr.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if at, _ := tr.GetAt(mid); placeBefore(at, p) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
