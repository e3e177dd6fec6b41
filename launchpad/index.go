package launchpad

import (
	"bytes"

	"github.com/tidwall/btree"

	"tickhive/internal/fixed"
)

// Sort is an order of the token list: descending by one figure, ties ascending by address.
type Sort uint8

// The sorts of docs/contract/api.md.
const (
	Recent Sort = iota // by spawnedAt
	Volume             // by volume24h
	TVL
	Holders
	sorts
)

var sortNames = [sorts]string{"recent", "volume", "tvl", "holders"}

func (s Sort) String() string { return sortNames[s] }

// filter is one combination of the list's two filters: pool side (one or any) and "only boosted" (on or off).
// Each combination has its own index, so a query reads only matching tokens.
type filter uint8

const filters = (sides + 1) * 2

// filterOf returns the filter of a pool side (nil: any) and "only boosted".
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

// place is a token's key in one index: its figure and its address.
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

// index holds, for each Sort and each filter, the places of the matching tokens.
type index [sorts][filters]*btree.BTreeG[place]

func newIndex() (ix index) {
	for by := range ix {
		for c := range ix[by] {
			// No lock is needed: one goroutine writes, and readers have copies.
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

// change replaces the places of before by the places of t, the token's next version. It skips equal places:
// most changes affect one Sort, many affect none.
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

// rank returns the number of places in tr before p.
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
