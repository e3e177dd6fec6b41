package marketdata

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// turns runs the turns of a list, with changes after each, and fails the test when a turn reads
// more than its limit.
type turns struct {
	tb        testing.TB
	history   *History
	meanwhile func()
	n         int
	worst     uint64
}

func (u *turns) turn(fn func()) error {
	before := u.history.visited
	fn()
	u.n++
	read := u.history.visited - before
	if u.worst = max(u.worst, read); read > walkRecords {
		u.tb.Fatalf("turn %d read %d records, want at most %d", u.n, read, walkRecords)
	}
	if u.meanwhile != nil {
		u.meanwhile()
	}
	return nil
}

func ordersOf(t testing.TB, f *Feed, q Query) []OrderRecord {
	t.Helper()
	found, err := f.History().Orders(q, (&turns{tb: t, history: f.History()}).turn)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func fillsOf(t testing.TB, f *Feed, q Query) []Fill {
	t.Helper()
	found, err := f.History().Fills(q, (&turns{tb: t, history: f.History()}).turn)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// simpleOrders returns every order that q selects, by one walk over all retained orders.
func simpleOrders(h *History, q Query) []OrderRecord {
	h.endCommand()
	var found []OrderRecord
	take := func(o *orderRec) {
		if o.account == q.Account && q.matches(o.id.Pair(), o.createdNs) && q.Status.matches(o.status) {
			found = append(found, h.record(o))
		}
	}
	for _, p := range h.pairs {
		if p != nil {
			p.orders.eachOpen(h, take)
		}
	}
	for n := h.closed.first(); n < h.closed.end; n++ {
		take(h.closed.at(n))
	}
	slices.SortFunc(found, func(a, b OrderRecord) int {
		return cmp.Or(cmp.Compare(b.CreatedNs, a.CreatedNs), cmp.Compare(b.ID, a.ID))
	})
	return found
}

// simpleFills returns every fill that q selects, newest first, the taker's fill of a trade
// first.
func simpleFills(h *History, q Query) []Fill {
	var found []Fill
	for n := h.fills.end; n > h.fills.first(); n-- {
		f := h.fills.at(n - 1)
		in := h.pairs[f.taker.Pair()].instrument
		for _, maker := range []bool{false, true} {
			fl := f.fill(maker, in)
			if fl.Account == q.Account && q.matches(fl.Pair, fl.TimeNs) && (q.Order == 0 || q.Order == fl.Order) {
				found = append(found, fl)
			}
		}
	}
	return found
}

// crowded returns a rig with orders of accounts 1 and 2 in both pairs, open, canceled and
// traded, many of them created at the same time, so that lists take several turns.
func crowded(rnd *rand.Rand, o Options, n int) *rig {
	r := newRig(o, 2)
	for range n {
		r.busy(rnd)
	}
	r.fold()
	return r
}

// busy applies one command of account 1 or 2.
func (r *rig) busy(rnd *rand.Rand) {
	r.now += rnd.Int64N(2) * rnd.Int64N(2) * 1_000_000
	pair, account := engine.PairID(rnd.IntN(2)), engine.AccountID(1+rnd.IntN(8)/7)
	switch k := rnd.IntN(10); {
	case k < 4: // rests
		r.place(pair, account, engine.Buy, 100+rnd.Int64N(50), 10)
	case k < 6: // trades, also with its own account
		r.place(pair, account, engine.Sell, 100, 1+rnd.Int64N(30))
	default:
		last := r.core.LastOrderID(pair).N()
		if last == 0 {
			return
		}
		back := rnd.Uint64N(min(last, 1+rnd.Uint64N(last)))
		r.apply(engine.Command{
			Kind: engine.Cancel, Pair: pair, Order: engine.MakeOrderID(pair, last-back),
			Flags: engine.FlagAllAccount,
		})
	}
}

func randomQuery(rnd *rand.Rand, r *rig) Query {
	q := Query{
		Account: engine.AccountID(1 + rnd.IntN(2)), Pair: engine.ControlPair, Status: StatusFilter(rnd.IntN(3)),
		SinceNs: math.MinInt64, UntilNs: math.MaxInt64, Limit: 1 + rnd.IntN(100),
	}
	q.Offset = [...]int{0, rnd.IntN(200), rnd.IntN(8000), rnd.IntN(30) * q.Limit}[rnd.IntN(4)]
	if rnd.IntN(3) == 0 {
		q.Pair = engine.PairID(rnd.IntN(2))
	}
	if rnd.IntN(3) == 0 {
		q.SinceNs, q.UntilNs = rigStartNs+rnd.Int64N(r.now-rigStartNs+1), rigStartNs+rnd.Int64N(r.now-rigStartNs+1)
	}
	return q
}

func TestListsEqualTheSimpleWalk(t *testing.T) {
	rnd := newRand(t)
	for _, o := range []Options{{}, {Retention: Retention{ClosedOrders: 3000, Fills: 5000}}} {
		r := crowded(rnd, o, 12_000)
		for range soak(100, 20) {
			q := randomQuery(rnd, r)
			same(t, page(simpleOrders(r.feed.History(), q), q), ordersOf(t, r.feed, q))
			same(t, page(simpleFills(r.feed.History(), q), q), fillsOf(t, r.feed, q))
		}
	}
}

// Between two turns, orders are placed, traded, canceled and evicted.
func TestListsStayWholeWhileTheHistoryChanges(t *testing.T) {
	rnd := newRand(t)
	several := 0
	for i := range soak(2, 20) {
		r := crowded(rnd, []Options{{}, {Retention: Retention{ClosedOrders: 3000, Fills: 5000}}}[i%2], 12_000)
		for range 30 { // each makes the history longer
			q := randomQuery(rnd, r)
			if rnd.IntN(2) == 0 { // a page that holds the whole list: every required order is in it
				q.Offset, q.Limit = 0, 1<<30
			}
			several += checkChanging(t, rnd, r, q)
		}
	}
	if several < 15 {
		t.Fatalf("only %d lists took more than one turn", several)
	}
}

// checkChanging returns 1 when the orders took more than one turn.
func checkChanging(t *testing.T, rnd *rand.Rand, r *rig, q Query) int {
	t.Helper()
	h := r.feed.History()
	var throughout map[engine.OrderID]bool // in the list at each turn
	u := &turns{tb: t, history: h}
	keep := func() {
		now := map[engine.OrderID]bool{}
		for _, o := range simpleOrders(h, q) {
			if throughout == nil || throughout[o.ID] {
				now[o.ID] = true
			}
		}
		throughout = now
	}
	before := simpleOrders(h, q)
	keep()
	u.meanwhile = func() {
		keep()
		for range rnd.IntN(100) {
			r.busy(rnd)
		}
		r.fold()
	}
	got, err := h.Orders(q, u.turn)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.pinned) != 0 {
		t.Fatalf("%d places are held after the walk", len(h.pinned))
	}
	seen := map[engine.OrderID]bool{}
	for i, o := range got {
		if seen[o.ID] || o.Account != q.Account || !q.matches(o.ID.Pair(), o.CreatedNs) || !q.Status.matches(o.Status) {
			t.Fatalf("row %d, order %d: twice (%v) or not chosen", i, o.ID, seen[o.ID])
		}
		if i > 0 && newerKey(orderKey{got[i-1].CreatedNs, got[i-1].ID}, orderKey{o.CreatedNs, o.ID}) >= 0 {
			t.Fatalf("row %d is not behind the one before", i)
		}
		seen[o.ID] = true
	}
	if q.Limit == 1<<30 {
		for id := range throughout {
			if !seen[id] {
				t.Fatalf("%+v: order %d was there throughout and is not in the list (%d turns)", q, id, u.n)
			}
		}
	}
	if u.n == 1 {
		same(t, page(before, q), got)
	}
	checkChangingFills(t, r, q, u.meanwhile)
	return min(u.n-1, 1)
}

// checkChangingFills checks that a list has the fills of the first turn, except the oldest ones,
// which were evicted before the last turn.
func checkChangingFills(t *testing.T, r *rig, q Query, meanwhile func()) {
	t.Helper()
	h := r.feed.History()
	want := page(simpleFills(h, q), q)
	got, err := h.Fills(q, (&turns{tb: t, history: h, meanwhile: meanwhile}).turn)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > len(want) {
		t.Fatalf("%d rows, there were %d", len(got), len(want))
	}
	for i := range got {
		same(t, want[i], got[i])
	}
	left := len(page(simpleFills(h, q), q))
	if len(got) < len(want) && h.fills.first() == 0 {
		t.Fatalf("%d rows of %d, and nothing was forgotten (now %d)", len(got), len(want), left)
	}
}

// deepRig returns an account with n closed orders and twice as many fills that almost fill the
// default limits, and some thousand open orders.
func deepRig(n, open int) *rig {
	r := newRig(Options{}, 2)
	for i := range n {
		r.now++
		r.place(0, 1, engine.Side(i&1), 100, 1)
		if i%1000 == 0 {
			r.fold()
			r.events = r.events[:0]
		}
	}
	for range open {
		r.now++
		r.place(0, 1, engine.Buy, 50, 1)
	}
	r.fold()
	return r
}

func TestATurnReadsABoundedNumberOfRecords(t *testing.T) {
	const closed, open = 30_000, 2500
	r := deepRig(closed, open)
	all := Query{Account: 1, Pair: engine.ControlPair, SinceNs: math.MinInt64, UntilNs: math.MaxInt64, Limit: 100}
	for name, change := range map[string]func(*Query){
		"first page": func(*Query) {}, "deep page": func(q *Query) { q.Offset = closed - 50 },
		"last page": func(q *Query) {
			q.Offset = closed +
				open - 1
		}, "pair never traded": func(q *Query) { q.Pair = 1 },
		"long ago":   func(q *Query) { q.UntilNs = rigStartNs },
		"no row but": func(q *Query) { q.Status = OnlyCanceled }, "large page": func(q *Query) { q.Limit = 1 << 30 },
		"open": func(q *Query) { q.Status, q.Offset = OnlyOpen, open-10 },
	} {
		q := all
		change(&q)
		u := &turns{tb: t, history: r.feed.History()}
		orders, err := r.feed.History().Orders(q, u.turn)
		if err != nil {
			t.Fatal(err)
		}
		same(t, page(simpleOrders(r.feed.History(), q), q), orders)
		v := &turns{tb: t, history: r.feed.History()}
		fills, err := r.feed.History().Fills(q, v.turn)
		if err != nil {
			t.Fatal(err)
		}
		same(t, page(simpleFills(r.feed.History(), q), q), fills)
		t.Logf("%s: %d orders, %d turns of at most %d records; %d fills, %d of %d", name,
			len(orders), u.n, u.worst, len(fills), v.n, v.worst)
	}
}

// An offset beyond the account's counts reads no record.
func TestAnOffsetBeyondTheAccountsOwnCountReadsNothing(t *testing.T) {
	r := deepRig(3000, 1200)
	for name, q := range map[string]Query{
		"all": {Offset: 4200}, "open": {Offset: 1200, Status: OnlyOpen}, "canceled": {
			Offset: 3000,
			Status: OnlyCanceled,
		},
		"another account": {Account: 2},
	} {
		q.Account, q.Pair, q.UntilNs, q.Limit = max(q.Account, 1), engine.ControlPair, math.MaxInt64, 100
		h := r.feed.History()
		u := &turns{tb: t, history: h}
		orders, _ := h.Orders(q, u.turn)
		q.Offset = max(q.Offset, 3000)
		fills, _ := h.Fills(q, u.turn)
		if len(orders)+len(fills) != 0 || u.n != 2 || u.worst != 0 {
			t.Errorf("%s: %d orders, %d fills, %d turns, %d records", name, len(orders), len(fills), u.n, u.worst)
		}
	}
}

func TestCountsAreWhatIsKept(t *testing.T) {
	rnd := newRand(t)
	for _, o := range []Options{{}, {Retention: Retention{ClosedOrders: 300, Fills: 500}}} {
		r := crowded(rnd, o, 5000)
		again := NewFeed(o)
		for p := range engine.PairID(2) {
			if err := again.DecodePairState(r.feed.AppendPairState(nil, p)); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.DecodeHistoryState(r.feed.AppendHistoryState(nil)); err != nil {
			t.Fatal(err)
		}
		for _, f := range []*Feed{r.feed, again} {
			for id := engine.AccountID(1); id <= 2; id++ {
				h := f.History()
				q := Query{Account: id, Pair: engine.ControlPair, UntilNs: math.MaxInt64}
				all, fills := len(simpleOrders(h, q)), len(simpleFills(h, q))
				q.Status = OnlyOpen
				open := len(simpleOrders(h, q))
				want := fmt.Sprint(open, all-open, fills)
				if a := h.accounts[id]; fmt.Sprint(a.openCount, a.closedCount, a.fillCount) != want {
					t.Errorf("account %d: %d open, %d closed, %d fills, want %s", id, a.openCount, a.closedCount,
						a.fillCount, want)
				}
			}
		}
	}
}

// A walk starts over when the history is restored from a snapshot between two turns.
func TestAWalkStartsOverInARestoredHistory(t *testing.T) {
	r := deepRig(5000, 2500)
	q := Query{Account: 1, Pair: engine.ControlPair, UntilNs: math.MaxInt64, Offset: 3000, Limit: 100}
	wantOrders, wantFills := ordersOf(t, r.feed, q), fillsOf(t, r.feed, q)
	u := &turns{tb: t, history: r.feed.History()}
	u.meanwhile = func() {
		if u.n == 2 {
			if err := r.feed.DecodeHistoryState(r.feed.AppendHistoryState(nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	orders, err := r.feed.History().Orders(q, u.turn)
	if err != nil {
		t.Fatal(err)
	}
	if same(t, len(wantOrders), len(orders)); orders[0].ID != wantOrders[0].ID {
		t.Errorf("the first row is %d, want %d", orders[0].ID, wantOrders[0].ID)
	}
	u.n = 0
	fills, err := r.feed.History().Fills(q, u.turn)
	if err != nil {
		t.Fatal(err)
	}
	same(t, wantFills, fills)
}

// BenchmarkWorstTurn measures the longest turn of a deep page: 100,000 closed orders and as many
// trades, each two fills of one account, in one account and spread among ten.
func BenchmarkWorstTurn(b *testing.B) {
	for _, accounts := range []int{1, 10} {
		r := newRig(Options{}, 2)
		for i := range 200_000 * min(accounts, 5) {
			r.now++
			r.place(0, engine.AccountID(1+i/2%accounts), engine.Side(i&1), 100, 1)
			if i%1000 == 0 {
				r.fold()
				r.events = r.events[:0]
			}
		}
		r.fold()
		h := r.feed.History()
		q := Query{Account: 1, Pair: engine.ControlPair, UntilNs: math.MaxInt64, Limit: 100}
		q.Offset = int(h.accounts[1].closedCount) - 1
		b.Run(fmt.Sprintf("accounts=%d/orders", accounts), func(b *testing.B) {
			worstTurn(b, h, func(turn func(func()) error) { _, _ = h.Orders(q, turn) })
		})
		q.Pair = 1
		b.Run(fmt.Sprintf("accounts=%d/fills", accounts), func(b *testing.B) {
			worstTurn(b, h, func(turn func(func()) error) { _, _ = h.Fills(q, turn) })
		})
	}
}

// worstTurn reports the longest turn of a list, the median of the lists, and the number of turns
// of a list.
func worstTurn(b *testing.B, h *History, list func(turn func(func()) error)) {
	var worst []time.Duration
	n := 0
	for range b.N {
		longest := time.Duration(0)
		list(func(fn func()) error {
			before := h.visited
			at := time.Now()
			fn()
			longest = max(longest, time.Since(at))
			if h.visited-before > walkRecords {
				b.Fatalf("%d records in a turn", h.visited-before)
			}
			n++
			return nil
		})
		worst = append(worst, longest)
	}
	slices.Sort(worst)
	b.ReportMetric(float64(worst[len(worst)/2].Nanoseconds()), "ns/worst-turn")
	b.ReportMetric(float64(n)/float64(b.N), "turns/op")
}

// Orders close while the walk is among the open ones: orders that it has found, the order that
// it continues from, and orders that it has not reached.
func TestOrdersThatCloseDuringTheWalkAreToldOnce(t *testing.T) {
	const open = 3500
	r := deepRig(100, open)
	u := &turns{tb: t, history: r.feed.History()}
	u.meanwhile = func() {
		if u.n > 3 {
			return
		}
		last := r.core.LastOrderID(0).N()
		for _, back := range []int{5, 500, u.n*1000 - 1, u.n * 1000, u.n*1000 + 1, open - 9} {
			r.apply(engine.Command{
				Kind: engine.Cancel, Order: engine.MakeOrderID(0, last-uint64(back+u.n)),
				Flags: engine.FlagAllAccount,
			})
		}
		r.fold()
	}
	h := r.feed.History()
	q := Query{Account: 1, Pair: engine.ControlPair, UntilNs: math.MaxInt64, Limit: 1 << 30}
	got, err := h.Orders(q, u.turn)
	if err != nil || len(h.pinned) != 0 {
		t.Fatalf("%v, %d held", err, len(h.pinned))
	}
	same(t, simpleOrders(h, q), got)
}
