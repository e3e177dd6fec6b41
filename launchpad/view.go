package launchpad

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// View is the complete state of the ledger at one instant; immutable. Queries take the time of the process
// clock. A view is exact up to NextNs. A query that arrives later, before the due changes are applied, gets the
// state of the last instant before NextNs.
type View struct {
	opt       Options
	seed      uint64
	genesisNs int64
	nowNs     int64
	nextNs    int64
	seq       uint64
	listBlock int64
	totals    [currencies]Total

	idents    identList
	tokens    *btree.Map[uint32, *Token]
	byAddress *btree.Map[string, uint32]
	balances  *btree.Map[string, Amount]
	past      *btree.Map[string, Amount]
	spawners  *btree.Map[string, spawner]
	index     index
}

// View returns the current state. It copies in O(1): trees share nodes until one copy changes them, and only
// State changes its copy.
func (s *State) View() *View {
	return &View{
		opt: s.opt, seed: s.seed, genesisNs: s.genesisNs, nowNs: s.nowNs, nextNs: s.NextNs(),
		seq: s.seq, listBlock: s.lastListBlock, totals: s.totals,
		idents: s.idents, tokens: s.tokens.Copy(), byAddress: s.byAddress.Copy(),
		balances: s.balances.Copy(), past: s.past.Copy(), spawners: s.spawners.Copy(), index: s.index.copy(),
	}
}

// Seed returns the ledger's seed, fixed by its first command.
func (v *View) Seed() uint64 { return v.seed }

// GenesisNs returns the time of block 1, Unix nanoseconds.
func (v *View) GenesisNs() int64 { return v.genesisNs }

// Seq returns a number that rises with every command that has changed a balance.
func (v *View) Seq() uint64 { return v.seq }

// Len returns the number of tokens.
func (v *View) Len() int { return v.idents.n }

// Options returns the fee, the cooldown and the USD rate.
func (v *View) Options() Options { return v.opt }

// at returns the time for which the view answers a query at nowNs.
func (v *View) at(nowNs int64) int64 {
	if v.nextNs != 0 && nowNs >= v.nextNs {
		return v.nextNs - 1
	}
	return max(nowNs, v.nowNs)
}

// Find returns the token of a path id: a token's address in either case, or its NFT id.
func (v *View) Find(id string) (*Token, bool) {
	if a, ok := ParseAddress(id); ok {
		no, found := v.byAddress.Get(key(a))
		if !found {
			return nil, false
		}
		return v.tokens.Get(no)
	}
	if id == "" || id[0] == '0' || len(id) > 19 || !isDigits(id) {
		return nil, false
	}
	nft, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil, false
	}
	return v.tokens.Get(noOfNFT(nft))
}

// ByNFT returns the token with this agentNftId.
func (v *View) ByNFT(nft uint64) (*Token, bool) { return v.tokens.Get(noOfNFT(nft)) }

// Balance returns an account's NATIVE or USBI.
func (v *View) Balance(a Address, c Currency) Amount {
	b, _ := v.balances.Get(balanceKey(a, c.asset()))
	return b
}

// Holding returns an account's balance of a token.
func (v *View) Holding(a Address, t *Token) Amount {
	b, _ := v.balances.Get(balanceKey(a, t.asset()))
	return b
}

// Owned returns the number of tokens that an address spawned.
func (v *View) Owned(a Address) int64 {
	sp, _ := v.spawners.Get(key(a))
	return sp.Count
}

// Holdings calls yield for every token that the account holds, by workerId.
func (v *View) Holdings(a Address, yield func(t *Token, amount Amount) bool) {
	v.balances.Ascend(balanceKey(a, usbiAsset+1), func(k string, amount Amount) bool {
		if k[:20] != key(a) {
			return false
		}
		no := uint32(k[20])<<24 | uint32(k[21])<<16 | uint32(k[22])<<8 | uint32(k[23])
		t, _ := v.tokens.Get(no - currencies + 1)
		return yield(t, amount)
	})
}

// Totals returns the sums of NATIVE, then of USBI.
func (v *View) Totals() []Total { return append([]Total(nil), v.totals[:]...) }

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
