package marketdata

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// naiveMarket models the retained trades and candles of one pair by the recorded trades.
type naiveMarket struct {
	trades    []naiveTrade
	first     engine.TradeID
	droppedNs int64
	young     uint64
	closed    [Intervals]int // closed candles in all
	gone      [Intervals]int
}

// apply folds the events of a command.
func (n *naiveMarket) apply(pair engine.PairID, events []engine.Event, limits Retention) {
	for _, tr := range naiveTrades(events, pair) {
		for i := range Interval(Intervals) {
			if k := len(n.trades); k > 0 && naiveStart(i, n.trades[k-1].sec) != naiveStart(i, tr.sec) {
				n.closed[i]++
			}
		}
		n.trades = append(n.trades, tr)
		n.retain(limits)
	}
}

// retain drops what is beyond the limits.
func (n *naiveMarket) retain(limits Retention) {
	if len(n.trades) == 0 {
		return
	}
	n.first = max(n.first, 1)
	newest := n.trades[len(n.trades)-1]
	for kept := int(newest.id-n.first) + 1; kept > limits.TradesMin; kept-- {
		oldest := n.trades[n.first-1]
		old := newest.ns-oldest.ns > secondsOfDay*nanosecond
		if !old && kept <= limits.TradesMax {
			break
		}
		if !old {
			n.young++
		}
		n.droppedNs, n.first = oldest.ns, n.first+1
	}
	for i := range n.gone {
		n.gone[i] = max(n.gone[i], n.closed[i]-limits.Candles[i])
	}
}

// check compares a view with the model.
func (n *naiveMarket) check(t *testing.T, v *View) {
	t.Helper()
	tr := &v.Trades
	if tr.First() != n.first || int(tr.Last()) != len(n.trades) || tr.DroppedNs() != n.droppedNs ||
		v.DroppedYoung != n.young {
		t.Fatalf("trades %d to %d, dropped up to %d, %d young; want %d to %d, %d, %d", tr.First(), tr.Last(),
			tr.DroppedNs(), v.DroppedYoung, n.first, len(n.trades), n.droppedNs, n.young)
	}
	if len(n.trades) == 0 {
		return
	}
	checkTrades(t, tr, n.trades)
	for i := range Interval(Intervals) {
		want := naiveCandles(n.trades, i)[n.gone[i]:]
		c := v.Candles(i)
		got := make([]Candle, c.Len())
		for k := range got {
			got[k] = c.At(k)
		}
		same(t, want, got)
	}
}

// randomRetention returns new limits; now and then they differ from the old ones in one member.
func randomRetention(rnd *rand.Rand, old Retention) (r Retention) {
	some := func(most int) int { return 1 + rnd.IntN(1+rnd.IntN(most)) }
	r.TradesMin = some(800)
	r.TradesMax = r.TradesMin + some(2500)
	for i := range r.Candles {
		r.Candles[i] = some(300)
	}
	r.ClosedOrders, r.Fills, r.ClientIDs = some(1500), 1+some(2000), some(200)
	switch rnd.IntN(6) {
	case 0:
		return Retention{}
	case 1:
		old.ClosedOrders = r.ClosedOrders
		return old
	case 2:
		old.Fills = r.Fills
		return old
	case 3:
		old.ClientIDs = r.ClientIDs
		return old
	}
	return r
}

// Two feeds have the same commands and changes of the retention. One of them is encoded and decoded now and then, and
// they differ in when they fold and publish. Their states stay equal, and what they retain is that of the models.
func TestTheRetentionChangesBetweenTwoCommands(t *testing.T) {
	rnd := newRand(t)
	const pairs, accounts = 3, 5
	limits := randomRetention(rnd, Retention{})
	r := newRig(Options{Retention: limits}, pairs)
	other, folded := NewFeed(Options{Retention: limits}), 0
	history, markets := newNaiveHistory(limits), make([]naiveMarket, pairs)
	catchUp := func() {
		r.fold()
		other.Fold(r.events[folded:])
		folded = len(r.events)
	}
	r.asset(rnd)
	changes, n := 0, soak(8000, 4)
	for i := range n {
		r.now += rnd.Int64N(20 * nanosecond)
		if rnd.IntN(500) == 0 {
			r.now += rnd.Int64N(6 * 3600 * nanosecond)
		}
		if rnd.IntN(100) == 0 {
			r.asset(rnd)
		}
		c := r.randomCommand(rnd, pairs, accounts, 1000)
		events := r.apply(c)
		history.apply(events)
		markets[c.Pair].apply(c.Pair, events, history.limits)
		switch rnd.IntN(40) {
		case 0:
			r.fold()
		case 1:
			r.publish()
		case 2:
			catchUp()
			other = reload(t, other, pairs)
		}
		if rnd.IntN(150) == 0 {
			catchUp()
			limits = randomRetention(rnd, limits)
			r.feed.SetRetention(limits)
			other.SetRetention(limits)
			history.retain(limits)
			for p := range markets {
				markets[p].retain(history.limits)
			}
			changes++
		} else if rnd.IntN(300) > 0 && i < n-1 {
			continue
		}
		catchUp()
		if rnd.IntN(2) == 0 {
			r.publish()
			other.Publish(r.now)
			for p := range markets {
				markets[p].check(t, r.feed.Board().Load().View(engine.PairID(p)))
				markets[p].check(t, other.Board().Load().View(engine.PairID(p)))
			}
			equalBoards(t, r.feed.Board().Load(), other.Board().Load())
		}
		if rnd.IntN(2) == 0 && !bytes.Equal(stateOf(r.feed, pairs), stateOf(other, pairs)) {
			t.Fatalf("the states differ after %d commands and %d changes", i+1, changes)
		}
		for p := range engine.PairID(pairs) {
			same(t, r.feed.HashPair(p, nil), other.HashPair(p, nil))
		}
		r.feed.history.endCommand()
		other.history.endCommand()
		for k, a := range r.feed.history.accounts {
			b := other.history.accounts[k]
			same(t, []uint32{b.openCount, b.closedCount, b.fillCount},
				[]uint32{a.openCount, a.closedCount, a.fillCount})
		}
		compareHistory(t, rnd, r.feed, history, i == n-1)
		compareHistory(t, rnd, other, history, i == n-1)
	}
	if changes < 20 {
		t.Fatalf("only %d changes", changes)
	}
}

