package launchpad

import "tickhive/internal/refuse"

// planSpawn makes the checks of docs/contract/launchpad.md#spawn after authentication, in order: body,
// SYMBOL_TAKEN, COOLDOWN_ACTIVE, INSUFFICIENT_FEE, injected fault. The record of a fault only counts the fault.
func (s *State) planSpawn(nowNs int64, cmd Spawn) (Record, *refuse.Refusal) {
	if rej := cmd.check(); rej != nil {
		return Record{}, rej
	}
	if _, taken := s.symbols[cmd.Symbol]; taken || cmd.Symbol == USBICoin.String() {
		return Record{}, refuse.New(refuse.SymbolTaken, "symbol", "The symbol %s already exists.", cmd.Symbol)
	}
	if sp, ok := s.spawners.Get(key(cmd.Owner)); ok {
		if end := sp.LastSec*secondNs + s.opt.CooldownNs; nowNs < end {
			return Record{}, refuse.New(refuse.CooldownActive, "",
				"The spawn cooldown of this address is active until Unix second %d.", ceilSec(end))
		}
	}
	if s.balance(cmd.Owner, nativeAsset).Less(s.opt.Fee) {
		return Record{}, refuse.New(refuse.InsufficientFee, "",
			"The spawn fee is %s NATIVE; the balance does not cover it.", s.opt.Fee)
	}
	if s.idents.n >= MaxTokens {
		return Record{}, refuse.Later(fullSec, "The launchpad holds %d tokens, its limit.", MaxTokens)
	}
	if s.faults > 0 {
		return Record{Kind: RecFault}, nil
	}
	if cmd.TotalSupply == "" {
		cmd.TotalSupply = DefaultSupply
	}
	cmd.Decimals = Decimals
	return Record{Kind: RecSpawn, Spawn: &cmd, Fee: s.opt.Fee}, nil
}

func ceilSec(ns int64) int64 { return floorSec(ns + secondNs - 1) }

func (s *State) applyFault(res *Result) {
	s.faults--
	res.Refused = refuse.New(refuse.SpawnerFailed, "", "The spawner contract reverted; no fee was taken. Try again.")
}

func (s *State) applySpawn(rec *Record, res *Result) {
	cmd := rec.Spawn
	res.TxHash = s.nextTxHash()
	s.debit(cmd.Owner, nativeAsset, rec.Fee)
	s.totals[NATIVE].Fees = s.totals[NATIVE].Fees.Add(rec.Fee)

	supply, err := ParseAmount(cmd.TotalSupply)
	if err != nil {
		panic("BUG: launchpad: supply of a spawn record: " + cmd.TotalSupply)
	}
	s.lastListBlock = max(blockAt(s.genesisNs, rec.TimeNs), s.lastListBlock+1)
	id := &Ident{
		No: uint32(s.idents.n) + 1, ListBlock: s.lastListBlock, SpawnedSec: floorSec(rec.TimeNs),
		Address: deriveAddress("token", s.seed, s.position), Pool: deriveAddress("pool", s.seed, s.position),
		Owner: cmd.Owner, Side: cmd.PoolSide, Supply: supply,
		Name: cmd.Name, Symbol: cmd.Symbol, Metadata: cmd.Metadata,
	}
	sp, _ := s.spawners.Get(key(cmd.Owner))
	s.spawners.Set(key(cmd.Owner), spawner{LastSec: id.SpawnedSec, Count: sp.Count + 1})
	t := s.addToken(id)
	s.credit(cmd.Owner, id.asset(), supply)
	t, _ = s.tokens.Get(t.No)
	res.Token = t
	res.Fact = t.fact(s.seq)
}

// addToken adds a new token, with an empty pool, to every list and index.
func (s *State) addToken(id *Ident) *Token {
	s.idents.append(id)
	s.symbols[id.Symbol] = id.No
	s.byAddress.Set(key(id.Address), id.No)
	t := &Token{Ident: id}
	t.derive(&s.opt)
	s.tokens.Set(id.No, t)
	s.index.add(t)
	return t
}

// spawner holds the spawn history of an address.
type spawner struct {
	LastSec int64 // time of the last spawn (spawnedAt), Unix seconds; the cooldown begins here
	Count   int64 // number of tokens that the address spawned
}
