package marketdata

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
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
	openOrders := func(account engine.AccountID, most int) []OrderRecord {
		return ordersOf(t, r.feed, Query{
			Account: account, Pair: engine.ControlPair, Status: OnlyOpen, UntilNs: math.MaxInt64, Limit: most,
		})
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
			for _, o := range openOrders(account, most) {
				got = append(got, o.ID)
			}
			same(t, want[:min(most, len(want))], got)
		}
	}
	if list := openOrders(77, 10); len(list) != 0 {
		t.Errorf("%+v", list)
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
	for _, pair := range []engine.PairID{1, 5, 3} { // the next one, one behind a gap, and one in the gap
		id := engine.MakeOrderID(pair, 1)
		r.batch = append(r.batch, addPair(pair, string(rune('A'+pair))+"_USD"), engine.Event{
			Kind: engine.EventAccepted, Pair: pair, Seq: 2, TimeNs: r.now, Order: id, Account: 1, Price: 5, Amount: 5,
		}, engine.Event{
			Kind: engine.EventCanceled, Pair: pair, Seq: 3, TimeNs: r.now, Order: id, Account: 1, Amount: 5,
			Status: engine.Canceled, Cause: engine.CauseRequest,
		})
		r.fold()
		if o, ok := r.feed.History().Order(id); !ok || o.Status != engine.Canceled {
			t.Errorf("%+v, %v", o, ok)
		}
	}
	if o, ok := r.feed.History().Order(first); !ok || o.Status != engine.Canceled {
		t.Errorf("%+v, %v", o, ok)
	}
	if s := r.feed.Stats(); s.OpenOrders != prefetchOrders-1-10 {
		t.Errorf("%d orders are open", s.OpenOrders)
	}
}
