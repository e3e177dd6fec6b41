package launchpad

import "tickhive/internal/refuse"

// FirstAgentNFT is the agentNftId of workerId 1.
const FirstAgentNFT = 10001

// FeeTier of every pool, in 10^-6 of the input.
const FeeTier = 10000

// Ident holds the members of a token that never change. Published; immutable.
type Ident struct {
	No         uint32 // workerId, from 1
	ListBlock  int64  // strictly rising; asOf compares with it
	SpawnedSec int64  // Unix seconds
	Address    Address
	Pool       Address
	Owner      Address
	Side       Side
	Supply     Amount
	Name       string
	Symbol     string
	Metadata   string // JSON object, "" when none was sent
}

// AgentNFT returns the token's id in the agent registry, the :tokenId of the routes.
func (id *Ident) AgentNFT() uint64 { return FirstAgentNFT - 1 + uint64(id.No) }

// noOfNFT returns the workerId that belongs to a registry id; 0 when none can.
func noOfNFT(nft uint64) uint32 {
	if nft < FirstAgentNFT || nft-FirstAgentNFT >= MaxTokens {
		return 0
	}
	return uint32(nft - FirstAgentNFT + 1)
}

// Token is one version of a token: a change makes a new one, so that published ones
// stay. Everything is as of the view that holds it.
type Token struct {
	*Ident
	ReserveToken Amount
	ReserveQuote Amount
	Window       Amount // sum of quote amounts in the 24 h window
	LastTradeSec int64  // Unix seconds, 0: never
	Holders      int64  // addresses with a balance, the pool left out

	BoostUntilSec int64 // expiresAt of the last boost, 0: never
	BoostTier     Tier
	Boosted       bool // active at the view's time

	TVL    cents // hundredths of a USD; derived
	Volume cents // of the 24 h window, hundredths of a USD; derived
}

func unknownToken() *refuse.Refusal { return refuse.Missing("id", "No token has this id.") }

// Empty reports a pool that was never given liquidity.
func (t *Token) Empty() bool { return t.ReserveToken.IsZero() }

// Price returns the pool's quote per token; ok is false when the pool is empty.
func (t *Token) Price() (price Amount, ok bool) {
	if t.Empty() {
		return Amount{}, false
	}
	return quotient(t.ReserveQuote, t.ReserveToken), true
}

// derive fills in the printed figures after reserves or window have changed.
func (t *Token) derive(o *Options) {
	t.TVL = o.usdCents(t.ReserveQuote, t.Side, 2)
	t.Volume = o.usdCents(t.Window, t.Side, 1)
}

// asset returns a token's place among the ledger's assets, behind the two currencies.
func (id *Ident) asset() asset { return asset(currencies - 1 + id.No) }

// Fact holds what the hive needs to derive a worker: identity, and the two times that count
// as activity. Every member is fixed or only grows, so facts may be folded in any order and
// more than once.
type Fact struct {
	Seq         uint64   // of the launchpad's record
	WorkerID    uint32   // from 1
	Token       [20]byte // address
	Symbol      string
	DeployedSec int64 // Unix seconds, spawnedAt
	SwapSec     int64 // last swap, Unix seconds, 0: never
	BoostSec    int64 // end of the last boost, Unix seconds, 0: never
}

func (t *Token) fact(seq uint64) *Fact {
	return &Fact{
		Seq: seq, WorkerID: t.No, Token: t.Address, Symbol: t.Symbol,
		DeployedSec: t.SpawnedSec, SwapSec: t.LastTradeSec, BoostSec: t.BoostUntilSec,
	}
}
