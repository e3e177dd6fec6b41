package launchpad

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
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

// copied is what all accounts held of a token at a checkpoint, as a copy made then.
type copied struct {
	token  uint32
	seq    uint64
	endSec int64
	held   map[Address]Amount
}

func TestACheckpointTellsWhatACopyOfAllHoldingsWouldTell(t *testing.T) {
	for seed := range uint64(6) {
		rng, r := rand.New(rand.NewPCG(seed, 8)), newRig(t)
		const users, tokens = 8, 3
		for i := range tokens {
			r.advance(1)
			token := r.pooled(user(i), symbolOf(i), "50")
			for n := range users {
				r.must(Deposit{To: user(n), Currency: USBICoin, Amount: AmountOf(1000)})
				r.must(Transfer{Token: token.No, From: user(i), To: user(n), Amount: AmountOf(uint64(10 + n))})
			}
		}
		var all []copied
		for range 400 {
			no, from, to := rng.Uint32N(tokens)+1, user(rng.IntN(users)), user(rng.IntN(users))
			token, _ := r.s.tokens.Get(no)
			switch rng.IntN(8) {
			case 0:
				c := copied{no, r.checkpoint(no), r.now/secondNs + CheckpointSec, map[Address]Amount{}}
				for n := range users {
					c.held[user(n)] = r.s.balance(user(n), token.asset())
				}
				all = append(all, c)
			case 1, 2:
				r.do(Swap{Token: no, From: from, AmountIn: AmountOf(uint64(rng.IntN(5)))})
			case 3:
				r.do(Swap{Token: no, From: from, Sell: true, AmountIn: r.s.balance(from, token.asset())})
			case 4:
				r.do(AddLiquidity{Token: no, From: from, TokenAmount: One, QuoteAmount: One})
			case 5:
				r.advance(rng.Int64N(2 * 86400))
			default:
				r.do(Transfer{Token: no, From: from, To: to, Amount: AmountOf(uint64(rng.IntN(12)))})
			}
			compareCopies(t, r, all)
		}
		r.check()
		r.advance(CheckpointSec)
		if r.check(); r.s.past.Len()+r.s.checkpoints.Len()+len(r.s.newest) != 0 {
			t.Fatalf("seed %d: %d holdings and %d checkpoints are left", seed, r.s.past.Len(), r.s.checkpoints.Len())
		}
	}
}

func compareCopies(t *testing.T, r *rig, all []copied) {
	t.Helper()
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	views := map[string]*View{"state": r.s.View(), "snapshot": again.View()}
	for _, c := range all {
		if c.endSec*secondNs <= r.now {
			continue
		}
		for a, want := range c.held {
			for name, v := range views {
				token, _ := v.tokens.Get(c.token)
				if got := v.HeldAt(a, token, c.seq); got != want {
					t.Fatalf("%s: account %s held %s of token %d at checkpoint %d, the copy says %s", name, a, got,
						c.token, c.seq, want)
				}
			}
		}
	}
}

func TestCheckpointRefusals(t *testing.T) {
	r := newRig(t)
	if _, rej := r.s.Checkpoint(r.now, 1); rej == nil || rej.Code != refuse.NotFound || rej.Field != "id" {
		t.Fatal(rej)
	}
	one, other := r.pooled(user(1), "ONE", "50"), r.pooled(user(2), "TWO", "50")
	r.must(Deposit{To: user(1), Currency: USBICoin, Amount: AmountOf(100)})
	r.checkpoint(one.No)
	r.s.maxPast = 3
	r.must(Transfer{Token: one.No, From: user(1), To: user(3), Amount: One})
	// There is no room for two holdings more: what would change the token's holdings is refused, nothing else.
	for _, cmd := range []Command{
		Transfer{Token: one.No, From: user(1), To: user(4), Amount: One},
		Swap{Token: one.No, From: user(1), AmountIn: One},
		AddLiquidity{Token: one.No, From: user(1), TokenAmount: One, QuoteAmount: One},
	} {
		r.refused(cmd, refuse.Unavailable, "")
	}
	r.must(Transfer{Token: other.No, From: user(2), To: user(4), Amount: One})
	r.must(BuyBoost{Token: one.No, Tier: Short})
	r.lazy = true // what the checkpoint remembers goes at its end, before the command
	r.advance(CheckpointSec)
	r.must(Transfer{Token: one.No, From: user(1), To: user(4), Amount: One})
	if r.s.past.Len()+r.s.checkpoints.Len() != 0 {
		t.Errorf("%d holdings and %d checkpoints are left", r.s.past.Len(), r.s.checkpoints.Len())
	}
	if err := r.s.Check(); err != nil {
		t.Fatal(err)
	}
}