// Readers of a pair without a further event see lower limits after the next publication: in the view, and in the
// documents that are made of its trades. A view that they hold stays as it was.
func TestReadersSeeALowerRetention(t *testing.T) {
	r := newRig(Options{}, 2)
	for i := range int64(3000) {
		r.now += 30 * nanosecond
		r.trade(0, engine.Buy, 100+i%7, 1)
	}
	r.publish()
	before := r.feed.Board().Load()
	held := before.View(0)
	for k := range Slots {
		held.Keep(k, &note{})
	}
	limits := Retention{TradesMin: 10, TradesMax: 40}
	for i := range limits.Candles {
		limits.Candles[i] = 7
	}
	r.feed.SetRetention(limits)
	if r.feed.Board().Load() != before {
		t.Error("readers see the limits before a publication")
	}
	r.publish()
	v := r.feed.Board().Load().View(0)
	if v.Trades.Len() != 40 || v.Trades.First() != 2961 || v.DroppedYoung != 3000-40-119 {
		t.Errorf("%d trades from %d on, %d dropped", v.Trades.Len(), v.Trades.First(), v.DroppedYoung)
	}
	if minutes, hours := v.Candles(Minute), v.Candles(Hour); minutes.Len() != 8 || hours.Len() != 8 {
		t.Errorf("%d minutes, %d hours", minutes.Len(), hours.Len())
	}
	for k, from := range slotInputs {
		if (v.Kept(Slot(k)) == nil) != (from&fromTrades != 0) {
			t.Errorf("slot %d: %v", k, v.Kept(Slot(k)))
		}
	}
	if v.TickerVersion != held.TickerVersion || v.Seq != held.Seq {
		t.Error("the ticker or the seq has changed")
	}
	if n := len(r.feed.pairs[0].ring.view.chunks); n != 1 {
		t.Errorf("%d chunks of trades are kept", n)
	}
	checkTrades(t, &held.Trades, naiveTrades(r.events, 0))
	if c := held.Candles(Minute); c.Len() != 1501 || c.At(0).Start != rigStartNs/nanosecond {
		t.Errorf("%d candles in the old view, from %d on", c.Len(), c.At(0).Start)
	}
	root := r.feed.Board().Load()
	if root.View(1) != before.View(1) {
		t.Error("a pair of which nothing was dropped has a new view")
	}
	r.feed.SetRetention(limits)
	r.publish()
	if r.feed.Board().Load() != root {
		t.Error("the limits in force change something")
	}
	r.feed.SetRetention(Retention{})
	r.trade(0, engine.Buy, 100, 1)
	r.publish()
	if v = r.feed.Board().Load().View(0); v.Trades.Len() != 41 || v.Trades.First() != 2961 {
		t.Errorf("higher limits: %d trades from %d on", v.Trades.Len(), v.Trades.First())
	}
}

// A walk over a list goes on after a change of the limits. A page of orders has the rows of a walk that begins then; a
// page of fills also some that the walk has read before.
func TestAWalkGoesOnAfterAChangeOfTheRetention(t *testing.T) {
	rnd := newRand(t)
	for _, limits := range []Retention{{ClosedOrders: 2500, Fills: 4000}, {ClosedOrders: 90, Fills: 60}} {
		r := crowded(rnd, Options{}, 12_000)
		q := everything(1, 5000)
		var u *turns
		change := func() {
			if u.n == 1 {
				r.feed.SetRetention(limits)
			}
		}
		u = &turns{tb: t, history: r.feed.History(), meanwhile: change}
		orders, err := u.history.Orders(q, u.turn)
		if err != nil || u.n < 2 {
			t.Fatalf("%d turns: %v", u.n, err)
		}
		same(t, ordersOf(t, r.feed, q), orders)

		r = crowded(rnd, Options{}, 12_000)
		before := fillsOf(t, r.feed, q)
		u = &turns{tb: t, history: r.feed.History(), meanwhile: change}
		fills, err := u.history.Fills(q, u.turn)
		if err != nil || u.n < 2 {
			t.Fatalf("%d turns: %v", u.n, err)
		}
		kept := fillsOf(t, r.feed, q)
		if len(fills) < len(kept) || len(fills) == len(before) {
			t.Fatalf("%d fills, %d are retained of %d", len(fills), len(kept), len(before))
		}
		same(t, before[:len(fills)], fills)
		same(t, before[:len(kept)], kept)
	}
}
