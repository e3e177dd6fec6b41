package accounts

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// huge returns a rig with a pair of assets with few digits, and with users who may go below zero.
func huge(t *testing.T, users int) *rig {
	r := newRig(t)
	r.addPair(engine.Instrument{
		Base: "AA", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2, BaseDigits: 4, QuoteDigits: 4,
	})
	for range users {
		r.do(Command{Kind: CreateUser, Profile: ProfilePatch{Unlimited: ptr(true)}})
	}
	return r
}

func (r *rig) usdt() TotalView {
	for _, v := range r.s.View().Totals() {
		if v.CurrencyCode == "USDT" {
			return v
		}
	}
	r.t.Fatal("no totals")
	return TotalView{}
}

// adds checks that the totals add up, by big integers, and that the state's snapshot restores
// it.
func (r *rig) adds() {
	r.t.Helper()
	if err := r.s.Check(); err != nil {
		r.t.Fatal(err)
	}
	for _, v := range r.s.View().Totals() {
		in := new(big.Int).Add(new(big.Int).Add(toBig(v.Free), toBig(v.Held)), toBig(v.Fees))
		if out := new(big.Int).Sub(toBig(v.Deposited), toBig(v.Withdrawn)); in.Cmp(out) != 0 {
			r.t.Fatalf("%s: %s in accounts, %s deposited", v.CurrencyCode, in, out)
		}
	}
	if _, err := DecodeSnapshot(r.s.AppendSnapshot(nil)); err != nil {
		r.t.Fatal(err)
	}
}

// The sums of fees and of withdrawals, and balances of accounts that take from unlimited ones, may be far larger than
// one amount: each trade here is of 4.5e19, and the sum of four is beyond 2^127 of 10^-18.
func TestSumsFarBeyondOneAmount(t *testing.T) {
	const users, lots, price = 40, 10_000_000, 45_000_000_000_000_000
	r := huge(t, users)
	r.s.settings.Withdrawal = CommissionRule{}
	each := toBig(dec("45000000000000000000"))
	times := func(n int64) *big.Int { return new(big.Int).Mul(each, big.NewInt(n)) }
	for u := uint32(1); u <= users; u++ {
		r.fold(traded(engine.Event{
			Side: engine.Sell, Account: engine.AccountID(u), Price: price, Amount: lots, TakerFee: RateOne,
		})...)
		r.adds()
	}
	if got := r.usdt().Fees; toBig(got).Cmp(times(users)) != 0 || got.CmpTerm(MaxMoney) <= 0 {
		t.Fatalf("fees %s", text(got))
	}
	for u := uint32(1); u <= users; u++ {
		r.do(Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("45000000000000000000")})
		r.adds()
	}
	if got := r.usdt().Withdrawn; toBig(got).Cmp(times(users)) != 0 {
		t.Fatalf("%s withdrawn", text(got))
	}
	for u := uint32(1); u <= users; u++ {
		r.fold(traded(engine.Event{Account: engine.AccountID(u), Price: price, Amount: lots})...)
	}
	r.adds()
	if b := r.s.View().Balance(0, "USDT"); b.Total.Sign() != 0 { // it has paid as much as it has received
		t.Fatalf("the built-in account has %s", text(b.Total))
	}
	if b := r.s.View().Balance(1, "USDT"); toBig(b.Free).Cmp(times(-2)) != 0 {
		t.Errorf("an account has %s", text(b.Free))
	}
}