// A checkpoint is made for what is there when it is asked for: first, what is due ends.
func TestACheckpointComesAfterWhatIsDue(t *testing.T) {
	r := newRig(t)
	token := r.pooled(user(1), "ONE", "50")
	r.checkpoint(token.No)
	r.must(Transfer{Token: token.No, From: user(1), To: user(2), Amount: One})
	r.lazy = true
	r.advance(CheckpointSec)
	name := r.checkpoint(token.No)
	if n := r.s.checkpoints.Len(); n != 1 || r.s.newest[token.No].seq != name || r.s.past.Len() != 0 {
		t.Errorf("%d checkpoints, %d holdings", n, r.s.past.Len())
	}
	r.check()
}

// What a command does must not depend on whether ticks came before it.
func TestTheLedgerIsTheSameWithAndWithoutTicks(t *testing.T) {
	for seed := range uint64(20) {
		ticking, lazy := newRig(t), newRig(t)
		lazy.lazy = true
		for _, r := range []*rig{ticking, lazy} {
			rng := rand.New(rand.NewPCG(seed, 4))
			for i := range 3 {
				r.pooled(user(i), symbolOf(i), "50")
			}
			for range 300 {
				no, from := rng.Uint32N(3)+1, user(rng.IntN(3))
				r.do(Deposit{To: from, Currency: USBICoin, Amount: AmountOf(3)})
				switch rng.IntN(6) {
				case 0:
					r.do(BuyBoost{Token: no, Tier: Tier(rng.IntN(int(tiers)))})
				case 1:
					r.checkpoint(no)
				case 2:
					r.do(Transfer{Token: no, From: user(int(no) - 1), To: user(rng.IntN(5)), Amount: One})
				case 3:
					r.advance(rng.Int64N(40_000))
				default:
					r.do(Swap{Token: no, From: from, AmountIn: One})
				}
			}
			r.lazy = false
			r.advance(rng.Int64N(CheckpointSec))
			r.check()
		}
		if ticking.ticks == 0 || hashOf(ticking.s) != hashOf(lazy.s) {
			t.Fatalf("seed %d: another ledger without the %d ticks", seed, ticking.ticks)
		}
	}
}

// A Tick carries out at most maxDue changes; the next ones carry out the rest, in the order of their times. A command
// carries out all of them.
func TestATickCarriesOutABoundedNumberOfChanges(t *testing.T) {
	r := newRig(t)
	token := r.pooled(user(1), "ONE", "50")
	r.checkpoint(token.No)
	const marks, holders = 2*maxDue + 10, maxDue
	for i := range marks {
		r.s.digest += r.s.window.push(mark{sec: r.now/secondNs + int64(i), token: token.No, quote: One})
		edited := r.s.edit(token.No)
		edited.Window = edited.Window.Add(One)
		r.s.put(edited)
	}
	for i := range holders - 1 {
		r.must(Transfer{Token: token.No, From: user(1), To: user(100 + i), Amount: One})
	}
	r.now += 2 * CheckpointSec * secondNs
	once, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	left := func() int { return r.s.window.Len() + r.s.past.Len() + r.s.checkpoints.Len() }
	all := left()
	for want := all; want > 0; {
		due := r.s.NextNs()
		res := r.s.Tick(r.now)
		if want = max(0, want-maxDue); left() != want || res.Due > maxDue || res.Due == 0 {
			t.Fatalf("%d changes are left, not %d", left(), want)
		}
		next := r.s.NextNs()
		if next != 0 && (next < due || next < r.s.nowNs) || next > r.now || r.s.nowNs < due {
			t.Fatalf("the next change is due at %d, after %d; the last one was at %d", next, due, r.s.nowNs)
		}
	}
	if res := r.s.Tick(r.now); res.Due != 0 {
		t.Fatalf("%+v", res)
	}
	transfer := Transfer{Token: token.No, From: user(1), To: user(9), Amount: One}
	if res, err := once.Do(r.now, transfer); err != nil || res.Due != all {
		t.Fatalf("%+v, %v, %d changes were due", res, err, all)
	}
	if r.must(transfer); hashOf(r.s) != hashOf(once) {
		t.Fatal("the ledger is another one without ticks")
	}
	if err := r.s.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestAFullWindowHasRoomAtTheSecondAtWhichAMarkLeaves(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		r := newRig(t)
		r.pooled(user(1), "ONE", "50")
		r.must(Deposit{To: user(1), Currency: USBICoin, Amount: AmountOf(100)})
		r.lazy, r.s.maxMarks = lazy, 3
		swap := Swap{Token: 1, From: user(1), AmountIn: One}
		for range 3 {
			r.must(swap)
			r.advance(1)
		}
		r.refused(swap, refuse.Unavailable, "")
		r.now = start + WindowSec*secondNs - 1
		r.refused(swap, refuse.Unavailable, "")
		r.now++
		r.must(swap)
		r.refused(swap, refuse.Unavailable, "")
	}
}

