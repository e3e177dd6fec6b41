package marketdata

import (
	"errors"
	"math"
	"slices"
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

func everything(account engine.AccountID, limit int) Query {
	return Query{
		Account: account, Pair: engine.ControlPair, SinceNs: math.MinInt64, UntilNs: math.MaxInt64, Limit: limit,
	}
}

// A deep page after a cursor reads about as many records as it has rows, whatever is newer.
func TestADeepPageOfFillsReadsLittle(t *testing.T) {
	r := newRig(Options{}, 1)
	for i := range int64(3000) {
		r.now += 1 + i%2*nanosecond
		r.trade(0, engine.Side(i%2), 100, 1)
	}
	r.fold()
	h := r.feed.History()
	for account := engine.AccountID(1); account <= 2; account++ {
		all := fillsOf(t, r.feed, everything(account, 10_000))
		for _, at := range []int{0, 1, 700, 1999, 2998} {
			for _, of := range []engine.OrderID{0, all[at+1].Order} {
				q := everything(account, 5)
				q.After, q.Order = all[at].Cursor(), of
				want := all[at+1 : min(at+6, len(all))]
				if of != 0 {
					q.After.Order, want = of, nil // the only fill of this order is the next row
					q.After.TimeNs, q.After.Trade = all[at+1].TimeNs, all[at+1].Trade
				}
				before := h.visited
				got := fillsOf(t, r.feed, q)
				same(t, append([]Fill(nil), want...), append([]Fill(nil), got...))
				if n := h.visited - before; n > uint64(len(want))+1 {
					t.Errorf("account %d, row %d, order %d: %d records for %d rows", account, at, of, n, len(want))
				}
			}
		}
	}
}

// When the loop stops, a list ends with the error of its turn.
func TestAListEndsWithTheErrorOfItsTurn(t *testing.T) {
	rnd := newRand(t)
	r := crowded(rnd, Options{}, 9000)
	h := r.feed.History()
	stopped := errors.New("stopped")
	for n := range 2 {
		turns := 0
		turn := func(fn func()) error {
			if turns++; turns > n {
				return stopped
			}
			fn()
			return nil
		}
		if rows, err := h.Orders(everything(1, 3000), turn); !errors.Is(err, stopped) || rows != nil {
			t.Errorf("orders: %d rows, %v", len(rows), err)
		}
		turns = 0
		if rows, err := h.Fills(everything(1, 3000), turn); !errors.Is(err, stopped) || rows != nil {
			t.Errorf("fills: %d rows, %v", len(rows), err)
		}
	}
	for _, q := range []Query{{Limit: 0}, {Limit: -1}, {Limit: 1, Offset: -1}} {
		turn := func(func()) error { t.Error("a turn for nothing"); return nil }
		orders, err := h.Orders(q, turn)
		fills, err2 := h.Fills(q, turn)
		if orders != nil || fills != nil || err != nil || err2 != nil {
			t.Errorf("%+v: %v, %v", q, orders, fills)
		}
	}
}

// An observer reads orders as the event left them: also those that have ended within the command.
func TestAnObserverReadsOrdersWithinACommand(t *testing.T) {
	r := newRig(Options{}, 1)
	h := r.feed.History()
	resting := r.place(0, 1, engine.Sell, 100, 5)
	r.fold()
	seen := 0
	r.feed.Observe(func(e *engine.Event) {
		if e.Kind != engine.EventTrade {
			return
		}
		seen++
		maker, ok := h.Current(e.Maker)
		if !ok || maker.ID != resting || maker.Filled != 5 || maker.Status != engine.Completed || maker.Open != 0 {
			t.Errorf("the maker is %+v, %v", maker, ok)
		}
		taker, ok := h.Current(e.Order)
		if !ok || taker.ID != e.Order || taker.Filled != 5 || taker.Open != 2 {
			t.Errorf("the taker is %+v, %v", taker, ok)
		}
		for _, id := range []engine.OrderID{
			engine.MakeOrderID(0, 900), engine.MakeOrderID(1, 1), engine.MakeOrderID(4000, 1), engine.MakeOrderID(0, 0),
		} {
			if o, ok := h.Current(id); ok {
				t.Errorf("order %d is %+v", id, o)
			}
		}
	})
	taker := r.place(0, 2, engine.Buy, 100, 7)
	r.fold()
	if seen != 1 {
		t.Fatalf("%d trades", seen)
	}
	r.place(0, 2, engine.Buy, 90, 1) // ends the command, and uses the place of the maker
	r.fold()
	if _, ok := h.Current(resting); ok {
		t.Error("an order of an earlier command that has ended is open")
	}
	if o, ok := h.Current(taker); !ok || o.Open != 2 {
		t.Errorf("the taker is %+v, %v", o, ok)
	}
}

// The open orders of an account are given newest first, until yield returns false; pairs may be missing.
func TestOpenOrdersAreGivenUntilTheCallerHasEnough(t *testing.T) {
	r := newRig(Options{}, 0)
	for _, id := range []engine.PairID{1, 3} {
		e := addPair(id, string(rune('A'+id))+"_USD")
		r.feed.Fold([]engine.Event{e})
	}
	seq, n := map[engine.PairID]engine.Seq{1: 1, 3: 1}, uint64(0)
	accept := func(pair engine.PairID, account engine.AccountID, number uint64) engine.OrderID {
		seq[pair]++
		n++
		id := engine.MakeOrderID(pair, number)
		r.feed.Fold([]engine.Event{{
			Kind: engine.EventAccepted, Pair: pair, Seq: seq[pair], TimeNs: r.now + int64(n), Order: id,
			Account: account, Price: 100, Amount: 5,
		}})
		return id
	}
	for _, account := range []engine.AccountID{0, 6} {
		base := uint64(account) * 1000
		var want []engine.OrderID
		for _, c := range []struct {
			pair   engine.PairID
			number uint64
		}{{3, 1}, {1, 2}, {3, 2000}, {1, 5000}, {1, 5001}} { // pages of numbers in between are missing
			want = append(want, accept(c.pair, account, base+c.number))
		}
		slices.Reverse(want)
		for most := 1; most <= len(want)+1; most++ {
			var got []engine.OrderID
			r.feed.History().OpenOrders(account, func(o OrderRecord) bool {
				got = append(got, o.ID)
				return len(got) < most
			})
			same(t, want[:min(most, len(want))], got)
		}
	}
	r.feed.History().OpenOrders(77, func(o OrderRecord) bool { t.Errorf("%+v", o); return true })
}

// The sum of an order's fees ends at the largest number.
func TestTheSumOfFeesEndsAtTheLargestNumber(t *testing.T) {
	one := fixed.I128{Lo: 1}
	almost := fixed.MaxFee.Sub(one)
	for _, c := range []struct{ before, fee, want fixed.I128 }{
		{fixed.I128{}, one, one},
		{almost, fixed.I128{}, almost},
		{almost, one, fixed.MaxFee},
		{fixed.MaxFee, fixed.I128{}, fixed.MaxFee},
		{fixed.MaxFee, one, fixed.MaxFee},
		{one, fixed.MaxFee, fixed.MaxFee},
		{noFee, one, noFee},
	} {
		o := orderRec{fee: c.before}
		o.pay(c.fee)
		same(t, c.want, o.fee)
	}
}

// A history of format 1 whose fills are all there knows every fee, and goes on; what a stop order's first answer says
// of its trigger is not known before it has traded.
func TestAHistoryOfTheFirstFormatGoesOn(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{ClosedOrders: 700, Fills: 100_000, ClientIDs: 40}, 2)
	r.run(rnd, 5000, 2, false)
	f, g := r.feed, NewFeed(r.feed.opts)
	for p := range 2 {
		if err := g.DecodePairState(f.AppendPairState(nil, engine.PairID(p))); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.DecodeHistoryState(f.history.append(nil, historyNoFees)); err != nil {
		t.Fatal(err)
	}
	fees, stops := 0, map[Trigger]int{}
	compare := func(o *orderRec) {
		want, _ := f.History().Order(o.id)
		got, ok := g.History().Order(o.id)
		if !ok || got.Fee != want.Fee || !got.FeeKnown {
			t.Fatalf("order %d has the fee %v (%v), want %v", o.id, got.Fee, got.FeeKnown, want.Fee)
		}
		if len(want.Fills) > 1 {
			fees++
		}
		first, ok := g.History().FirstAnswer(o.id)
		if !ok || first.Type != engine.StopLimit && first.Type != engine.StopMarket {
			if ok && first.Trigger != NoStop {
				t.Errorf("order %d without a stop price: %d", o.id, first.Trigger)
			}
			return
		}
		stops[first.Trigger]++
		if want := map[bool]Trigger{true: Triggered, false: TriggerUnknown}[o.filled > 0]; first.Trigger != want {
			t.Errorf("the first answer of order %d: %d, want %d", o.id, first.Trigger, want)
		}
	}
	for _, p := range f.pairs {
		p.orders.eachOpen(f.history, compare)
	}
	for n := f.history.closed.first(); n < f.history.closed.end; n++ {
		compare(f.history.closed.at(n))
	}
	if fees == 0 || stops[Triggered] == 0 || stops[TriggerUnknown] == 0 {
		t.Fatalf("%d orders with several fills, stops %v", fees, stops)
	}
	mark := len(r.events)
	r.run(rnd, 500, 2, false)
	g.Fold(r.events[mark:])
	for _, p := range f.pairs {
		p.orders.eachOpen(f.history, func(o *orderRec) {
			want, _ := f.History().Order(o.id)
			got, ok := g.History().Order(o.id)
			if !ok || got.Status != want.Status || got.Seq != want.Seq || got.Open != want.Open {
				t.Errorf("order %d goes on as %+v, want %+v", o.id, got, want)
			}
		})
	}
	same(t, f.Stats().OpenOrders, g.Stats().OpenOrders)
	same(t, f.Stats().ClosedOrders, g.Stats().ClosedOrders)
}

// A history is restored into the limits of the options: the newest are kept.
func TestAHistoryIsRestoredIntoLowerLimits(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{ClosedOrders: 400, Fills: 3000, ClientIDs: 200}, 2)
	r.run(rnd, 4000, 2, false)
	r.feed.AppendHistoryState(nil) // ends the last command
	before := r.feed.Stats()
	g := NewFeed(Options{ClosedOrders: 50, Fills: 600, ClientIDs: 30})
	for p := range 2 {
		if err := g.DecodePairState(r.feed.AppendPairState(nil, engine.PairID(p))); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.DecodeHistoryState(r.feed.AppendHistoryState(nil)); err != nil {
		t.Fatal(err)
	}
	s := g.Stats()
	if s.ClosedOrders != 50 || s.Remembered != 30 || s.Fills != 600 || s.OpenOrders != before.OpenOrders ||
		before.Remembered != 200 || before.ClosedOrders != 400 {
		t.Errorf("%+v, before %+v", s, before)
	}
	f := r.feed.history
	for n := f.closed.end - 50; n < f.closed.end; n++ {
		if _, ok := g.History().Order(f.closed.at(n).id); !ok {
			t.Errorf("closed order %d is gone", f.closed.at(n).id)
		}
	}
	if _, ok := g.History().Order(f.closed.at(f.closed.end - 51).id); ok {
		t.Error("an older one is kept")
	}
	extras := len(g.history.extras.free)
	if extras == 0 {
		t.Error("nothing of the orders that were dropped is free again")
	}
}

// An old order that was canceled last is among the newest closed ones: it is restored although lower limits have
// dropped all orders of the numbers between.
func TestAnOldOrderThatClosedLastIsRestoredIntoLowerLimits(t *testing.T) {
	r := newRig(Options{ClosedOrders: 1500}, 1)
	cancel := func(id engine.OrderID) {
		r.apply(engine.Command{Kind: engine.Cancel, Order: id, Flags: engine.FlagAllAccount})
	}
	first := r.place(0, 1, engine.Buy, 100, 5)
	for range 3000 {
		cancel(r.place(0, 1, engine.Buy, 100, 5))
	}
	cancel(first)
	r.fold()
	g := NewFeed(Options{ClosedOrders: 40})
	if err := g.DecodePairState(r.feed.AppendPairState(nil, 0)); err != nil {
		t.Fatal(err)
	}
	if err := g.DecodeHistoryState(r.feed.AppendHistoryState(nil)); err != nil {
		t.Fatal(err)
	}
	if o, ok := g.History().Order(first); !ok || o.Status != engine.Canceled {
		t.Errorf("%+v, %v", o, ok)
	}
	if s := g.Stats(); s.ClosedOrders != 40 {
		t.Errorf("%d closed orders", s.ClosedOrders)
	}
	mark := len(r.events)
	for range 60 {
		cancel(r.place(0, 1, engine.Buy, 100, 5))
	}
	g.Fold(r.events[mark:])
	if _, ok := g.History().Order(first); ok {
		t.Error("it is kept beyond the limit")
	}
	if n := len(g.pairs[0].orders.pages); n > 3 {
		t.Errorf("%d pages of order numbers are kept", n)
	}
}

// More accounts than an exchange can have, or a pair too many, are no history.
func TestAHistoryOfImpossibleNumbersIsRefused(t *testing.T) {
	r := newRig(Options{}, 1)
	r.trade(0, engine.Buy, 100, 5)
	r.fold()
	for what, head := range map[string][3]uint64{
		"format 0": {0, 3, 1}, "format 3": {3, 3, 1}, "200,000,001 accounts": {2, maxAccounts + 1, 1},
		"two pairs": {2, 3, 2}, "no pair": {2, 3, 0},
	} {
		g := NewFeed(r.feed.opts)
		if err := g.DecodePairState(r.feed.AppendPairState(nil, 0)); err != nil {
			t.Fatal(err)
		}
		w := walker{Coder: wire.Writer(nil)}
		for i := range head {
			w.U64(&head[i])
		}
		if err := g.DecodeHistoryState(w.Bytes()); err == nil {
			t.Errorf("%s: read", what)
		}
	}
}

// In a deep book the fold reads ahead what the events will change; it does so also for a pair that they add.
func TestADeepBookIsReadAhead(t *testing.T) {
	r := newRig(Options{}, 1)
	for i := range int64(prefetchOrders) {
		r.place(0, engine.AccountID(i%3), engine.Buy, 1+i%500, 1)
	}
	r.fold()
	first := engine.MakeOrderID(0, 1)
	r.apply(engine.Command{Kind: engine.Cancel, Order: first, Flags: engine.FlagAllAccount})
	r.place(0, 5, engine.Sell, 400, 10)
	e := addPair(2, "NEW_USD")
	r.batch = append(r.batch, e, engine.Event{
		Kind: engine.EventAccepted, Pair: 2, Seq: 2, TimeNs: r.now, Order: engine.MakeOrderID(2, 1), Account: 1,
		Price: 5, Amount: 5,
	}, engine.Event{
		Kind: engine.EventCanceled, Pair: 2, Seq: 3, TimeNs: r.now, Order: engine.MakeOrderID(2, 1), Account: 1,
		Amount: 5, Status: engine.Canceled, Cause: engine.CauseRequest,
	})
	r.fold()
	if o, ok := r.feed.History().Order(first); !ok || o.Status != engine.Canceled {
		t.Errorf("%+v, %v", o, ok)
	}
	if o, ok := r.feed.History().Order(engine.MakeOrderID(2, 1)); !ok || o.Status != engine.Canceled {
		t.Errorf("%+v, %v", o, ok)
	}
	if s := r.feed.Stats(); s.OpenOrders != prefetchOrders-1-10 {
		t.Errorf("%d orders are open", s.OpenOrders)
	}
}
