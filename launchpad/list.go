package launchpad

import (
	"slices"

	"github.com/tidwall/btree"

	"tickhive/internal/refuse"
)

// ListQuery asks for a page of the token list (docs/contract/api.md;
// docs/contract/launchpad.md#tokens). Zero values of Sort, Side and Boosted are the defaults; Page
// and PageSize must be set.
type ListQuery struct {
	Page     int64
	PageSize int64
	Sort     Sort
	Side     *Side // nil: any side
	Boosted  bool  // true: only boosted tokens; false: all tokens
	AsOf     *int64
	After    uint32 // workerId of the token behind which the page begins; 0: at the beginning
}

// Check refuses members that are out of range.
func (q *ListQuery) Check() *refuse.Refusal {
	switch {
	case q.After != 0 && (q.Sort != Recent || q.AsOf != nil):
		return refuse.Param("cursor",
			"cursor is for sort=recent, without asOf: other orders change while they are read.")
	case q.Page < 1:
		return refuse.Param("page", "page is at least 1.")
	case q.PageSize < 1 || q.PageSize > MaxPageSize:
		return refuse.Param("pageSize", "pageSize is 1 to %d.", MaxPageSize)
	case q.AsOf != nil && *q.AsOf < 0:
		return refuse.Param("asOf", "asOf is a block number, at least 0.")
	}
	return nil
}

// offset returns the number of rows before the page. It saturates for a page beyond any list.
func (q *ListQuery) offset() int {
	if q.Page-1 > MaxTokens {
		return MaxTokens
	}
	return int(q.Page-1) * int(q.PageSize)
}

// maxRanked bounds the tokens whose rank in the index is looked up one by one for a page with asOf. When more
// tokens than this are visible and more are hidden, a walk over the whole index is cheaper (10,000 places: a
// quarter of a millisecond).
const maxRanked = 512

// TokenList is a page of tokens, with the number of rows on all pages and the list's X-As-Of.
//
// AsOf is the largest list block that no later spawn can get. A block lasts two seconds, so several spawns share one,
// and a block number alone would not distinguish their positions. A token's list block is therefore the current block
// or the previous token's list block + 1, whichever is later. A walk with AsOf sees every token once, even when tokens
// are spawned meanwhile within the same second.
type TokenList struct {
	Items            []*Token
	TotalItems, AsOf int64
	Next             uint32 // workerId of the page's last token under Recent, 0 on the last page
}

// Tokens returns one page. q must have passed Check.
func (v *View) Tokens(nowNs int64, q ListQuery) TokenList {
	out := TokenList{AsOf: v.head(v.at(nowNs))}
	c := filterOf(q.Side, q.Boosted)
	tr := v.index[q.Sort][c]
	visible := v.idents.n
	if q.AsOf != nil {
		out.AsOf = *q.AsOf
		visible = v.idents.search(0, func(id *Ident) bool { return id.ListBlock > *q.AsOf })
	}
	var page []*Ident
	if visible == v.idents.n {
		out.TotalItems = int64(tr.Len())
		begin := v.rankBehind(tr, q.After)
		page = slicePage(tr, begin+q.offset(), int(q.PageSize), nil)
		if begin+q.offset()+len(page) < tr.Len() && len(page) > 0 && q.Sort == Recent && q.AsOf == nil {
			out.Next = page[len(page)-1].No
		}
	} else {
		page, out.TotalItems = v.pageAsOf(q, c, visible)
	}
	for _, id := range page {
		t, _ := v.tokens.Get(id.No)
		out.Items = append(out.Items, t)
	}
	return out
}

// rankBehind returns the rank of the first token behind one in an index by Recent, whether or not the index has it: its
// filter may not match the token any more.
func (v *View) rankBehind(tr *btree.BTreeG[place], after uint32) int {
	switch {
	case after == 0:
		return 0
	case int(after) > v.idents.n: // no list has named it
		return tr.Len()
	}
	last := v.idents.at(int(after) - 1)
	r := rank(tr, placeOf(&Token{Ident: last}, Recent))
	if at, ok := tr.GetAt(r); ok && at.id == last {
		r++
	}
	return r
}

