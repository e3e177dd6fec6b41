package accounts

import (
	"sync"
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// testRates are the fees of the tests' pair: 0.1 % maker, 0.2 % taker.
var testRates = Rates{Maker: RateOne / 1000, Taker: RateOne / 500}

func units(n uint64) fixed.U128 { return fixed.FromU64(n) }

// traders returns a rig with a buyer who has 1000 USDT and a seller who has 2 BTC.
func traders(t *testing.T) (r *rig, buyer, seller uint32) {
	r = newRig(t)
	r.pair()
	buyer, seller = r.user(ProfilePatch{}), r.user(ProfilePatch{})
	r.deposit(buyer, "USDT", "1000")
	r.deposit(seller, "BTC", "2")
	return r, buyer, seller
}

// accept reserves and accepts a limit order.
func (r *rig) accept(order uint64, p OrderParams) {
	r.t.Helper()
	if p.Rates == (Rates{}) {
		p.Rates = testRates
	}
	res, reason := r.s.Reserve(p)
	if reason != engine.NotRejected {
		r.t.Fatal(reason)
	}
	e := acceptedEvent(r.next(0), order, p, res)
	r.fold(func(f fold) { f.event(&e) })
}

func TestAReservationOfARefusedReplaceIsReleased(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000})
	up, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 20_000, HasPrice: true})
	if reason != engine.NotRejected {
		t.Fatal(reason)
	}
	r.balance(buyer, "USDT", "799.6", "200.4")
	r.s.Release(up)
	r.balance(buyer, "USDT", "899.8", "100.2")
	if res, reason := r.s.ReserveReplace(ReplaceParams{
		Order: 99, Price: 1,
		HasPrice: true,
	}); reason != engine.NotRejected || res.taken {
		t.Fatal("an unknown order is for the engine to refuse")
	}
	if _, reason := r.s.Reserve(OrderParams{
		Account: buyer, Pair: 9, Price: 1,
		Amount: 1,
	}); reason != engine.UnknownPair {
		t.Fatal(reason)
	}
}

func TestSpendLimitIsTheMostThatIsCovered(t *testing.T) {
	p := &pairTerms{digitsPrice: 2, digitsAmount: 6}
	for _, free := range []string{
		"0.000000000000000001", "0.00000001", "0.0000000101", "1", "100.2",
		"99999999999999999999.999999999999999999",
	} {
		for _, rates := range []Rates{
			testRates,
			{},
			{Taker: RateOne},
			{Taker: 33_333_333, Discount: 1},
			{Maker: 3, Taker: 2},
		} {
			s := spendLimit(dec(free), p, rates)
			if cost, ok := withFee(s, p, rates); !ok && !s.IsZero() || cost.Cmp(dec(free)) > 0 {
				t.Fatalf("free %s: the limit costs %s", free, text(cost))
			}
			if cost, ok := withFee(s.Add(units(1)), p, rates); ok && cost.Cmp(dec(free)) <= 0 {
				t.Fatalf("free %s: one unit more costs %s", free, text(cost))
			}
		}
	}
}

// An accrual may take an account beyond 10^20 while its order is on its way. A market buy of it may spend 10^20.
func TestSpendLimitOfABalanceAboveTheBound(t *testing.T) {
	p := &pairTerms{digitsPrice: 2, digitsAmount: 6}
	for rate, want := range map[uint32]fixed.U128{
		0: fixed.Mul64(1e14, 1e14), RateOne: fixed.Mul64(5e13, 1e14),
	} {
		above := MaxMoney.Add(dec("1000000"))
		if got := spendLimit(above, p, Rates{Taker: rate}); got != want {
			t.Errorf("rate %d: %v, want %v", rate, got, want)
		}
	}
}

