package hive

import (
	"sort"
	"sync/atomic"
)

// idList is an ascending list of entry numbers with one writer and any number of readers. The writer fills the last
// chunk above the published length. A list never moves a full chunk: a list of all entries has 64 MB. The part that
// readers can see never changes.
type idList struct{ head atomic.Pointer[idArray] }

// idArray is replaced when it is full.
type idArray struct {
	n      atomic.Uint32 // number of published ids
	chunks [][]uint32    // all of idChunk ids, but for the only one of a short list
}

// idChunk is the length of a chunk. A shorter list doubles.
const idChunk = 1024

func (l *idList) append(id uint64) {
	a := l.head.Load()
	if a == nil {
		a = &idArray{chunks: [][]uint32{make([]uint32, 4)}}
		l.head.Store(a)
	}
	n := a.n.Load()
	if last := len(a.chunks) - 1; int(n) == last*idChunk+len(a.chunks[last]) {
		grown := new(idArray)
		if size := len(a.chunks[0]); size < idChunk {
			grown.chunks = [][]uint32{make([]uint32, 2*size)}
			copy(grown.chunks[0], a.chunks[0])
		} else {
			grown.chunks = append(a.chunks, make([]uint32, idChunk))
		}
		grown.n.Store(n)
		a = grown
		l.head.Store(a)
	}
	a.chunks[n/idChunk][n%idChunk] = uint32(id)
	a.n.Store(n + 1)
}

// upTo returns the ids that are at most last: the entries that a view with last entries covers.
func (l *idList) upTo(last uint64) (list idSpan) {
	a := l.head.Load()
	if a == nil {
		return list
	}
	list = idSpan{a.chunks, int(a.n.Load())}
	if list.n == 0 || list.at(list.n-1) <= last {
		return list
	}
	list.n = sort.Search(list.n, func(i int) bool { return list.at(i) > last })
	return list
}

// idSpan is the published part of a list.
type idSpan struct {
	chunks [][]uint32
	n      int
}

func (s idSpan) at(i int) uint64 { return uint64(s.chunks[i/idChunk][i%idChunk]) }

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
