package hive

import (
	"math"
	"sort"

	"tickhive/internal/refuse"
)

// LogQuery asks for a page of the action log. A nil member does not filter. Since and Until are Unix seconds,
// both included.
type LogQuery struct {
	Page
	TokenID      *uint64
	Type         *ActionType
	Tier         *Tier
	Since, Until *int64
}

// Check refuses members out of range, and a period that ends before it begins.
func (q *LogQuery) Check() *refuse.Refusal {
	if rej := q.Page.Check(); rej != nil {
		return rej
	}
	if q.Since != nil && q.Until != nil && *q.Since > *q.Until {
		return refuse.Param("since", "since is not after until.")
	}
	return nil
}

// find returns the posting list of a query's filter and the range lo to hi that its period selects. A page
// therefore costs two binary searches and its own entries.
func (v *View) find(q *LogQuery) (list ids, lo, hi int) {
	p := v.all
	if q.TokenID != nil {
		p = v.untargeted
		if *q.TokenID != 0 {
			w, ok := v.worker(*q.TokenID)
			if !ok {
				return ids{}, 0, 0
			}
			p = &w.postings.aimed
		}
	}
	list = v.entriesOf(p.list(q.Type, q.Tier))
	lo, hi = 0, list.len()
	if q.Since != nil {
		lo = list.from(*q.Since)
	}
	if q.Until != nil && *q.Until < math.MaxInt64 {
		hi = max(lo, list.from(*q.Until+1))
	}
	return list, lo, hi
}

// Log returns one page, newest first. q must have passed Check.
func (v *View) Log(q LogQuery) List[EntryInfo] {
	list, lo, hi := v.find(&q)
	out := List[EntryInfo]{TotalItems: int64(hi - lo)}
	if q.After != 0 {
		hi = lo + sort.Search(hi-lo, func(i int) bool { return list.at(lo+i) >= q.After })
	}
	from, to := q.span(hi - lo)
	for i := from; i < to; i++ {
		out.Next = list.at(hi - 1 - i)
		out.Items = append(out.Items, v.log.entry(out.Next).info(v.seed, v.genesisNs))
	}
	out.endAt(to == hi-lo)
	return out
}