// Accruals of one day and the sums of them have no limit either: the receiver withdraws each
// payment, and the archive grows.
func TestAccrualsOfAnySumAreKept(t *testing.T) {
	const users, rounds = 3, 60
	r := huge(t, users)
	r.do(Command{Kind: SetInviter, User: 2, Code: InviteCode(1)})
	r.s.referral.maxDealAccruals = 2
	r.rates(Config{Levels: []uint32{RateOne}})
	for i := range uint64(rounds) {
		r.fold(traded(engine.Event{
			TimeNs: t0, Side: engine.Sell, Account: 2, MakerAccount: engine.AccountID(3 * (i % 2)),
			Price: 45_000_000_000_000_000, Amount: 10_000_000, TakerFee: RateOne,
		})...)
		r.do(Command{Kind: Withdraw, User: 1, Currency: "USDT", Amount: dec("45000000000000000000")})
		r.adds()
	}
	want := new(big.Int).Mul(big.NewInt(rounds), toBig(dec("45000000000000000000")))
	v := r.s.View()
	if got := v.Accruals(1).Summary(accrual.Filter{}); len(got) != 1 || toBig(got[0].Amount).Cmp(want) != 0 {
		t.Errorf("summary %v, want %s", got, want)
	}
	if got := v.UserInfo(1).TotalProfitAmount; toBig(got).Cmp(want) != 0 {
		t.Errorf("profit %s, want %s", text(got), want)
	}
	if got, _, _ := v.Accruals(1).Groups(t0-dayNs, t0+dayNs, 1); len(got) != 1 || toBig(got[0].Amount).Cmp(want) != 0 {
		t.Errorf("groups %v, want %s", got, want)
	}
	if got := v.Accruals(1).Totals(); len(got) != 1 || toBig(got[0].TotalAmountsByCurrency[0].Amount).Cmp(want) != 0 {
		t.Errorf("by user %v, want %s", got, want)
	}
}

// A fold books whatever the events of known pairs and accounts say, and never panics: their command is in the log.
// Amounts beyond all bounds are taken modulo 2^128.
func TestAFoldNeverPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, digits := range []int{4, 18} {
		r := newRig(t)
		r.addPair(engine.Instrument{
			Base: "AA", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2, BaseDigits: digits, QuoteDigits: digits,
		})
		for n := range 3 {
			r.user(ProfilePatch{Unlimited: ptr(n == 2)})
		}
		r.invite(1, 2)
		r.s.View()
		number := func() int64 { return int64(rng.Uint64()) >> rng.IntN(64) }
		for range 20_000 {
			r.folds(engine.Event{
				Kind: engine.EventAccepted + engine.EventKind(rng.IntN(int(engine.EventAsset))), TimeNs: number(),
				Side: engine.Side(rng.IntN(2)), Type: engine.OrderType(rng.IntN(4)), Flags: uint8(rng.Uint32()),
				Account: engine.AccountID(rng.IntN(4)), MakerAccount: engine.AccountID(rng.IntN(4)),
				Order: 1, Maker: 2, Price: number(), Amount: number(), OpenAmount: number() * rng.Int64N(2),
				MakerOpen: number(), Display: number() * rng.Int64N(2), TakerFee: rng.Uint32(), MakerFee: rng.Uint32(),
				TakerDiscount: rng.Uint32(), MakerDiscount: rng.Uint32() >> rng.IntN(32),
				Quote:      fixed.U128{Hi: uint64(number()), Lo: rng.Uint64()},
				Instrument: &engine.Instrument{},
				Control:    &engine.ControlRecord{Asset: &engine.Asset{Symbol: "USDT", Digits: 7}},
			})
			a, side := engine.AccountID(rng.IntN(4)), engine.Side(rng.IntN(2))
			r.s.Cover(a, 0, side, fixed.U128{Hi: uint64(number()), Lo: rng.Uint64()})
			r.s.Free(a, 0, side)
			r.s.View()
		}
		if d, used := r.s.Digits("USDT"); d != digits || !used {
			t.Errorf("USDT has %d digits, used %t", d, used)
		}
	}
}

func toBig[M amount](v M) *big.Int {
	s := v.Wide()
	negative := s.Sign() < 0
	if negative {
		s = s.Neg()
	}
	n := new(big.Int)
	for _, w := range [...]uint64{s.W2, s.W1, s.W0} {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w))
	}
	if negative {
		n.Neg(n)
	}
	return n
}
