package engine_test

import (
	"math"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

func place(side engine.Side, price, amount int64) engine.Command {
	return engine.Command{Kind: engine.Place, Side: side, Price: price, Amount: amount}
}

func (m *market) mustReject(cmd engine.Command, want engine.Reason) {
	m.t.Helper()
	events := m.do(cmd)
	if len(events) != 1 || events[0].Kind != engine.EventRejected || events[0].Reason != want {
		m.t.Fatalf("%+v made %v, not a refusal %q", cmd, kinds(events), want)
	}
}

func kinds(events []engine.Event) (k []string) {
	for i := range events {
		k = append(k, describe(&events[i]))
	}
	return k
}

// A queue of 5,000 orders at one price is swept in order by one order.
func TestCase06SweepOf5000InOrder(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.quick = true
	const n = 5000
	for range n {
		m.do(place(engine.Sell, 10000, 2))
	}
	events := m.do(place(engine.Buy, 10000, 2*n))
	m.check()
	next := engine.OrderID(1)
	for _, e := range events {
		if e.Kind == engine.EventTrade {
			if e.Maker != next || e.Amount != 2 {
				t.Fatalf("trade %d is with order %d, not %d", e.Trade, e.Maker, next)
			}
			next++
		}
	}
	if next != n+1 || len(events) != n+2 {
		t.Fatalf("%d orders swept, %d events", next-1, len(events))
	}
}

// Prices and amounts at the ends of int64 rest and trade; what would overflow a product
// or the sum of a side is refused.
func TestCase07EndsOfTheRange(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.do(place(engine.Sell, math.MaxInt64, 1))
	m.do(place(engine.Buy, 1, math.MaxInt64))
	m.do(place(engine.Buy, 2, 1)) // refused: no room beside the other
	if m.reader.Orders[3] != nil {
		t.Fatal("the lots of a side went beyond int64")
	}
	m.do(engine.Command{
		Kind: engine.Replace, Order: 2, Flags: engine.FlagHasAmount | engine.FlagAllAccount,
		Amount: math.MaxInt64 - 5,
	})
	m.do(place(engine.Buy, 2, 5))
	m.mustReject(place(engine.Buy, 2, 1), engine.AmountOutOfRange)
	m.mustReject(engine.Command{
		Kind: engine.Replace, Order: 3, Amount: 6, Flags: engine.FlagHasAmount | engine.FlagAllAccount,
	}, engine.AmountOutOfRange)
	m.mustReject(place(engine.Buy, math.MaxInt64, math.MaxInt64), engine.TotalOutOfRange)
	m.mustReject(engine.Command{
		Kind: engine.Replace, Order: 1, Price: math.MaxInt64, Amount: math.MaxInt64,
		Flags: engine.FlagHasAmount | engine.FlagHasPrice | engine.FlagAllAccount,
	}, engine.TotalOutOfRange)
	most := fixed.Mul64(fixed.Pow10[11], fixed.Pow10[12]) // product units, which are 10^29 units of the quote
	m.mustReject(engine.Command{
		Kind: engine.Place, Type: engine.Market, Flags: engine.FlagQuote, Quote: most.Add(fixed.FromU64(1)),
	}, engine.TotalOutOfRange)
	m.mustReject(place(engine.Sell, 1, math.MaxInt64), engine.AmountOutOfRange)
	if e := m.do(place(engine.Sell, 1, math.MaxInt64-1)); e[3].Kind != engine.EventTrade || e[3].MakerOpen != 1 ||
		e[3].OpenAmount != 0 {
		t.Fatalf("a sweep of the whole range: %v", kinds(e))
	}
	if e := m.do(place(engine.Buy, math.MaxInt64, 1)); e[1].Kind != engine.EventTrade || e[1].Price != math.MaxInt64 {
		t.Fatalf("the highest price did not trade: %v", kinds(e))
	}
	big := engine.Command{Kind: engine.Place, Type: engine.Market, Flags: engine.FlagQuote, Quote: most}
	m.do(place(engine.Sell, 1, 7))
	if e := m.do(big); e[1].Amount != 6 { // one met what was left of the bid
		t.Fatalf("the largest quote amount bought %v", kinds(e))
	}
}

// A market buy by quote that affords less than a lot ends, at once and for each level.
func TestCase20EndsBelowALot(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	for p := int64(1000); p < 1100; p++ {
		m.do(place(engine.Sell, p, 1))
	}
	events := m.do(engine.Command{
		Kind: engine.Place, Type: engine.Market, TIF: engine.IOC, Flags: engine.FlagQuote, Quote: fixed.FromU64(10_500),
	})
	last := events[len(events)-1]
	if last.Kind != engine.EventCanceled || last.Status != engine.Completed ||
		last.Quote != fixed.FromU64(10_500-10_045) {
		t.Fatalf("%v, %v left", kinds(events), last.Quote)
	}
}

// After every operation a level's amount is the sum of its orders', lots are conserved, a
// reader rebuilds the book, and bids never reach asks: market.do checks all of it, for
// each kind of operation here.
func TestCase29LevelsAreTheSumOfTheirOrders(t *testing.T) { everyKind(t) }

func TestCase31LotsAreConserved(t *testing.T) {
	m := everyKind(t)
	if m.reader.Closed == 0 || len(m.reader.Orders) == 0 {
		t.Fatal("nothing ended, or nothing is open: nothing was shown")
	}
}

func TestCase32StreamHasNoGapsAndRebuildsTheBook(t *testing.T) {
	m := everyKind(t)
	if m.reader.Trade == 0 || m.reader.Seq != m.core.LastSeq(0) {
		t.Fatalf("%d trades read, seq %d", m.reader.Trade, m.reader.Seq)
	}
}

func TestCase33BidsNeverReachAsks(t *testing.T) {
	m := everyKind(t)
	bid, ask := m.core.AppendDepth(nil, 0, engine.Buy, 1), m.core.AppendDepth(nil, 0, engine.Sell, 1)
	if bid[0].Price >= ask[0].Price {
		t.Fatalf("bid %d, ask %d", bid[0].Price, ask[0].Price)
	}
}

// everyKind runs a thousand commands of all kinds, each checked.
func everyKind(t *testing.T) *market {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	f := &enginetest.Flow{R: enginetest.NewRand(3), Reader: m.reader}
	f.Init()
	for range 1000 {
		m.do(f.Next())
		f.Last = m.core.LastOrderID(0)
	}
	inst := enginetest.Instrument()
	m.do(engine.Command{Kind: engine.SetPair, Instrument: &inst})
	m.do(engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount})
	m.do(place(engine.Buy, 100, 1))
	m.do(place(engine.Sell, 101, 1))
	return m
}

