package launchpad

import (
	"strconv"

	"github.com/tidwall/btree"
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

// Publish stores the current View for readers.
func (s *State) Publish() { s.Show()() }

// Show implements durable.Shower.
func (s *State) Show() (show func()) {
	v := s.View()
	return func() { s.published.Store(v) }
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

// Seed returns the ledger's seed, fixed by its first record.
func (v *View) Seed() uint64 { return v.seed }

// GenesisNs returns the time of block 1, Unix nanoseconds.
func (v *View) GenesisNs() int64 { return v.genesisNs }

// Seq returns the number of records that the view reflects.
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

// Facts calls yield with the current fact of every token, by workerId. A hive that folds them all is up to
// date, whatever it folded before.
func (v *View) Facts(yield func(Fact) bool) {
	v.tokens.Scan(func(_ uint32, t *Token) bool { return yield(*t.fact(v.seq)) })
}
