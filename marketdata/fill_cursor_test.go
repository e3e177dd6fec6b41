package marketdata

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// sweeps makes trades of accounts 1 to 4 in two pairs: many at one time, several of one order, with equal numbers in
// the two pairs, and an order of account 1 that rests while most of them happen.
func sweeps(rnd *rand.Rand, o Options) (r *rig, resting engine.OrderID) {
	r = newRig(o, 2)
	resting = r.place(0, 1, engine.Sell, 200, 100_000)
	for i := range 120 {
		r.now += rnd.Int64N(2)
		for pair := range engine.PairID(2) {
			account := engine.AccountID(1 + 2*pair)
			for range 1 + rnd.IntN(30) {
				r.place(pair, account, engine.Buy, 100, 1)
			}
			r.place(pair, account+engine.AccountID(i%2), engine.Sell, 100, 40)
			r.apply(engine.Command{Kind: engine.CancelAll, Pair: pair, Account: account, Side: engine.Sell})
		}
		r.place(0, 2, engine.Buy, 200, 1)
		r.apply(engine.Command{Kind: engine.CancelAll, Pair: 0, Account: 2})
	}
	r.fold()
	return r, resting
}

// A page after a cursor has the rows behind the cursor's, also when the cursor is that of another account, when its
// time and its trade do not belong together, and when many trades have one time.
func TestAPageOfFillsAfterAnyCursor(t *testing.T) {
	rnd := newRand(t)
	for _, o := range []Options{{}, {Retention: Retention{Fills: 2400}}} {
		r, resting := sweeps(rnd, o)
		h := r.feed.History()
		for account := engine.AccountID(1); account <= 4; account++ {
			all := simpleFills(h, everything(account, 1))
			if len(all) < 100 {
				t.Fatalf("account %d has %d fills", account, len(all))
			}
			for range 150 {
				q := everything(account, 1+rnd.IntN(9))
				of := engine.AccountID(1 + rnd.IntN(4))
				others := simpleFills(h, everything(of, 1))
				row := others[rnd.IntN(len(others))]
				if rnd.IntN(20) == 0 {
					row = others[len(others)-1]
				}
				q.After = row.Cursor()
				switch rnd.IntN(6) {
				case 0:
					q.After.TimeNs += rnd.Int64N(7) - 3
				case 1:
					q.After.TimeNs = all[0].TimeNs + 1
				case 2:
					q.After.Trade++
				}
				same(t, append([]Fill(nil), behind(all, q)...), append([]Fill(nil), fillsOf(t, r.feed, q)...))
			}
		}
		checkFillsOfOrders(t, r, resting)
	}
}

// behind returns the first rows of a list that are behind the cursor: older than it, or after its own row.
func behind(all []Fill, q Query) []Fill {
	at := slices.IndexFunc(all, func(f Fill) bool { return f.TimeNs < q.After.TimeNs })
	if at < 0 {
		at = len(all)
	}
	if own := slices.IndexFunc(all, func(f Fill) bool { return f.Cursor() == q.After }); own >= 0 {
		at = own + 1
	}
	return all[at:min(at+q.Limit, len(all))]
}

// checkFillsOfOrders reads the fills of one order: the walk reads no others.
func checkFillsOfOrders(t *testing.T, r *rig, resting engine.OrderID) {
	t.Helper()
	h := r.feed.History()
	q := everything(1, 4)
	q.Order = resting
	all := simpleFills(h, Query{
		Account: 1, Pair: engine.ControlPair, SinceNs: q.SinceNs, UntilNs: q.UntilNs, Order: resting,
	})
	for at := range len(all) - 4 {
		q.After = all[at].Cursor()
		before := h.visited
		same(t, all[at+1:at+5], fillsOf(t, r.feed, q))
		if n := h.visited - before; n > 5 {
			t.Fatalf("%d records for 4 rows of an order", n)
		}
	}
	for _, foreign := range []engine.OrderID{resting, engine.MakeOrderID(0, 90_000), engine.MakeOrderID(9, 1)} {
		q := everything(3, 9)
		q.Order = foreign
		before := h.visited
		if rows := fillsOf(t, r.feed, q); len(rows) > 0 || h.visited != before {
			t.Errorf("order %d of another account: %d rows, %d records", foreign, len(rows), h.visited-before)
		}
	}
}

// One order trades more often than a turn reads, at one time: a page in the middle continues behind its row.
func TestAPageWithinManyFillsOfOneTime(t *testing.T) {
	r := newRig(Options{}, 1)
	const n = walkRecords + 500
	for range n {
		r.place(0, 1, engine.Sell, 100, 1)
	}
	r.place(0, 2, engine.Buy, 100, n)
	r.fold()
	for account := engine.AccountID(1); account <= 2; account++ {
		all := simpleFills(r.feed.History(), everything(account, 1))
		for _, at := range []int{0, 499, 500, walkRecords - 1, walkRecords, n - 2, n - 1} {
			q := everything(account, 3)
			q.After = all[at].Cursor()
			same(t, append([]Fill(nil), all[at+1:min(at+4, n)]...), append([]Fill(nil), fillsOf(t, r.feed, q)...))
		}
	}
}

// The open order at which a list continues in its next turn ends meanwhile, and another order uses its place.
func TestAListGoesOnBehindAnOrderThatEnded(t *testing.T) {
	const n = walkRecords + 300
	for gone := uint64(n - walkRecords - 1); gone <= n-walkRecords+1; gone++ {
		r := newRig(Options{}, 1)
		for range n {
			r.now++
			r.place(0, 1, engine.Buy, 100, 1)
		}
		r.fold()
		h := r.feed.History()
		first := true
		rows, err := h.Orders(everything(1, 2*n), func(fn func()) error {
			fn()
			if first {
				first = false
				r.apply(engine.Command{
					Kind: engine.Cancel, Order: engine.MakeOrderID(0, gone), Flags: engine.FlagAllAccount,
				})
				for range 5 {
					r.place(0, 2, engine.Buy, 90, 1)
				}
				r.fold()
			}
			return nil
		})
		if err != nil || len(rows) < n-1 || len(h.pinned) != 0 {
			t.Fatalf("%d rows, %v, %d places are held", len(rows), err, len(h.pinned))
		}
		for i, o := range rows {
			if o.Account != 1 || i > 0 && o.ID >= rows[i-1].ID {
				t.Fatalf("row %d is order %d of account %d", i, o.ID, o.Account)
			}
		}
	}
}