// Depth gives exactly the levels asked for, best first; 0 means all.
func TestCase30DepthIsExact(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	for i := range int64(60) { // more than stays next to the touch
		m.do(place(engine.Buy, 1000-(i*7)%60, 1))
		m.do(place(engine.Sell, 1001+(i*11)%60, 2))
	}
	for _, n := range []int{1, 2, 16, 17, 59, 60, 61, 0} {
		for _, side := range []engine.Side{engine.Buy, engine.Sell} {
			got := m.core.AppendDepth(nil, 0, side, n)
			if want := n; len(got) != min(want, 60) && n > 0 || n == 0 && len(got) != 60 {
				t.Fatalf("depth %d of %s has %d levels", n, side, len(got))
			}
			for i, lv := range got {
				want := 1000 - int64(i)
				if side == engine.Sell {
					want = 1001 + int64(i)
				}
				if lv.Price != want {
					t.Fatalf("level %d of %s is %d", i, side, lv.Price)
				}
			}
		}
	}
}

// The rates of both sides are the pair's and the accounts' when their orders are accepted, and the trade repeats them.
func TestCase34RatesStandInTheTrade(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.fund()
	rates := func(maker, taker uint32) {
		inst := enginetest.Instrument()
		inst.MakerFee, inst.TakerFee = maker, taker
		m.do(engine.Command{Kind: engine.SetPair, Instrument: &inst})
	}
	check := func(e engine.Event, maker, makerDiscount, taker, takerDiscount uint32) {
		t.Helper()
		if e.Kind != engine.EventTrade || e.MakerFee != maker || e.MakerDiscount != makerDiscount ||
			e.TakerFee != taker || e.TakerDiscount != takerDiscount {
			t.Errorf("%s: %+v", describe(&e), e)
		}
	}
	rates(11, 12)
	maker := place(engine.Sell, 100, 5)
	maker.Account = 1
	if e := m.do(maker)[0]; e.MakerFee != 11 || e.TakerFee != 12 || e.TakerDiscount != 101 { // the purse's discounts
		t.Errorf("%+v", e)
	}
	rates(21, 22)
	taker := place(engine.Buy, 100, 2)
	taker.Account = 2
	check(m.do(taker)[1], 11, 101, 22, 200)
	// A replaced order that takes does so at the rates it was accepted with, and so does a stop that triggers later.
	rest := place(engine.Buy, 90, 2)
	rest.Account = 3
	id := m.do(rest)[0].Order
	stop := place(engine.Buy, 100, 1)
	stop.Account, stop.Type, stop.Stop = 4, engine.StopLimit, 101
	m.do(stop)
	rates(31, 32)
	check(m.do(engine.Command{
		Kind: engine.Replace, Order: id, Account: 3, Flags: engine.FlagHasPrice, Price: 100,
	})[2], 11, 101, 22, 300)
	dear := place(engine.Sell, 101, 1)
	dear.Account = 1
	m.do(dear)
	both := place(engine.Buy, 101, 2)
	both.Account = 2
	events := m.do(both) // the trade at 101 triggers the stop, which rests at 100
	check(events[1], 11, 101, 32, 200)
	check(events[3], 31, 101, 32, 200)
	sell := place(engine.Sell, 100, 1)
	sell.Account = 1
	check(m.do(sell)[1], 21, 400, 32, 101)
	// The built-in account pays no fee, so it has no rates, and no discount is asked for it.
	if e := m.do(place(engine.Buy, 1, 1))[0]; e.MakerFee != 0 || e.TakerFee != 0 || e.TakerDiscount != 0 {
		t.Errorf("%+v", e)
	}
}

