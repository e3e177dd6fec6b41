package hive

import (
	"sort"
	"sync/atomic"
)

// idList is an ascending list of entry ids: one writer appends, readers take what is
// there. The array is filled above its published length only and replaced when full; an
// array once seen stays as it is.
type idList struct{ head atomic.Pointer[idArray] }

type idArray struct {
	n   atomic.Uint32 // published length
	ids []uint32
}

func (l *idList) append(id uint64) {
	a := l.head.Load()
	var n uint32
	if a != nil {
		n = a.n.Load()
	}
	if a == nil || int(n) == len(a.ids) {
		// Doubling wastes half at worst, which for the few long lists would be most
		// of the log's memory: those grow by a quarter.
		size := max(4, 2*int(n))
		if n > 4096 {
			size = int(n) + int(n)/4
		}
		grown := &idArray{ids: make([]uint32, size)}
		if a != nil {
			copy(grown.ids, a.ids)
		}
		grown.n.Store(n)
		a = grown
		l.head.Store(a)
	}
	a.ids[n] = uint32(id)
	a.n.Store(n + 1)
}

// upTo is the ids up to last: what a view of that many entries may know.
func (l *idList) upTo(last uint64) []uint32 {
	a := l.head.Load()
	if a == nil {
		return nil
	}
	list := a.ids[:a.n.Load()]
	if n := len(list); n == 0 || uint64(list[n-1]) <= last {
		return list
	}
	return list[:sort.Search(len(list), func(i int) bool { return uint64(list[i]) > last })]
}

// postings is one list per combination of action type and source tier, "any" included:
// a query with any of the filters is one list and never a merge.
type postings struct {
	lists [(actionTypes + 1) * (tiers + 1)]idList
}

// list is that of a filter; nil means any.
func (p *postings) list(t *ActionType, tier *Tier) *idList {
	i := 0
	if t != nil {
		i = (int(*t) + 1) * (tiers + 1)
	}
	if tier != nil {
		i += int(*tier)
	}
	return &p.lists[i]
}

func (p *postings) add(e *Entry) {
	for _, t := range []*ActionType{nil, &e.Type} {
		p.list(t, nil).append(e.ID)
		p.list(t, &e.Source.Tier).append(e.ID)
	}
}