// head returns X-As-Of: the largest list block that every later spawn exceeds. The next spawn gets the current
// block or the last list block + 1, whichever is larger.
func (v *View) head(nowNs int64) int64 {
	return max(blockAt(v.genesisNs, nowNs)-1, v.listBlock)
}

// AsOf returns the X-As-Of of a list at nowNs.
func (v *View) AsOf(nowNs int64) int64 { return v.head(v.at(nowNs)) }

// AsOfNewest returns the X-As-Of of a list at nowNs that ends with the workerId newest. The view may have more
// tokens, because the caller's hive view is older.
func (v *View) AsOfNewest(nowNs int64, newest uint32) int64 {
	if int(newest) >= v.idents.n {
		return v.AsOf(nowNs)
	}
	return v.idents.at(int(newest)).ListBlock - 1
}

// NewestAsOf returns the workerId of the newest token in a list with asOf = block, 0 when that list is empty.
func (v *View) NewestAsOf(block int64) uint32 {
	return uint32(v.idents.search(0, func(id *Ident) bool { return id.ListBlock > block }))
}

// pageAsOf returns a page of the first visible tokens only. Workers are numbered in the order of list blocks,
// so these are the workerIds 1 to visible.
func (v *View) pageAsOf(q ListQuery, c filter, visible int) ([]*Ident, int64) {
	tr := v.index[q.Sort][c]
	hiddenTo := v.idents.n
	skip := 0 // number of places at the front of the index whose tokens are all hidden
	if q.Sort == Recent && visible > 0 {
		// Under Recent, all tokens spawned in a later second come before the visible ones.
		edge := v.idents.at(visible - 1).SpawnedSec
		hiddenTo = v.idents.search(visible, func(id *Ident) bool { return id.SpawnedSec > edge })
		if hiddenTo < v.idents.n {
			skip = rank(tr, place{value: placeOf(&Token{Ident: v.idents.at(visible - 1)}, Recent).value, id: &Ident{}})
		}
	}
	switch {
	case visible == 0:
		return nil, 0
	case hiddenTo-visible <= maxRanked:
		hidden := v.ranks(tr, q.Sort, c, visible, hiddenTo)
		total := tr.Len() - skip - len(hidden)
		return slicePage(tr, skip+q.offset(), int(q.PageSize), hidden), int64(max(total, 0))
	case visible <= maxRanked:
		shown := v.ranks(tr, q.Sort, c, 0, visible)
		from := min(q.offset(), len(shown))
		to := min(from+int(q.PageSize), len(shown))
		page := make([]*Ident, 0, to-from)
		for _, r := range shown[from:to] {
			p, _ := tr.GetAt(r)
			page = append(page, p.id)
		}
		return page, int64(len(shown))
	}
	return walkPage(tr, visible, q.offset(), int(q.PageSize))
}

// ranks returns, ascending, the ranks of those tokens from index from to to that the filter matches.
func (v *View) ranks(tr *btree.BTreeG[place], by Sort, c filter, from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		if t, _ := v.tokens.Get(v.idents.at(i).No); c.matches(t) {
			out = append(out, rank(tr, placeOf(t, by)))
		}
	}
	slices.Sort(out)
	return out
}

// slicePage returns the tokens at size places from offset on; hidden ranks (ascending) do not count.
// Its cost depends on the page and the hidden ranks, not on the offset.
func slicePage(tr *btree.BTreeG[place], offset, size int, hidden []int) []*Ident {
	for len(hidden) > 0 && hidden[0] <= offset {
		offset++
		hidden = hidden[1:]
	}
	first, ok := tr.GetAt(offset)
	if !ok {
		return nil
	}
	page := make([]*Ident, 0, size)
	tr.Ascend(first, func(p place) bool {
		if len(hidden) > 0 && hidden[0] == offset {
			hidden = hidden[1:]
		} else {
			page = append(page, p.id)
		}
		offset++
		return len(page) < size
	})
	return page
}

// walkPage returns a page by a walk over the whole index; it skips tokens with a workerId above visible.
func walkPage(tr *btree.BTreeG[place], visible, offset, size int) (page []*Ident, total int64) {
	tr.Scan(func(p place) bool {
		if int(p.id.No) > visible {
			return true
		}
		if total >= int64(offset) && len(page) < size {
			page = append(page, p.id)
		}
		total++
		return true
	})
	return page, total
}