// A part of a mass cancel takes the oldest 256 orders up to its bound, of one account or
// of all; what came later stays.
func TestMassCancelInParts(t *testing.T) {
	for name, account := range map[string]engine.AccountID{"built-in": 0, "an account": 7, "all": 1} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, engine.Options{}, enginetest.Instrument())
			m.quick = true
			for i := range int64(3000) {
				cmd := place(engine.Buy, 1+i%500, 1)
				cmd.Account = account
				if i%2 == 1 && name != "all" {
					cmd.Account = 9
				}
				if i%100 == 0 {
					cmd.Type, cmd.Stop = engine.StopLimit, 5000
				}
				m.do(cmd)
			}
			all := engine.Command{Kind: engine.CancelAll, Account: account, Order: m.core.LastOrderID(0)}
			if name == "all" {
				all.Flags = engine.FlagAllAccount
			}
			late := place(engine.Buy, 700, 1)
			late.Account = account
			m.do(late)
			want := 1500
			if name == "all" {
				want = 3000
			}
			total, last := 0, engine.OrderID(0)
			for _, e := range m.do(all) {
				if e.Kind == engine.EventCanceled {
					if total++; e.Order <= last {
						t.Fatalf("order %d after %d", e.Order, last)
					}
					last = e.Order
				}
			}
			m.check()
			if total != want || m.core.OpenOrders(0) != 3001-want {
				t.Fatalf("%d orders, %d left", total, m.core.OpenOrders(0))
			}
			if e := m.do(all); e[0].Kind != engine.EventNothing {
				t.Fatalf("%v", kinds(e))
			}
		})
	}
}

// The bound of a mass cancel is an order id of the pair: one of a lower pair lets it
// cancel nothing, one of a higher pair everything.
func TestMassCancelBoundOfAnotherPair(t *testing.T) {
	c := engine.NewCore(engine.Options{})
	for _, code := range []string{"AA_BB", "AA_CC", "AA_DD"} {
		c.Apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &engine.Instrument{
			Code: code, Base: code[:2], Quote: code[3:],
		}}, nil)
	}
	cmd := place(engine.Buy, 10, 1)
	cmd.Pair = 1
	c.Apply(&cmd, nil)
	for p, want := range []int{1, 1, 0} {
		c.Apply(&engine.Command{
			Kind: engine.CancelAll, Pair: 1, Order: engine.MakeOrderID(engine.PairID(p),
				1<<30), Flags: engine.FlagAllAccount,
		}, nil)
		if p != 1 && c.OpenOrders(1) != want {
			t.Fatalf("with a bound of pair %d there are %d open orders", p, c.OpenOrders(1))
		}
		if p == 1 {
			c.Apply(&cmd, nil)
		}
	}
}