// Many handlers reserve and release while the engine folds, never more than the free balance.
func TestReservationsFromManyGoroutines(t *testing.T) {
	r, buyer, _ := traders(t)
	p := OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates} // 100.2 each
	var wg sync.WaitGroup
	shown := r.s.View()
	accepted := make(chan Reservation, 10_000)
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				res, reason := r.s.Reserve(p)
				switch {
				case reason != engine.NotRejected:
				case i%3 == 0:
					accepted <- res
				default:
					r.s.Release(res)
				}
				if b := shown.Balance(buyer, "USDT"); b.Free.Sign() < 0 || b.Total != sum("1000") {
					t.Errorf("free %s, total %s", text(b.Free), text(b.Total))
				}
			}
		})
	}
	go func() { wg.Wait(); close(accepted) }()
	order, open := uint64(0), uint64(1)
	for range accepted {
		order++
		events := []engine.Event{{
			Kind: engine.EventAccepted, Seq: r.next(0), Order: engine.OrderID(order),
			Account: engine.AccountID(buyer), Side: engine.Buy, Price: 10_000, Amount: 1_000_000,
			MakerFee: testRates.Maker, TakerFee: testRates.Taker, TakerDiscount: testRates.Discount,
		}}
		if order-open > 5 {
			events = append(events, engine.Event{
				Kind: engine.EventCanceled, Seq: r.next(0), Order: engine.OrderID(open),
			})
			open++
		}
		r.pos++
		r.s.FoldEvents(events, r.pos)
		r.s.View()
	}
	r.check()
	if c := r.s.Counts(); c.Unreserved != 0 || len(r.s.holds.pending) != 0 || order < 9 {
		t.Fatalf("%+v, %d pending after %d orders", c, len(r.s.holds.pending), order)
	}
}

// BenchmarkReserveFoldTrade reserves two orders and folds them and their trade, as a part of 256 commands that one
// publication shows; each has a report of its own. archive: the accrual of the trade moves the oldest one to its
// archive.
func BenchmarkReserveFoldTrade(b *testing.B) {
	b.Run("kept", func(b *testing.B) { benchmarkTrade(b, MaxDealAccruals) })
	b.Run("archive", func(b *testing.B) { benchmarkTrade(b, 1000) })
}

func benchmarkTrade(b *testing.B, kept int) {
	r := newRig(b)
	r.pair()
	buyer, seller := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	up := r.user(ProfilePatch{})
	r.invite(buyer, up)
	r.s.referral.maxDealAccruals = kept
	r.deposit(buyer, "USDT", "10000000000000000")
	r.deposit(seller, "BTC", "100000000000000")
	p := OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	q := OrderParams{Account: seller, Side: engine.Sell, Price: 10_000, Amount: 1_000_000, Rates: testRates}
	seq, id, v := uint64(1), uint64(0), r.s.View()
	b.ReportAllocs()
	for b.Loop() {
		if _, reason := r.s.Reserve(p); reason != engine.NotRejected {
			b.Fatal(reason)
		}
		sell, reason := r.s.Reserve(q)
		if reason != engine.NotRejected {
			b.Fatal(reason)
		}
		r.s.FoldEvents(nil, seq)
		r.s.mu.Lock()
		f := fold{r.s}
		bought, sold := acceptedEvent(engine.Seq(seq+1), id+1, p, Reservation{}), acceptedEvent(engine.Seq(seq+2),
			id+2, q, sell)
		f.accepted(&bought)
		f.accepted(&sold)
		f.trade(&engine.Event{
			Kind: engine.EventTrade, Seq: engine.Seq(seq + 3), Side: engine.Sell, Order: engine.OrderID(id +
				2), Maker: engine.OrderID(id +
				1), Account: engine.AccountID(seller), MakerAccount: engine.AccountID(buyer),
			Price: 10_000, Amount: 1_000_000, TakerFee: RateOne / 500, MakerFee: RateOne / 1000,
		})
		r.s.mu.Unlock()
		v.Fold(r.s.Take())
		if seq, id = seq+3, id+2; id%256 == 0 {
			r.s.View()
		}
	}
}

// A Replaced event takes over its reservation however the order has changed meanwhile: here a
// replace of the price alone, while a decrement makes the order smaller.
func TestAReplaceTakesItsReservationOverAfterADecrement(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 5_000_000})
	r.balance(buyer, "USDT", "499.0", "501.0")
	res, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 15_000, HasPrice: true})
	if reason != engine.NotRejected || res.SpendLimit != units(250_0000_0000) {
		t.Fatalf("%+v, %+v", res, reason)
	}
	r.fold(func(f fold) {
		f.reduced(&engine.Event{Kind: engine.EventReduced, Seq: r.next(0), Order: 1, OpenAmount: 3_000_000})
		f.replaced(&engine.Event{
			Kind: engine.EventReplaced, Seq: r.next(0), Order: 1, Price: 15_000,
			Amount: 3_000_000, OpenAmount: 3_000_000,
		})
	})
	r.balance(buyer, "USDT", "549.1", "450.9")
	r.fold(func(f fold) { f.canceled(&engine.Event{Kind: engine.EventCanceled, Seq: r.next(0), Order: 1}) })
	r.balance(buyer, "USDT", "1000.0", "0.0")
	if len(r.s.holds.pending) != 0 || r.s.holds.waiting != 0 || r.s.Counts().Unreserved != 0 {
		t.Fatal("the reservation stayed")
	}
}