// holders returns a rig with a token that so many accounts hold.
func holders(tb testing.TB, n int) (*rig, *Token) {
	r := newRig(tb)
	token := r.pooled(user(1), "ONE", "50")
	for i := range n {
		var a Address
		a[0], a[1], a[2], a[3] = byte(i*7), byte(i>>16), byte(i>>8), byte(i)
		r.s.credit(a, token.asset(), One)
		r.s.debit(user(1), token.asset(), One)
	}
	r.must(Deposit{To: user(1), Currency: USBICoin, Amount: AmountOf(1_000_000)})
	r.must(Deposit{To: user(1), Amount: AmountOf(1_000_000)})
	return r, token
}

// work carries out a command, nil: a checkpoint, as the machine does, and returns the bytes that it allocated.
func work(tb testing.TB, r *rig, cmd Command) uint64 {
	tb.Helper()
	before := allocated()
	carryOut(tb, r, cmd)
	return allocated() - before
}

func carryOut(tb testing.TB, r *rig, cmd Command) {
	tb.Helper()
	if cmd == nil {
		if _, rej := r.s.Checkpoint(r.now, 1); rej != nil {
			tb.Fatal(rej)
		}
	} else if _, err := r.s.Do(r.now, cmd); err != nil {
		tb.Fatal(err)
	}
}

// A command copies the nodes on a path of each tree that it changes: a few levels more for many holders.
func TestNoCommandCostsMoreBecauseATokenHasManyHolders(t *testing.T) {
	const most = 1 << 19
	few, token := holders(t, 10)
	many, _ := holders(t, most)
	var spawned int
	commands := map[string]func() Command{
		"checkpoint": func() Command { return nil },
		"transfer":   func() Command { return Transfer{Token: token.No, From: user(1), To: user(2), Amount: One} },
		"first transfer": func() Command {
			spawned++
			return Transfer{Token: token.No, From: user(1), To: user(1000 + spawned), Amount: One}
		},
		"buy":       func() Command { return Swap{Token: token.No, From: user(1), AmountIn: One} },
		"sell":      func() Command { return Swap{Token: token.No, From: user(1), Sell: true, AmountIn: One} },
		"liquidity": func() Command { return AddLiquidity{token.No, user(1), One, One} },
		"boost":     func() Command { return BuyBoost{Token: token.No, Tier: Short} },
		"deposit":   func() Command { return Deposit{To: user(3), Amount: One} },
	}
	for name, cmd := range commands {
		var bytes [2]uint64
		for i, r := range []*rig{few, many} {
			for range 20 {
				bytes[i] += work(t, r, cmd()) / 20
			}
		}
		t.Logf("%s: %d bytes with 10 holders, %d with %d", name, bytes[0], bytes[1], most)
		if bytes[1] > 3*bytes[0]+20_000 {
			t.Errorf("%s: %d bytes with 10 holders, %d with %d", name, bytes[0], bytes[1], most)
		}
	}
}

func benchmark(b *testing.B, cmd func(i int, token *Token) Command) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, token := holders(b, n)
			for i := 0; b.Loop(); i++ {
				carryOut(b, r, cmd(i, token))
			}
		})
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	benchmark(b, func(int, *Token) Command { return nil })
}

func BenchmarkTransfer(b *testing.B) {
	benchmark(b, func(i int, token *Token) Command {
		return Transfer{Token: token.No, From: user(1), To: user(i % 100), Amount: unit}
	})
}

func BenchmarkSwap(b *testing.B) {
	benchmark(b, func(i int, token *Token) Command {
		return Swap{Token: token.No, From: user(1), Sell: i%2 == 1, AmountIn: AmountOf(1)}
	})
}

func BenchmarkSpawn(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r, _ := holders(b, n)
			r.s.opt.CooldownNs, r.s.opt.Fee = 0, unit
			for i := 0; b.Loop(); i++ {
				if i%MaxTokens == 0 {
					r.s.symbols = map[string]uint32{}
				}
				carryOut(b, r, Spawn{Owner: user(1), Name: "N", Symbol: symbolOf(i)})
			}
		})
	}
}
