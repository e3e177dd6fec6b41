package marketdata

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/wire"
)

// A history is restored into the limits of the options: the newest are kept.
func TestAHistoryIsRestoredIntoLowerLimits(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{Retention: Retention{ClosedOrders: 400, Fills: 3000, ClientIDs: 200}}, 2)
	r.run(rnd, 4000, 2, false)
	r.feed.AppendHistoryState(nil) // ends the last command
	before := r.feed.Stats()
	g := NewFeed(Options{Retention: Retention{ClosedOrders: 50, Fills: 600, ClientIDs: 30}})
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
	used := 0
	count := func(o *orderRec) {
		if o.extra != 0 {
			used++
		}
	}
	for _, p := range g.pairs {
		p.orders.eachOpen(g.history, count)
	}
	for _, r := range []*ring[orderRec]{&g.history.closed, &g.history.remembered} {
		for n := r.first(); n < r.end; n++ {
			count(r.at(n))
		}
	}
	if n := g.history.extras.InUse(); n != used {
		t.Errorf("%d slots are in use, %d orders have one: the dropped ones keep theirs", n, used)
	}
}

// An old order that was canceled last is among the newest closed ones: it is restored although lower limits have
// dropped all orders of the numbers between.
func TestAnOldOrderThatClosedLastIsRestoredIntoLowerLimits(t *testing.T) {
	r := newRig(Options{Retention: Retention{ClosedOrders: 1500}}, 1)
	cancel := func(id engine.OrderID) {
		r.apply(engine.Command{Kind: engine.Cancel, Order: id, Flags: engine.FlagAllAccount})
	}
	first := r.place(0, 1, engine.Buy, 100, 5)
	for range 3000 {
		cancel(r.place(0, 1, engine.Buy, 100, 5))
	}
	cancel(first)
	r.fold()
	g := NewFeed(Options{Retention: Retention{ClosedOrders: 40}})
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
		"format 4": {4, 3, 1}, "format 6": {6, 3, 1}, "200,000,001 accounts": {5, maxAccounts + 1, 1},
		"two pairs": {5, 3, 2}, "no pair": {5, 3, 0},
	} {
		g := NewFeed(r.feed.opts)
		if err := g.DecodePairState(r.feed.AppendPairState(nil, 0)); err != nil {
			t.Fatal(err)
		}
		w := walker{wire.Writer(nil)}
		for i := range head {
			w.U64(&head[i])
		}
		err := g.DecodeHistoryState(w.Bytes())
		if err == nil || head[1] > maxAccounts && !strings.Contains(err.Error(), "200000001 accounts") {
			t.Errorf("%s: %v", what, err)
		}
	}
	order := r.place(0, 7, engine.Buy, 50, 1)
	r.fold()
	h := r.feed.history
	h.endCommand()
	o, _ := h.lookup(order)
	refused := func(want string) {
		t.Helper()
		g := NewFeed(r.feed.opts)
		if err := g.DecodePairState(r.feed.AppendPairState(nil, 0)); err != nil {
			t.Fatal(err)
		}
		err := g.DecodeHistoryState(r.feed.AppendHistoryState(nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o.id = engine.MakeOrderID(5, order.N())
	refused("belongs to no pair")
	o.id = order
	accounts := h.accounts
	h.accounts = accounts[:7]
	refused("belongs to no account")
	h.accounts = accounts
	h.fills.at(0).makerAccount = 900
	refused("trade 1 belongs to no pair or account")
}
