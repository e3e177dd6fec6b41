package launchpad

import (
	"cmp"
	"sort"

	"github.com/tickhive/tickhive/internal/refuse"
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

// identList holds the tokens by workerId - 1. Views share its chunks: State fills them behind the length that a view
// has, and moves none of them.
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

	closed []Candle // behind what a version has, State appends to the array
	newest *Candle  // nil before the first liquidity

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
	if t.newest == nil {
		return Amount{}, false
	}
	return t.newest.Close, true
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
// activity. Each member is constant or only grows, so a fact may be folded more than once.
type Fact struct {
	WorkerID    uint32   // from 1
	Token       [20]byte // the token's address
	Symbol      string
	DeployedSec int64 // spawnedAt, Unix seconds
	SwapSec     int64 // time of the last swap, Unix seconds, 0: never
	BoostSec    int64 // end of the last boost, Unix seconds, 0: never boosted
}

func (t *Token) fact() *Fact {
	return &Fact{
		WorkerID: t.No, Token: t.Address, Symbol: t.Symbol,
		DeployedSec: t.SpawnedSec, SwapSec: t.LastTradeSec, BoostSec: t.BoostUntilSec,
	}
}

// spawn makes the checks of docs/contract/launchpad.md#spawn after authentication, in order: body, SYMBOL_TAKEN,
// COOLDOWN_ACTIVE, INSUFFICIENT_FEE, injected fault. A fault changes nothing but the number of faults.
func (s *State) spawn(cmd *Spawn, res *Result) *refuse.Refusal {
	if rej := s.maySpawn(cmd); rej != nil {
		return rej
	}
	if s.faults > 0 {
		s.faults--
		res.Refused = refuse.New(refuse.SpawnerFailed, "",
			"The spawner contract reverted; no fee was taken. Try again.")
		return nil
	}
	res.TxHash = s.nextTxHash()
	s.debit(cmd.Owner, nativeAsset, s.opt.Fee)
	s.totals[NATIVE].Fees = s.totals[NATIVE].Fees.Add(s.opt.Fee)

	supply, err := ParseAmount(cmp.Or(cmd.TotalSupply, DefaultSupply))
	if err != nil {
		panic("BUG: launchpad: the supply of a checked spawn: " + cmd.TotalSupply)
	}
	s.lastListBlock = max(blockAt(s.genesisNs, s.nowNs), s.lastListBlock+1)
	id := &Ident{
		No: uint32(s.idents.n) + 1, ListBlock: s.lastListBlock, SpawnedSec: floorSec(s.nowNs),
		Address: deriveAddress("token", s.seed, s.position), Pool: deriveAddress("pool", s.seed, s.position),
		Owner: cmd.Owner, Side: cmd.PoolSide, Supply: supply,
		Name: cmd.Name, Symbol: cmd.Symbol, Metadata: cmd.Metadata,
	}
	sp, _ := s.spawners.Get(key(cmd.Owner))
	next := spawner{LastSec: id.SpawnedSec, Count: sp.Count + 1}
	if sp != (spawner{}) {
		s.digest -= sp.mix(key(cmd.Owner))
	}
	s.spawners.Set(key(cmd.Owner), next)
	s.digest += next.mix(key(cmd.Owner))
	s.addToken(id)
	s.credit(cmd.Owner, id.asset(), supply)
	res.Token, _ = s.tokens.Get(id.No)
	res.Fact = res.Token.fact()
	return nil
}

func (s *State) maySpawn(cmd *Spawn) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	if _, taken := s.symbols[cmd.Symbol]; taken || cmd.Symbol == USBICoin.String() {
		return refuse.New(refuse.SymbolTaken, "symbol", "The symbol %s already exists.", cmd.Symbol)
	}
	if sp, ok := s.spawners.Get(key(cmd.Owner)); ok {
		if end := sp.LastSec*secondNs + s.opt.CooldownNs; s.nowNs < end {
			return refuse.New(refuse.CooldownActive, "",
				"The spawn cooldown of this address is active until Unix second %d.", ceilSec(end))
		}
	}
	if s.balance(cmd.Owner, nativeAsset).Less(s.opt.Fee) {
		return refuse.New(refuse.InsufficientFee, "",
			"The spawn fee is %s NATIVE; the balance does not cover it.", s.opt.Fee)
	}
	if s.idents.n >= MaxTokens {
		return refuse.Later(fullSec, "The launchpad holds %d tokens, its limit.", MaxTokens)
	}
	return nil
}

func ceilSec(ns int64) int64 { return floorSec(ns + secondNs - 1) }

// addToken adds a new token, with an empty pool, to every list and index.
func (s *State) addToken(id *Ident) {
	s.idents.append(id)
	s.symbols[id.Symbol] = id.No
	s.byAddress.Set(key(id.Address), id.No)
	t := &Token{Ident: id}
	t.derive(&s.opt)
	s.tokens.Set(id.No, t)
	s.digest += id.mix() + t.mix()
	s.index.add(t)
}

// spawner holds the spawn history of an address.
type spawner struct {
	LastSec int64 // time of the last spawn (spawnedAt), Unix seconds; the cooldown begins here
	Count   int64 // number of tokens that the address spawned
}

// Tier selects the duration of a boost.
type Tier uint8

// The boost tiers of docs/contract/launchpad.md#boosts.
const (
	NoTier Tier = iota
	Short
	Standard
	Extended
	Premium
	tiers
)

var tierNames = [tiers]string{"", "short", "standard", "extended", "premium"}

func (t Tier) String() string { return tierNames[t] }

// Seconds returns the duration of one purchased boost.
func (t Tier) Seconds() int64 {
	return [tiers]int64{0, 3600, 86400, 7 * 86400, 30 * 86400}[t]
}

// ParseTier returns the tier with this wire name.
func ParseTier(name string) (Tier, bool) {
	for t := Short; t < tiers; t++ {
		if tierNames[t] == name {
			return t, true
		}
	}
	return NoTier, false
}

func (s *State) buyBoost(cmd *BuyBoost, res *Result) *refuse.Refusal {
	if cmd.Tier == NoTier || cmd.Tier >= tiers {
		return refuse.Param("tier", "tier is one of short, standard, extended, premium.")
	}
	if _, ok := s.tokens.Get(cmd.Token); !ok {
		return unknownToken()
	}
	t, nowSec := s.edit(cmd.Token), floorSec(s.nowNs)
	until := max(t.BoostUntilSec, nowSec) + cmd.Tier.Seconds() // a running boost is extended
	if until > nowSec+MaxBoostAheadSec {
		return refuse.New(refuse.Conflict, "tier", "Boosts reach at most %d days ahead.", MaxBoostAheadSec/86400)
	}
	if t.Boosted {
		s.boostEnds.Delete(boostKey(t))
	}
	t.BoostUntilSec, t.BoostTier, t.Boosted = until, cmd.Tier, true
	s.boostEnds.Set(boostKey(t), struct{}{})
	s.put(t)
	res.Token, res.Fact = t, t.fact()
	return nil
}

// boostKey returns the key that sorts running boosts by their end. MaxTokens is 2^20 and seconds stay below
// 2^43, so both fit.
func boostKey(t *Token) uint64 { return uint64(t.BoostUntilSec)<<20 | uint64(t.No-1) }

// endOneBoost ends the boost with the earliest end (expiresAt).
func (s *State) endOneBoost() {
	key, _, _ := s.boostEnds.PopMin()
	t := s.edit(uint32(key&(1<<20-1)) + 1)
	t.Boosted = false
	s.put(t)
}