// An order has at most one replace on its way, also where the replace needs no more money: its
// event must not end the reservation of another replace.
func TestAnOrderHasOneReplaceOnItsWay(t *testing.T) {
	r, buyer, _ := traders(t)
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: 5_000_000})
	down, reason := r.s.ReserveReplace(ReplaceParams{Order: 1, Price: 5_000, HasPrice: true})
	if reason != engine.NotRejected || !down.Replaces || !down.SpendLimit.IsZero() {
		t.Fatalf("%+v, %+v", down, reason)
	}
	up := ReplaceParams{Order: 1, Price: 15_000, HasPrice: true}
	if _, reason = r.s.ReserveReplace(up); reason != engine.InsufficientFunds {
		t.Fatalf("%+v", reason)
	}
	r.s.Release(down)
	if _, reason = r.s.ReserveReplace(up); reason != engine.NotRejected {
		t.Fatal(reason)
	}
	r.balance(buyer, "USDT", "248.5", "751.5")
}

// An order without a fee reserves the whole free balance. While it is on its way, the last
// rounded fee of another order takes 10^-18 of it, and the fee account gives that back.
func TestRoundedFeesNeverOverdrawAnotherOrder(t *testing.T) {
	r := newRig(t)
	r.fold(func(f fold) {
		f.pair(&engine.Event{
			Kind: engine.EventPair, Pair: 0, Seq: r.next(0),
			Instrument: &engine.Instrument{Base: "AAA", Quote: "BBB", DigitsPrice: 9, DigitsAmount: 9},
		})
	})
	buyer := r.user(ProfilePatch{})
	rates := Rates{Maker: 60_000_000, Taker: 60_000_000} // 0.6
	r.do(Command{Kind: Deposit, User: buyer, Currency: "BBB", Amount: fixed.FromI64(13)})
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 1, Amount: 2, Rates: rates}) // holds 3
	next := OrderParams{Account: buyer, Side: engine.Buy, Price: 1, Amount: 10}
	if _, reason := r.s.Reserve(next); reason != engine.NotRejected {
		t.Fatal(reason)
	}
	buys := func(order uint64, rate uint32, open int64) {
		t.Helper()
		r.fold(func(f fold) {
			f.trade(&engine.Event{
				Kind: engine.EventTrade, Seq: r.next(0), Side: engine.Sell, Order: 99,
				Maker: engine.OrderID(order), MakerAccount: engine.AccountID(buyer), Price: 1, Amount: 1,
				MakerOpen: open, MakerFee: rate,
			})
		})
	}
	buys(1, 60_000_000, 1)
	buys(1, 60_000_000, 0) // 0.6 -> 1 twice, where 1.2 -> 1 was held
	r.fold(func(f fold) {
		f.accepted(&engine.Event{
			Kind: engine.EventAccepted, Seq: r.next(0), Order: 2,
			Account: engine.AccountID(buyer), Side: engine.Buy, Price: 1, Amount: 10,
		})
	})
	for open := int64(9); open >= 0; open-- {
		buys(2, 0, open)
	}
	if c := r.s.Counts(); c.Overdrafts != 0 {
		t.Fatalf("%+v", c)
	}
	r.balance(buyer, "BBB", "0.0", "0.0")
}

func TestAFoldOfATradeAllocatesNothing(t *testing.T) {
	r, buyer, _ := traders(t)
	const lots = 1_000_000
	r.accept(1, OrderParams{Account: buyer, Side: engine.Buy, Price: 10_000, Amount: lots})
	seq, open := r.next(0), int64(lots)
	events := make([]engine.Event, 3)
	if n := testing.AllocsPerRun(100, func() {
		open--
		events[0] = engine.Event{
			Kind: engine.EventTrade, Seq: seq, Side: engine.Sell, Order: 2, Maker: 1,
			MakerAccount: engine.AccountID(buyer),
			Price:        10_000, Amount: 1, MakerOpen: open, MakerFee: testRates.Maker,
		}
		events[1] = engine.Event{Kind: engine.EventLevel, Seq: seq + 1, Price: 10_000, Amount: open}
		events[2] = engine.Event{Kind: engine.EventReduced, Seq: seq + 2, Order: 1, OpenAmount: open - 1}
		open--
		r.s.FoldEvents(events, r.pos+uint64(seq))
		seq += 3
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	r.check()
}
