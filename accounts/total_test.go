package accounts

import (
	"math/big"
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// huge returns a rig with a pair whose orders reach 10^20 with few digits, and with users who
// may go below zero.
func huge(t *testing.T, users int) *rig {
	r := newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{
			Kind: engine.EventPair, Pair: 0, Seq: r.next(0),
			Instrument: &engine.Instrument{Base: "AA", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2},
		})
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

// Fees have no limit: accounts that may go below zero pay them for as long as they trade.
// Each trade here is of 4.5e19, and the sum of four fees exceeds 2^127.
func TestFeesOfAnySumAreTaken(t *testing.T) {
	const users, lots, price = 40, 10_000_000, 45_000_000_000_000_000
	r := huge(t, users)
	want := new(big.Int)
	for u := uint32(1); u <= users; u++ {
		r.fold(func(f fold) {
			fees := f.trade(&engine.Event{
				Kind: engine.EventTrade, Pair: 0, Seq: r.next(0), Side: engine.Side(u % 2),
				Order: engine.OrderID(uint64(2 * u)), Maker: engine.OrderID(uint64(2*u + 1)),
				Account: engine.AccountID(u), Price: price, Amount: lots, TakerFee: RateOne,
			})
			want.Add(want, toBig(fees.taker))
		})
		r.adds()
	}
	if got := r.usdt().Fees; toBig(got).Cmp(want) != 0 || got.CmpTerm(MaxMoney) <= 0 {
		t.Fatalf("fees %s, want %s", text(got), want)
	}
}

// Withdrawals and a balance of the built-in account have no limit either.
func TestWithdrawalsOfAnySumAreTaken(t *testing.T) {
	const users = 20
	r := huge(t, users)
	for u := uint32(1); u <= users; u++ {
		r.do(Command{Kind: Withdraw, User: u, Currency: "USDT", Amount: dec("90000000000000000000")})
		r.adds()
	}
	if got := r.usdt().Withdrawn; text(got) != "1800000000000000000000.0" {
		t.Fatalf("%s withdrawn", text(got))
	}
	for u := uint32(1); u <= users; u++ {
		r.fold(func(f fold) {
			f.trade(&engine.Event{
				Kind: engine.EventTrade, Pair: 0, Seq: r.next(0), Side: engine.Buy,
				Account: engine.AccountID(u), Price: 45_000_000_000_000_000, Amount: 10_000_000,
			})
		})
	}
	r.adds()
	if b := r.s.View().Balance(0, "USDT"); text(b.Total) != "900000000000000000000.0" {
		t.Fatalf("the built-in account has %s", text(b.Total))
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
		r.fold(func(f fold) {
			f.trade(&engine.Event{
				Kind: engine.EventTrade, Pair: 0, Seq: r.next(0), TimeNs: t0, Side: engine.Side(i % 2), Account: 2,
				Price: 45_000_000_000_000_000, Amount: 10_000_000, TakerFee: RateOne,
			})
		})
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

// Fold also books orders that Reserve would refuse, because their commands are in the journal.
// A trade beyond 10^20 counts as 10^20 on both sides.
func TestAFoldNeverPanicsOnAmounts(t *testing.T) {
	const most = 1<<63 - 1
	r := huge(t, 2)
	r.do(Command{Kind: PatchUser, User: 2, Profile: ProfilePatch{NoTradeCommissions: ptr(true)}})
	for i, typ := range []engine.OrderType{engine.Limit, engine.Market, engine.StopLimit, engine.StopMarket} {
		for side := engine.Buy; side <= engine.Sell; side++ {
			id, price := uint64(10*i)+uint64(side)+1, int64(most)
			flags := uint8(0)
			if atMarket(typ) {
				price = 0
			}
			if atMarket(typ) && side == engine.Buy {
				flags = engine.FlagFunded
			}
			r.fold(func(f fold) {
				f.accepted(&engine.Event{
					Kind: engine.EventAccepted, Pair: 0, Seq: r.next(0), Order: engine.OrderID(id), Account: 1,
					Side: side, Type: typ, Price: price, Amount: most,
					Flags: flags, Quote: fixed.U128{Hi: 1 << 62},
					MakerFee: RateOne, TakerFee: RateOne,
				})
				f.trade(&engine.Event{
					Kind: engine.EventTrade, Pair: 0, Seq: r.next(0), Side: side, Order: engine.OrderID(id),
					Account: 1, MakerAccount: 2,
					Price: most, Amount: most / 2, OpenAmount: most - most/2, TakerFee: RateOne, MakerFee: RateOne,
				})
				f.replaced(&engine.Event{
					Kind: engine.EventReplaced, Pair: 0, Seq: r.next(0),
					Order: engine.OrderID(id), Price: most, Amount: most, OpenAmount: most,
				})
				f.canceled(&engine.Event{
					Kind: engine.EventCanceled, Pair: 0, Seq: r.next(0),
					Order: engine.OrderID(id),
				})
			})
			r.adds()
		}
	}
}
