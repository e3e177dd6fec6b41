package marketdata

import (
	"math"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// A page after a cursor continues after the row that the cursor names, however many rows became newer since.
func TestAPageAfterACursorContinuesBehindItsRow(t *testing.T) {
	rnd := newRand(t)
	r := crowded(rnd, Options{Retention: Retention{ClosedOrders: 3000, Fills: 5000}}, 12_000)
	continued := [2]int{}
	for range soak(100, 20) {
		q := randomQuery(rnd, r)
		q.Offset = 0
		h := r.feed.History()
		if orders := simpleOrders(h, q); len(orders) > 0 {
			k, q := rnd.IntN(len(orders)), q
			q.After = orders[k].Cursor()
			rest := orders[k+1:]
			same(t, append([]OrderRecord(nil), rest[:min(q.Limit, len(rest))]...), ordersOf(t, r.feed, q))
			continued[0] += len(rest)
		}
		if fills := simpleFills(h, q); len(fills) > 0 {
			k, q := rnd.IntN(len(fills)), q
			q.After = fills[k].Cursor()
			rest := fills[k+1:]
			same(t, append([]Fill(nil), rest[:min(q.Limit, len(rest))]...), fillsOf(t, r.feed, q))
			continued[1] += len(rest)

			q.After, q.Order = Cursor{}, fills[k].Order
			of := simpleFills(h, q)
			same(t, of[:min(q.Limit, len(of))], fillsOf(t, r.feed, q))
			q.After = of[0].Cursor()
			same(t, append([]Fill(nil), of[1:min(1+q.Limit, len(of))]...), fillsOf(t, r.feed, q))
			q.Account = 3 - q.Account
			same(t, []Fill(nil), fillsOf(t, r.feed, q))
		}
		r.busy(rnd)
		r.fold()
	}
	if continued[0] == 0 || continued[1] == 0 {
		t.Fatalf("%d rows after cursors", continued)
	}
	for _, after := range []Cursor{{TimeNs: math.MinInt64, Order: 1}, {TimeNs: 1, Order: 1, Trade: 1}} {
		q := Query{Account: 1, Pair: engine.ControlPair, SinceNs: math.MinInt64, UntilNs: math.MaxInt64, Limit: 9}
		q.After = after
		if len(ordersOf(t, r.feed, q)) != 0 || len(fillsOf(t, r.feed, q)) != 0 {
			t.Errorf("rows behind the oldest time %+v", after)
		}
	}
}

// The built-in account's orders are listed although no other account has traded yet.
func TestTheBuiltinAccountIsThereFromTheStart(t *testing.T) {
	r := newRig(Options{}, 1)
	id := r.place(0, 0, engine.Sell, 100, 5)
	r.fold()
	q := Query{Pair: engine.ControlPair, UntilNs: math.MaxInt64, Limit: 10}
	if listed := ordersOf(t, r.feed, q); len(listed) != 1 || listed[0].ID != id || len(fillsOf(t, r.feed, q)) != 0 {
		t.Errorf("%+v are listed, want order %d", listed, id)
	}
}
