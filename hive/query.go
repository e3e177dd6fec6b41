package hive

import (
	"math"

	"tickhive/internal/refuse"
)

// Page holds the paging parameters of every list query.
//
// After is the number of the row behind which the page begins, in the order of the list; 0: at the beginning. Rows
// that arrive move the pages, but not what follows a row.
type Page struct {
	Page, PageSize int64
	After          uint64
}

// Check refuses members out of range.
func (p Page) Check() *refuse.Refusal {
	switch {
	case p.Page < 1:
		return refuse.Param("page", "page is at least 1.")
	case p.PageSize < 1 || p.PageSize > MaxPageSize:
		return refuse.Param("pageSize", "pageSize is 1 to %d.", MaxPageSize)
	}
	return nil
}

// offset returns the number of rows before the page. It saturates for a page beyond any list.
func (p Page) offset() int {
	if p.Page-1 > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(p.Page-1) * int(p.PageSize)
}

// span returns the range [from, to) of the page in a list of n rows.
func (p Page) span(n int) (from, to int) {
	from = min(p.offset(), n)
	return from, min(from+int(p.PageSize), n)
}

// endAt forgets the number of the last row on the last page.
func (l *List[T]) endAt(last bool) {
	if last {
		l.Next = 0
	}
}

// WorkerQuery asks for a page of the worker list.
type WorkerQuery struct {
	Page
	Status *Status   // nil: any status
	Token  *[20]byte // nil: any token
	Newest *uint32   // largest workerId in the list; nil: no limit
}

// behind returns the smallest workerId of the page's rows and those behind it.
func (q *WorkerQuery) behind() uint32 { return uint32(min(q.After, MaxWorkers)) + 1 }

// newest returns the largest workerId that the list may contain.
func (q *WorkerQuery) newest() uint32 {
	if q.Newest == nil {
		return MaxWorkers
	}
	return min(*q.Newest, MaxWorkers)
}

// Workers returns one page, by workerId ascending. q must have passed Check.
func (v *View) Workers(nowNs int64, q WorkerQuery) (out List[WorkerInfo]) {
	nowSec := v.atSec(nowNs)
	if q.Token != nil {
		id, ok := v.byToken.Get(string(q.Token[:]))
		w, _ := v.workers.Get(id)
		if ok && id <= q.newest() && (q.Status == nil || *q.Status == w.Status()) {
			out.TotalItems = 1
			if q.offset() == 0 && q.After < uint64(id) {
				out.Items = append(out.Items, v.info(w, nowSec))
			}
		}
		return out
	}
	if q.Status != nil {
		lo := lowerBound(v.byStatus, pair(uint32(*q.Status), 0))
		hi := lowerBound(v.byStatus, pair(uint32(*q.Status), q.newest()+1))
		out.TotalItems = int64(hi - lo)
		lo = min(lowerBound(v.byStatus, pair(uint32(*q.Status), q.behind())), hi)
		from, to := q.span(hi - lo)
		for i := from; i < to; i++ {
			key, _, _ := v.byStatus.GetAt(lo + i)
			w, _ := v.workers.Get(uint32(key))
			out.Items = append(out.Items, v.info(w, nowSec))
			out.Next = key & math.MaxUint32
		}
		out.endAt(to == hi-lo)
		return out
	}
	total := min(v.byToken.Len(), int(q.newest()))
	out.TotalItems = int64(total)
	begin := min(int(q.behind())-1, total) // workers are numbered from 1 without a gap
	from, to := q.span(total - begin)
	for i := begin + from; i < begin+to; i++ {
		id, w, _ := v.workers.GetAt(i)
		out.Items = append(out.Items, v.info(w, nowSec))
		out.Next = uint64(id)
	}
	out.endAt(begin+to == total)
	return out
}
