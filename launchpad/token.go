package launchpad

import (
	"sort"

	"tickhive/internal/refuse"
)

// FirstAgentNFT is the agentNftId of workerId 1.
const FirstAgentNFT = 10001

// FeeTier is the fee of every pool, in 10^-6 of the amount paid in.
const FeeTier = 10000

// Ident holds the members of a token that never change. Published; immutable.
type Ident struct {
	No         uint32 // workerId, from 1
	ListBlock  int64  // strictly increasing; a list with asOf shows tokens up to this block
	SpawnedSec int64  // Unix seconds
	Address    Address
	Pool       Address
	Owner      Address
	Side       Side
	Supply     Amount
	Name       string
	Symbol     string
	Metadata   string // a JSON object, "" when none was sent
}

// identList holds the tokens by workerId - 1. Views share its chunks: State fills them behind the length that a view has,
// and moves none of them.
type identList struct {
	n      int
	chunks []*[identChunk]*Ident
}

const identChunk = 1024

func (l *identList) at(i int) *Ident { return l.chunks[i/identChunk][i%identChunk] }

func (l *identList) append(id *Ident) {
	if l.n%identChunk == 0 {
		l.chunks = append(l.chunks, new([identChunk]*Ident))
	}
	l.chunks[l.n/identChunk][l.n%identChunk] = id
	l.n++
}

// search returns the first index from from on for which after is true, the length without one. after is true for every
// later token too.
func (l *identList) search(from int, after func(*Ident) bool) int {
	return from + sort.Search(l.n-from, func(i int) bool { return after(l.at(from + i)) })
}

// AgentNFT returns the token's id in the agent registry, which routes use as :tokenId.
func (id *Ident) AgentNFT() uint64 { return FirstAgentNFT - 1 + uint64(id.No) }

// noOfNFT returns the workerId of a registry id, 0 when no token can have that id.
func noOfNFT(nft uint64) uint32 {
	if nft < FirstAgentNFT || nft-FirstAgentNFT >= MaxTokens {
		return 0
	}
	return uint32(nft - FirstAgentNFT + 1)
}

// Token is one version of a token. A change makes a new version, so that published versions never change. Its
// figures are as of the time of the view that holds it.
type Token struct {
	*Ident
	ReserveToken Amount
	ReserveQuote Amount
	Window       Amount // sum of the quote amounts of swaps in the 24 h window
	LastTradeSec int64  // Unix seconds, 0: never
	Holders      int64  // number of addresses with a balance, not counting the pool

	BoostUntilSec int64 // end of the last boost (expiresAt), 0: never boosted
	BoostTier     Tier
	Boosted       bool // the boost is running at the view's time

	TVL    cents // hundredths of a USD; computed by derive
	Volume cents // volume of the 24 h window in hundredths of a USD; computed by derive
}

func unknownToken() *refuse.Refusal { return refuse.Missing("id", "No token has this id.") }

// Empty reports whether the pool has never received liquidity.
func (t *Token) Empty() bool { return t.ReserveToken.IsZero() }

// Price returns the pool's price in quote currency per token; ok is false when the pool is empty.
func (t *Token) Price() (price Amount, ok bool) {
	if t.Empty() {
		return Amount{}, false
	}
	return quotient(t.ReserveQuote, t.ReserveToken), true
}

// derive computes the USD figures after the reserves or the window have changed.
func (t *Token) derive(o *Options) {
	t.TVL = o.usdCents(t.ReserveQuote, t.Side, 2)
	t.Volume = o.usdCents(t.Window, t.Side, 1)
}

// asset returns the token's number among the assets, which follows the numbers of the two currencies.
func (id *Ident) asset() asset { return tokenAsset(id.No) }

func tokenAsset(no uint32) asset { return asset(currencies - 1 + no) }

// token returns the workerId of an asset that is a token.
func (as asset) token() uint32 { return uint32(as) - currencies + 1 }

// Fact holds what the hive must know of a token: the worker's identity and the two times that count as
// activity. Each member is constant or only grows, so facts may be folded in any order and more than once.
type Fact struct {
	Seq         uint64   // number of the launchpad's record
	WorkerID    uint32   // from 1
	Token       [20]byte // the token's address
	Symbol      string
	DeployedSec int64 // spawnedAt, Unix seconds
	SwapSec     int64 // time of the last swap, Unix seconds, 0: never
	BoostSec    int64 // end of the last boost, Unix seconds, 0: never boosted
}

func (t *Token) fact(seq uint64) *Fact {
	return &Fact{
		Seq: seq, WorkerID: t.No, Token: t.Address, Symbol: t.Symbol,
		DeployedSec: t.SpawnedSec, SwapSec: t.LastTradeSec, BoostSec: t.BoostUntilSec,
	}
}
