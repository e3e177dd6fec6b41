package marketdata

import (
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// bigFee computes a side's fee with arbitrary precision, rounded half even.
func bigFee(in *engine.Instrument, side engine.Side, price, amount int64, rate, discount uint32) *big.Int {
	unit := func(digits int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil) }
	n := big.NewInt(amount)
	if side == engine.Buy {
		n.Mul(n, unit(in.BaseDigits-in.DigitsAmount))
	} else {
		n.Mul(n, big.NewInt(price)).Mul(n, unit(in.QuoteDigits-in.DigitsPrice-in.DigitsAmount))
	}
	n.Mul(n, big.NewInt(int64(rate))).Mul(n, big.NewInt(int64(engine.RateOne-discount)))
	q, rest := n.QuoRem(n, unit(16), new(big.Int))
	if half := rest.Lsh(rest, 1).Cmp(unit(16)); half > 0 || half == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func u128Of(v *big.Int) fixed.U128 {
	low := new(big.Int).SetUint64(math.MaxUint64)
	return fixed.U128{Hi: new(big.Int).Rsh(v, 64).Uint64(), Lo: low.And(low, v).Uint64()}
}

// The fee of a side of a trade is in units of what that side receives, exact and rounded half even.
func TestFeesOfFillsAreExact(t *testing.T) {
	rnd := newRand(t)
	above, halves := 0, 0
	for range 200_000 {
		in := engine.Instrument{DigitsPrice: rnd.IntN(10), DigitsAmount: rnd.IntN(10)}
		in.BaseDigits = in.DigitsAmount + rnd.IntN(19-in.DigitsAmount)
		in.QuoteDigits = in.DigitsTotal() + rnd.IntN(19-in.DigitsTotal())
		e := engine.Event{
			Kind: engine.EventTrade, Account: 1, MakerAccount: 2, Side: engine.Side(rnd.IntN(2)),
			Price: 1 + rnd.Int64N(1<<(1+rnd.IntN(30))), Amount: 1 + rnd.Int64N(1<<(1+rnd.IntN(30))),
			TakerFee: rnd.Uint32N(engine.RateOne + 1), TakerDiscount: rnd.Uint32N(engine.RateOne + 1),
			MakerFee: 50_000_000, MakerDiscount: 0, // half of an odd number of units is a tie
		}
		for _, maker := range []bool{false, true} {
			side, rate, discount := e.Side, e.TakerFee, e.TakerDiscount
			if maker {
				side, rate, discount = e.Side.Opposite(), e.MakerFee, e.MakerDiscount
			}
			want := bigFee(&in, side, e.Price, e.Amount, rate, discount)
			if got := FillOf(&e, &in, maker); got.Fee != u128Of(want) || got.Side != side {
				t.Fatalf("%+v of %+v, maker %v: fee %v, want %v", e, in, maker, got.Fee, want)
			}
			if want.Sign() > 0 {
				above++
			}
			if maker && in.Received(side, e.Price, e.Amount).Lo%2 == 1 {
				halves++
			}
		}
	}
	if above < 100_000 || halves < 1000 {
		t.Fatalf("%d fees are above 0, %d are ties", above, halves)
	}
}

// naiveHistory keeps the order history as maps and slices over the recorded events.
type naiveHistory struct {
	limits     Retention
	orders     map[engine.OrderID]*OrderRecord // dropped ones too
	first      map[engine.OrderID]OrderRecord  // as first answered
	at         map[engine.OrderID]location     // inClosed or inRemembered: where an ended order is; 0: dropped
	closed     []engine.OrderID                // retained, by end
	remembered []engine.OrderID
	fills      []Fill // of all orders, two fills a trade; dropped ones too
	gone       int    // number of dropped fills
}

func newNaiveHistory(limits Retention) *naiveHistory {
	return &naiveHistory{
		limits: limits.WithDefaults(), at: map[engine.OrderID]location{},
		orders: map[engine.OrderID]*OrderRecord{}, first: map[engine.OrderID]OrderRecord{},
	}
}

// retain sets the limits and drops what is beyond them.
func (n *naiveHistory) retain(limits Retention) {
	n.limits = limits.WithDefaults()
	for len(n.closed) > n.limits.ClosedOrders {
		id := n.closed[0]
		n.closed = n.closed[1:]
		if delete(n.at, id); n.orders[id].Client != "" {
			n.remembered, n.at[id] = append(n.remembered, id), inRemembered
		}
	}
	for len(n.remembered) > n.limits.ClientIDs {
		delete(n.at, n.remembered[0])
		n.remembered = n.remembered[1:]
	}
	n.gone = max(n.gone, len(n.fills)-n.limits.Fills/2*2)
}

// has reports whether the history finds an order: an open one, or a retained closed one.
func (n *naiveHistory) has(id engine.OrderID) bool {
	return n.orders[id].EndedNs == 0 || n.at[id] == inClosed
}

// apply folds the events of one command of the rig. Each order of a mass cancel ends by itself.
func (n *naiveHistory) apply(events []engine.Event) {
	for from := 0; from < len(events); {
		to := from + 1
		for to < len(events) && !isRequestedCancel(&events[to]) {
			to++
		}
		n.command(events[from:to])
		from = to
	}
	n.retain(n.limits)
}

// command folds the events of one command.
func (n *naiveHistory) command(events []engine.Event) {
	var touched, ended []engine.OrderID
	var placed engine.OrderID
	for i := range events {
		e := &events[i]
		o := n.orders[e.Order]
		switch e.Kind {
		case engine.EventAccepted:
			placed = e.Order
			o = &OrderRecord{
				ID: e.Order, Account: e.Account, Side: e.Side, Type: e.Type, TIF: e.TIF, STP: e.STP,
				PostOnly: e.Flags&engine.FlagPostOnly != 0, ByQuote: e.Flags&engine.FlagQuote != 0,
				Price: e.Price, Amount: e.Amount, Stop: e.MakerOpen, Display: e.Display,
				CreatedNs: e.TimeNs, Open: e.Amount, FeeKnown: true,
			}
			if e.Client != nil {
				o.Client = e.Client.Text
			}
			if o.ByQuote {
				o.Quote = e.Quote
			}
			if e.Type == engine.StopLimit || e.Type == engine.StopMarket {
				o.Trigger = Waiting
			}
			n.orders[e.Order] = o
		case engine.EventTrade:
			n.trade(o, e, false, e.OpenAmount)
			m := n.orders[e.Maker]
			n.trade(m, e, true, e.MakerOpen)
			touched = append(touched, m.ID)
			if !o.ByQuote && e.OpenAmount == 0 {
				ended = append(ended, o.ID)
			}
			if e.MakerOpen == 0 {
				ended = append(ended, m.ID)
			}
		case engine.EventCanceled:
			o.Status, o.Cause, o.Canceled, o.Open, o.EndedNs = e.Status, e.Cause, e.Amount, 0, e.TimeNs
			if e.Cause == engine.CauseReplace {
				o.Amount, o.Reduced = e.OpenAmount, 0
			}
			ended = append(ended, o.ID)
		case engine.EventReplaced:
			o.Amount, o.Open, o.Reduced = e.Amount, e.OpenAmount, 0
			if !e.Type.AtMarket() {
				o.Price = e.Price
			}
			if e.Type.Waits() {
				if o.Trail = e.Trail; o.Stop != e.StopPrice() {
					o.Stop, o.TrackNs = e.StopPrice(), 0
				}
			}
		case engine.EventReduced:
			o.Open = e.OpenAmount
			if !o.ByQuote {
				o.Reduced += e.Amount
			}
		case engine.EventTriggered:
			o.Trigger = Triggered
		case engine.EventPrevented: // a note, and no change
			o.Prevented, n.orders[e.Maker].Prevented = uint64(e.Trade), uint64(e.Trade)
			continue
		default:
			continue
		}
		touched = append(touched, e.Order)
	}
	if len(touched) == 0 {
		return
	}
	for _, id := range touched {
		n.orders[id].Seq, n.orders[id].ChangedNs = events[len(events)-1].Seq, events[len(events)-1].TimeNs
	}
	// The history closes orders in the reverse of the order in which the command touched them:
	// the command's own order is the newest.
	slices.SortStableFunc(ended, func(a, b engine.OrderID) int {
		return cmp.Compare(firstIndex(events, b), firstIndex(events, a))
	})
	for _, id := range ended {
		n.closed, n.at[id] = append(n.closed, id), inClosed
	}
	if placed != 0 && n.orders[placed].Client != "" {
		n.first[placed] = *n.orders[placed]
	}
}

func firstIndex(events []engine.Event, id engine.OrderID) int {
	for i := range events {
		e := &events[i]
		switch {
		case e.Order == id && e.Kind != engine.EventRefilled && e.Kind != engine.EventPrevented:
			return 2 * i
		case e.Kind == engine.EventTrade && e.Maker == id:
			return 2*i + 1
		}
	}
	return math.MaxInt
}

func (n *naiveHistory) trade(o *OrderRecord, e *engine.Event, maker bool, open int64) {
	o.Filled += e.Amount
	o.FilledQuote = o.FilledQuote.Add(fixed.Mul64(uint64(e.Price), uint64(e.Amount)))
	o.Open = open
	f := Fill{
		Pair: e.Pair, Order: o.ID, Account: o.Account, Trade: e.Trade, TimeNs: e.TimeNs, Price: e.Price,
		Amount: e.Amount, Side: o.Side, TakerSide: e.Side, IsMaker: maker,
	}
	rate, discount := e.TakerFee, e.TakerDiscount
	if maker {
		rate, discount = e.MakerFee, e.MakerDiscount
	}
	if o.Account != 0 {
		f.Fee = u128Of(bigFee(rigPair(e.Pair), o.Side, e.Price, e.Amount, rate, discount))
	}
	n.fills = append(n.fills, f)
	o.Fee = o.Fee.Add(f.Fee)
	o.Status = engine.PartiallyCompleted
	if open == 0 && !o.ByQuote {
		o.Status, o.EndedNs = engine.Completed, e.TimeNs
	}
}

func (n *naiveHistory) fillsOf(id engine.OrderID) []Fill {
	var out []Fill
	for _, f := range n.fills[n.gone:] {
		if f.Order == id {
			out = append(out, f)
		}
	}
	return out[max(0, len(out)-1000):]
}

func TestHistoryEqualsAMapOverAllEvents(t *testing.T) {
	rnd := newRand(t)
	for _, o := range []Options{
		{Retention: Retention{ClosedOrders: 1, Fills: 2, ClientIDs: 1}},
		{Retention: Retention{ClosedOrders: 37, Fills: 100, ClientIDs: 10}},
		{Retention: Retention{ClosedOrders: 1500, Fills: 3000, ClientIDs: 1 << 20}},
		{},
	} {
		checkHistory(t, rnd, o)
	}
}

func checkHistory(t *testing.T, rnd *rand.Rand, o Options) {
	t.Helper()
	const pairs, accounts = 3, 5
	r, naive := newRig(o, pairs), newNaiveHistory(o.Retention)
	n := soak(5000, 20)
	trades := 0
	for i := range n {
		r.now += rnd.Int64N(3) * 1_000_000
		events := r.apply(r.randomCommand(rnd, pairs, accounts, 1000))
		for k := range events {
			if events[k].Kind == engine.EventTrade {
				trades++
			}
		}
		naive.apply(events)
		if rnd.IntN(200) == 0 || i == n-1 {
			r.fold()
			if rnd.IntN(2) == 0 {
				r.feed.Publish(r.now)
			}
			compareHistory(t, rnd, r.feed, naive, i == n-1)
		}
	}
	t.Logf("closed %d fills %d: %d orders, %d closed, %d trades, %d client ids", r.feed.opts.ClosedOrders,
		r.feed.opts.Fills, len(naive.orders), len(naive.closed), trades, len(naive.first))
	if trades < n/10 {
		t.Fatalf("only %d trades in %d commands", trades, n)
	}
}

// compareHistory looks up some orders, or all of them when thorough, and some lists.
func compareHistory(t *testing.T, rnd *rand.Rand, f *Feed, naive *naiveHistory, thorough bool) {
	t.Helper()
	h := f.History()
	for id, want := range naive.orders {
		if !thorough && rnd.IntN(20) != 0 {
			continue
		}
		got, ok := h.Order(id)
		if ok != naive.has(id) {
			t.Fatalf("order %d: found %v, want %v (ended %d)", id, ok, !ok, want.EndedNs)
		}
		if w := *want; ok {
			w.Fills = naive.fillsOf(id)
			same(t, w, got)
			got, _ = h.Summary(id)
			w.Fills = nil
			same(t, w, got)
		}
	}
	for _, id := range []engine.OrderID{0, 1 << 40, engine.MakeOrderID(0, 1<<35), engine.MakeOrderID(9, 1)} {
		if _, ok := h.Order(id); ok {
			t.Fatalf("order %d was never issued", id)
		}
	}
	compareFirst(t, f, naive)
	for range 20 {
		compareLists(t, rnd, f, naive)
	}
}

func compareFirst(t *testing.T, f *Feed, naive *naiveHistory) {
	t.Helper()
	for id, want := range naive.first {
		got, ok := f.History().FirstAnswer(id)
		if ok != (naive.has(id) || naive.at[id] == inRemembered) {
			t.Fatalf("first answer of %d: found %v", id, ok)
		}
		if !ok {
			continue
		}
		if sum := int64(0); naive.gone == 0 {
			for _, fl := range got.Fills {
				sum += fl.Amount
			}
			if sum != want.Filled && len(got.Fills) < fillsPerOrder {
				t.Fatalf("first answer of %d: fills sum to %d, filled %d", id, sum, want.Filled)
			}
			if got.FeeKnown != (sum == want.Filled) {
				t.Fatalf("first answer of %d: fee known: %v", id, got.FeeKnown)
			}
		}
		if !got.FeeKnown { // some of its fills are gone
			want.Fee, want.FeeKnown = fixed.U128{}, false
		}
		want.Fills, got.Fills = nil, nil
		same(t, want, got)
	}
}

func compareLists(t *testing.T, rnd *rand.Rand, f *Feed, naive *naiveHistory) {
	t.Helper()
	q := Query{
		Account: engine.AccountID(rnd.IntN(6)), Pair: engine.ControlPair, Status: StatusFilter(rnd.IntN(3)),
		UntilNs: math.MaxInt64, Offset: rnd.IntN(3) * rnd.IntN(40), Limit: 1 + rnd.IntN(100),
	}
	if rnd.IntN(2) == 0 {
		q.Pair = engine.PairID(rnd.IntN(3))
	}
	if rnd.IntN(2) == 0 && len(naive.fills) > 0 {
		q.SinceNs = naive.fills[rnd.IntN(len(naive.fills))].TimeNs
		q.UntilNs = naive.fills[rnd.IntN(len(naive.fills))].TimeNs
	}
	var want []OrderRecord
	open := 0
	for id, o := range naive.orders {
		if o.Account != q.Account {
			continue
		}
		if o.EndedNs == 0 {
			open++
		}
		if naive.has(id) && q.matches(o.ID.Pair(), o.CreatedNs) && q.Status.matches(o.Status) {
			want = append(want, *o)
		}
	}
	slices.SortFunc(want, func(a, b OrderRecord) int {
		return cmp.Or(cmp.Compare(b.CreatedNs, a.CreatedNs), cmp.Compare(b.ID, a.ID))
	})
	want = page(want, q)
	same(t, want, ordersOf(t, f, q))
	all := Query{
		Account: q.Account, Pair: engine.ControlPair, Status: OnlyOpen, SinceNs: math.MinInt64, UntilNs: math.MaxInt64,
		Limit: len(naive.orders) + 1,
	}
	if n := len(ordersOf(t, f, all)); n != open {
		t.Fatalf("account %d: %d open orders, want %d", q.Account, n, open)
	}
	var fills []Fill
	for i := len(naive.fills) - 2; i >= naive.gone; i -= 2 {
		for _, fl := range naive.fills[i : i+2] { // the taker's comes first
			if fl.Account == q.Account && q.matches(fl.Pair, fl.TimeNs) {
				fills = append(fills, fl)
			}
		}
	}
	same(t, page(fills, q), fillsOf(t, f, q))
}

func page[T any](all []T, q Query) []T {
	if q.Offset >= len(all) {
		return nil
	}
	return all[q.Offset:min(len(all), q.Offset+q.Limit)]
}

func TestAnOrderShowsItsNewestThousandFills(t *testing.T) {
	r := newRig(Options{}, 1)
	id := r.place(0, 1, engine.Sell, 100, 1500)
	for range 1200 {
		r.place(0, 2, engine.Buy, 100, 1)
	}
	r.fold()
	o, ok := r.feed.History().Order(id)
	if !ok || len(o.Fills) != 1000 || o.Filled != 1200 || o.Open != 300 || o.Status != engine.PartiallyCompleted {
		t.Fatalf("found %v, %d fills, filled %d, open %d, %s", ok, len(o.Fills), o.Filled, o.Open, o.Status)
	}
	if o.Fills[0].Trade != 201 || o.Fills[999].Trade != 1200 {
		t.Fatalf("fills from trade %d to %d", o.Fills[0].Trade, o.Fills[999].Trade)
	}
}
