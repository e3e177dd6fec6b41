package launchpad

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomLedgerNearTheBounds: balances of 10^20, supplies of 10^30 and of one token, amounts from one
// unit to everything. Nothing panics, and the ledger adds up after each command.
func TestRandomLedgerNearTheBounds(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 7))
	r := newRig(t)
	const tokens, users = 4, 3
	for i := range tokens {
		owner := user(i % users)
		r.must(Deposit{To: owner, Amount: AmountOf(1000)})
		r.advance(86400)
		spawn := Spawn{Owner: owner, Name: "N", Symbol: symbolOf(i), TotalSupply: "1" + strings.Repeat("0", i%2*30)}
		if i >= 2 {
			spawn.PoolSide = WNative
		}
		r.must(spawn)
	}
	// part returns a unit, a random share, everything or more than everything.
	part := func(all Amount) Amount {
		v := all.Big()
		switch rng.IntN(4) {
		case 0:
			return unit
		case 1:
			v.Rsh(v, uint(rng.IntN(130)))
		case 2:
			v.Add(v, big.NewInt(rng.Int64N(2)))
		}
		a, _ := AmountFromBig(v)
		return a
	}
	done := map[string]int{}
	for range 20_000 {
		who, no := user(rng.IntN(users)), uint32(rng.IntN(tokens))+1
		tok, _ := r.s.tokens.Get(no)
		coin := tok.Side.Currency()
		has, owns := r.s.balance(who, coin.asset()), r.s.balance(who, tok.asset())
		var cmd Command
		switch rng.IntN(8) {
		case 0:
			cmd = Deposit{To: who, Currency: coin, Amount: part(maxBalance)}
		case 1:
			cmd = Withdraw{From: who, Currency: coin, Amount: part(has)}
		case 2:
			cmd = Transfer{Token: no, From: who, To: user(rng.IntN(users)), Amount: part(owns)}
		case 3:
			cmd = AddLiquidity{Token: no, From: who, TokenAmount: part(owns), QuoteAmount: part(has)}
		case 4, 5:
			cmd = Swap{Token: no, From: who, AmountIn: part(has)}
		default:
			cmd = Swap{Token: no, From: who, Sell: true, AmountIn: part(owns)}
		}
		if _, rej := r.do(cmd); rej == nil {
			done[fmt.Sprintf("%T", cmd)]++
		}
		if after, _ := r.s.tokens.Get(no); !after.Empty() {
			after.Price()
		}
		if rng.IntN(50) == 0 {
			r.advance(rng.Int64N(20_000))
			r.check()
		}
	}
	r.check()
	t.Logf("seed %d: %v", seed, done)
	for kind, n := range done {
		if n < 20 {
			t.Errorf("seed %d: %d of %s", seed, n, kind)
		}
	}
	if len(done) != 5 {
		t.Errorf("seed %d: %v", seed, done)
	}
}

// unit is the smallest amount.
var unit, _ = AmountFromBig(big.NewInt(1))
