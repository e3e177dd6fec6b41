package marketdata

import (
	"math"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// The list of an account's open orders holds, whichever of them ends; the built-in account's orders are found without
// a list, newest first over all pairs.
func TestTheListsOfOpenOrders(t *testing.T) {
	for _, ends := range [][]uint64{
		{5, 4, 3, 2, 1}, {1, 2, 3, 4, 5}, {3, 4, 2, 5, 1}, {5, 1, 4, 2, 3}, {2, 1, 3, 5, 4}, {4, 5, 3, 1, 2},
	} {
		s := newScript(Options{})
		h := s.f.History()
		open := map[engine.AccountID][]engine.OrderID{}
		for n := uint64(1); n <= 5; n++ {
			for _, account := range []engine.AccountID{3, 0, 7} {
				pair := engine.PairID(n % 2 * 2)
				number := n*10 + uint64(account)
				s.place(pair, number, account, nil)
				open[account] = append([]engine.OrderID{engine.MakeOrderID(pair, number)}, open[account]...)
			}
		}
		check := func() {
			t.Helper()
			for account, want := range open {
				q := everything(account, 100)
				q.Status = OnlyOpen
				var got []engine.OrderID
				for _, o := range ordersOf(t, s.f, q) {
					got = append(got, o.ID)
				}
				same(t, append([]engine.OrderID(nil), want...), got)
			}
			if a := h.accounts[0]; a.openCount != 0 || a.openHead != 0 {
				t.Errorf("the built-in account has a list of %d from %d", a.openCount, a.openHead)
			}
			same(t, uint32(len(open[3])), h.accounts[3].openCount)
		}
		check()
		for i, n := range ends {
			if i == 3 { // uses the places of orders that have ended
				for n := uint64(11); n <= 13; n++ {
					s.place(0, n, 3, nil)
					open[3] = append([]engine.OrderID{engine.OrderID(n)}, open[3]...)
				}
				check()
			}
			for account := range open {
				id := engine.MakeOrderID(engine.PairID(n%2*2), n*10+uint64(account))
				s.cancel(id.Pair(), id.N(), 10)
				kept := open[account][:0:0]
				for _, o := range open[account] {
					if o != id {
						kept = append(kept, o)
					}
				}
				open[account] = kept
			}
			check()
		}
	}
}

// The fills of an order and of an account end with the oldest retained one, and the fee of a first answer is known if
// all its fills are retained.
func TestFillsThatAreOverwritten(t *testing.T) {
	for trades := uint64(1); trades <= 14; trades++ {
		s := newScript(Options{Retention: Retention{Fills: 20}}) // ten trades
		h := s.f.History()
		s.place(0, 1, 3, func(e *engine.Event) { e.Amount = 100 })
		events := []engine.Event{{
			Kind: engine.EventAccepted, Order: 2, Account: 4, Amount: 100, Price: 100, Client: clientID("c"),
		}}
		fee := uint64(0)
		for n := uint64(1); n <= trades; n++ {
			events = append(events, engine.Event{
				Kind: engine.EventTrade, Order: 2, Maker: 1, Trade: engine.TradeID(n), Price: 100, Amount: 2,
				Account:      4,
				MakerAccount: 3, MakerOpen: 100 - 2*int64(n), OpenAmount: 100 - 2*int64(n), TakerFee: 200_000,
			})
			fee += 40 // 0.2 % of 2 lots, which are 0.0002 of the base, in 10^-8
		}
		s.command(0, events...)
		o := s.order(t, 2)
		first, _ := h.FirstAnswer(2)
		kept := int(min(trades, 10))
		same(t, fixed.FromU64(fee), o.Fee)
		same(t, true, o.FeeKnown)
		same(t, kept, len(o.Fills))
		same(t, o.Fills, first.Fills)
		same(t, trades <= 10, first.FeeKnown)
		if first.FeeKnown {
			same(t, fixed.FromU64(fee), first.Fee)
		} else {
			same(t, fixed.U128{}, first.Fee)
		}
		for i, f := range o.Fills {
			same(t, engine.TradeID(int(trades)-kept+1+i), f.Trade)
		}
		for _, account := range []engine.AccountID{3, 4} {
			same(t, uint32(kept), h.accounts[account].fillCount)
			same(t, simpleFills(h, everything(account, 50)), fillsOf(t, s.f, everything(account, 50)))
		}
	}
	sum, known := sumFees([]Fill{{Amount: 5, Fee: fixed.FromU64(7)}, {Amount: 1, Fee: fixed.FromU64(8)}}, 6)
	same(t, fixed.FromU64(15), sum)
	same(t, true, known)
	for _, filled := range []int64{5, 7} {
		sum, known = sumFees([]Fill{{Amount: 6, Fee: fixed.FromU64(7)}}, filled)
		same(t, fixed.U128{}, sum)
		same(t, false, known)
	}
}

func TestDistancesOfRecords(t *testing.T) {
	for _, c := range []struct {
		n, prev uint64
		want    uint32
	}{
		{5, 0, 0},
		{0, 0, 0},
		{5, 1, 5},
		{5, 5, 1},
		{math.MaxUint32, 1, math.MaxUint32},
		{math.MaxUint32 + 1, 1, 0},
		{math.MaxUint32 + 6, 1, 0},
		{math.MaxUint32 + 6, 7, math.MaxUint32},
		{math.MaxUint32 + 6, 6, 0},
	} {
		if got := distance(c.n, c.prev); got != c.want {
			t.Errorf("from %d to the one before %d: %d, want %d", c.n, c.prev, got, c.want)
		}
	}
}

// A query chooses by pair, times that it includes, and state.
func TestWhatAQueryChooses(t *testing.T) {
	for _, c := range []struct {
		pair   engine.PairID
		timeNs int64
		want   bool
	}{
		{3, 10, true},
		{3, 20, true},
		{3, 15, true},
		{3, 9, false},
		{3, 21, false},
		{4, 15, false},
		{engine.ControlPair, 15, false},
	} {
		q := Query{Pair: 3, SinceNs: 10, UntilNs: 20}
		all := Query{Pair: engine.ControlPair, SinceNs: 10, UntilNs: 20}
		if q.matches(c.pair, c.timeNs) != c.want || all.matches(5, c.timeNs) != (c.timeNs >= 10 && c.timeNs <= 20) {
			t.Errorf("%+v", c)
		}
	}
	for s, want := range map[engine.Status][3]bool{
		engine.Created: {true, true, false}, engine.PartiallyCompleted: {true, true, false},
		engine.Completed: {true, false, false}, engine.Canceled: {true, false, true},
		engine.PartiallyExecutedAndCanceled: {true, false, true},
	} {
		for f, want := range want {
			if StatusFilter(f).matches(s) != want {
				t.Errorf("filter %d, status %d: %v", f, s, !want)
			}
		}
	}
	o := orderRec{}
	o.fill(&engine.Event{Amount: 3}, fixed.FromU64(9), 4, 0, true)
	same(t, orderRec{filled: 3, filledQuote: fixed.FromU64(9), lastFill: 5, status: engine.PartiallyCompleted}, o)
	o.fill(&engine.Event{Amount: 2}, fixed.FromU64(1), 7, 6, false)
	same(t, orderRec{
		filled: 5, filledQuote: fixed.FromU64(10), lastFill: 8, open: 6, status: engine.PartiallyCompleted,
	}, o)
	o.fill(&engine.Event{Amount: 6}, fixed.FromU64(1), 8, 0, false)
	same(t, engine.Completed, o.status)
}

// A history that is restored has the open orders of all pairs in the order of their creation, the first answers of
// remembered orders, and the fills of each account.
func TestARestoredHistoryHasItsLists(t *testing.T) {
	s := newScript(Options{Retention: Retention{ClosedOrders: 1, ClientIDs: 3, Fills: 20}})
	for n := uint64(0); n < 8; n++ {
		s.place(engine.PairID(n%2*2), 100-50*(n%2)+n, engine.AccountID(n/2%2*5), func(e *engine.Event) {
			if n < 3 {
				e.Client = clientID(string(rune('a' + n)))
			}
		})
	}
	for n := range uint64(3) {
		s.cancel(engine.PairID(n%2*2), 100-50*(n%2)+n, 10)
	}
	for n, accounts := range [][2]engine.AccountID{{3, 4}, {4, 3}, {3, 3}, {4, 6}, {5, 3}, {3, 5}} {
		id := uint64(200 + 2*n)
		s.place(0, id, accounts[0], nil)
		s.command(0, engine.Event{
			Kind: engine.EventAccepted, Order: engine.MakeOrderID(0,
				id+1), Account: accounts[1], Amount: 10, Price: 100,
			Side: engine.Sell,
		}, engine.Event{
			Kind: engine.EventTrade, Order: engine.MakeOrderID(0, id+1), Maker: engine.MakeOrderID(0, id), Price: 100,
			Amount: 4, Trade: engine.TradeID(n + 1), Account: accounts[1], MakerAccount: accounts[0], OpenAmount: 6,
			MakerOpen: 6, Side: engine.Sell,
		})
	}
	f := s.f
	g := reload2(t, f)
	for account := range engine.AccountID(7) {
		for _, status := range []StatusFilter{AnyStatus, OnlyOpen} {
			q := everything(account, 100)
			q.Status = status
			same(t, ordersOf(t, f, q), ordersOf(t, g, q))
		}
		same(t, fillsOf(t, f, everything(account, 100)), fillsOf(t, g, everything(account, 100)))
		same(t, simpleFills(g.History(), everything(account, 100)), fillsOf(t, g, everything(account, 100)))
	}
	for n := range uint64(3) {
		id := engine.MakeOrderID(engine.PairID(n%2*2), 100-50*(n%2)+n)
		a, okA := f.History().FirstAnswer(id)
		b, okB := g.History().FirstAnswer(id)
		same(t, true, okA && okB)
		same(t, a, b)
	}
	if NewFeed(Options{}).History().restored != 0 || g.History().restored != 1 {
		t.Errorf("restored %d times", g.History().restored)
	}
	same(t, []byte{historyFormat, 1, 0, 0, 0, 0, 0, 0, 0, 0}, NewFeed(Options{}).AppendHistoryState(nil))
}

// reload2 decodes the state of a feed with pairs 0 and 2 into a new one.
func reload2(t *testing.T, f *Feed) *Feed {
	t.Helper()
	g := NewFeed(f.opts)
	for _, pair := range []engine.PairID{2, 0} {
		if err := g.DecodePairState(f.AppendPairState(nil, pair)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.DecodeHistoryState(f.AppendHistoryState(nil)); err != nil {
		t.Fatal(err)
	}
	return g
}
