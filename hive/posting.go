package hive

import (
	"sort"
	"sync/atomic"
)

// idList is an ascending list of entry numbers with one writer and any number of readers. The writer fills the
// array above the published length, and allocates a larger array when it is full. The part that readers can see
// never changes.
type idList struct{ head atomic.Pointer[idArray] }

type idArray struct {
	n   atomic.Uint32 // number of published ids
	ids []uint32
}

func (l *idList) append(id uint64) {
	a := l.head.Load()
	var n uint32
	if a != nil {
		n = a.n.Load()
	}
	if a == nil || int(n) == len(a.ids) {
		// Doubling leaves up to half of an array unused. For the few long lists that would be most of the log's
		// memory, so those grow by a quarter.
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

// upTo returns the ids that are at most last: the entries that a view with last entries covers.
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

// postings holds one list for each combination of action type and source tier, "any" included. A query with any
// filter therefore reads one list and merges none.
type postings struct {
	lists [(actionTypes + 1) * (tiers + 1)]idList
}

// list returns the posting list of a filter; nil means any.
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
