package marketdata

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// script folds commands of pair 0 and 2, whose events are made by hand; a second passes before each.
type script struct {
	f   *Feed
	now int64
}

func newScript(o Options) *script {
	s := &script{f: NewFeed(o), now: rigStartNs}
	s.f.Fold([]engine.Event{addPair(0, "AA_USD"), addPair(2, "CC_USD")})
	return s
}

func (s *script) command(pair engine.PairID, events ...engine.Event) {
	s.now += nanosecond
	seq := s.f.pairs[pair].seq
	for i := range events {
		seq++
		events[i].Pair, events[i].Seq, events[i].TimeNs = pair, seq, s.now
	}
	s.f.Fold(events)
}

func (s *script) place(pair engine.PairID, n uint64, account engine.AccountID, change func(e *engine.Event)) {
	e := engine.Event{
		Kind: engine.EventAccepted, Order: engine.MakeOrderID(pair, n), Account: account, Price: 100, Amount: 10,
		OpenAmount: 10,
	}
	if change != nil {
		change(&e)
	}
	s.command(pair, e)
}

func (s *script) cancel(pair engine.PairID, n uint64, open int64) {
	s.command(pair, engine.Event{
		Kind: engine.EventCanceled, Order: engine.MakeOrderID(pair, n), Amount: open, Status: engine.Canceled,
		Cause: engine.CauseSelfTrade,
	})
}

func (s *script) order(t *testing.T, id engine.OrderID) OrderRecord {
	t.Helper()
	o, ok := s.f.History().Order(id)
	if !ok {
		t.Fatalf("order %d is not there", id)
	}
	return o
}

func clientID(text string) *engine.ClientID { return &engine.ClientID{Text: text} }

// An order is shown with what its events say, open or ended; the first answer of one with a client id stays.
func TestAnOrderIsShownMemberByMember(t *testing.T) {
	s := newScript(Options{Retention: Retention{ClosedOrders: 2, ClientIDs: 2, Fills: 20}})
	h := s.f.History()
	s.place(0, 1, 3, func(e *engine.Event) {
		e.Side, e.Type, e.TIF, e.STP, e.Flags = engine.Sell, engine.Limit, engine.GTC, engine.Decrement,
			engine.FlagPostOnly
	})
	plain := OrderRecord{
		ID: 1, Account: 3, Side: engine.Sell, Type: engine.Limit, TIF: engine.GTC, STP: engine.Decrement,
		PostOnly: true,
		Price:    100, Amount: 10, Status: engine.Created, Open: 10, FeeKnown: true, CreatedNs: s.now, ChangedNs: s.now,
		Seq: 2,
	}
	same(t, plain, s.order(t, 1))
	if first, ok := h.FirstAnswer(1); ok {
		t.Errorf("%+v without a client id", first)
	}
	s.place(0, 2, 3, func(e *engine.Event) {
		e.Type, e.MakerOpen, e.Display, e.Client = engine.StopLimit, 90, 4, clientID("c2")
	})
	stop := OrderRecord{
		ID: 2, Account: 3, Client: "c2", Type: engine.StopLimit, Price: 100, Amount: 10, Stop: 90, Display: 4,
		Trigger: Waiting, Status: engine.Created, Open: 10, FeeKnown: true, CreatedNs: s.now, ChangedNs: s.now, Seq: 3,
	}
	firstStop := stop
	same(t, stop, s.order(t, 2))
	s.command(0, engine.Event{Kind: engine.EventTriggered, Order: 2}, engine.Event{
		Kind: engine.EventReplaced, Order: 2, Price: 101, Amount: 12, OpenAmount: 11,
	}, engine.Event{Kind: engine.EventReduced, Order: 2, OpenAmount: 9})
	stop.Trigger, stop.Price, stop.Amount, stop.Open, stop.Reduced = Triggered, 101, 12, 9, 3
	stop.ChangedNs, stop.Seq = s.now, 6
	same(t, stop, s.order(t, 2))

	s.command(2, engine.Event{
		Kind: engine.EventAccepted, Order: engine.MakeOrderID(2, 1), Account: 3, Type: engine.StopMarket, MakerOpen: 5,
		Client: clientID("s"),
	}, engine.Event{Kind: engine.EventTriggered, Order: engine.MakeOrderID(2, 1)})
	if first, ok := h.FirstAnswer(engine.MakeOrderID(2, 1)); !ok || first.Trigger != Triggered {
		t.Errorf("an order that is triggered at once: %+v", first)
	}

	// A market buy by quote takes 4 of the plain order, in the command that places it.
	trade := engine.Event{
		Kind: engine.EventTrade, Order: 3, Maker: 1, Trade: 1, Price: 100, Amount: 4, MakerOpen: 6, Account: 4,
		MakerAccount: 3, Flags: engine.FlagQuote, TakerFee: 200_000, MakerFee: 100_000,
	}
	seen := engine.Status(0)
	s.f.observe = func(e *engine.Event) {
		if e.Kind == engine.EventTrade {
			o, _ := h.Current(3)
			seen = o.Status
		}
	}
	s.command(0, engine.Event{
		Kind: engine.EventAccepted, Order: 3, Account: 4, Type: engine.Market, TIF: engine.IOC, Flags: engine.FlagQuote,
		Quote: fixed.FromU64(500), Client: clientID("c3"),
	}, trade, engine.Event{
		Kind: engine.EventCanceled, Order: 3, Status: engine.Completed, Cause: engine.CauseRemainder,
	})
	s.f.observe = nil
	same(t, engine.PartiallyCompleted, seen)
	bought := fixed.FromU64(80) // 0.2 % of 4 lots, which are 0.0004 of the base: 80 units of 10^-8
	sold := fixed.FromU64(40)   // 0.1 % of 4 lots at 100 ticks, which are 0.0004 of the quote
	fill := Fill{
		Order: 3, Account: 4, Trade: 1, TimeNs: s.now, Price: 100, Amount: 4, Fee: bought,
	}
	quote := OrderRecord{
		ID: 3, Account: 4, Client: "c3", Type: engine.Market, TIF: engine.IOC, ByQuote: true, Quote: fixed.FromU64(500),
		Status: engine.Completed, Cause: engine.CauseRemainder, Filled: 4, FilledQuote: fixed.FromU64(400),
		Fee: bought, FeeKnown: true, CreatedNs: s.now, ChangedNs: s.now, EndedNs: s.now, Seq: 9,
		Fills: []Fill{fill},
	}
	same(t, quote, s.order(t, 3))
	first, ok := h.FirstAnswer(3)
	same(t, true, ok)
	same(t, quote, first)
	plain.Status, plain.Filled, plain.FilledQuote, plain.Open = engine.PartiallyCompleted, 4, fixed.FromU64(400), 6
	plain.Fee, plain.ChangedNs, plain.Seq = sold, s.now, 9
	fill.Order, fill.Account, fill.Side, fill.Fee, fill.IsMaker = 1, 3, engine.Sell, sold, true
	plain.Fills = []Fill{fill}
	same(t, plain, s.order(t, 1))

	s.cancel(0, 2, 9)
	stop.Status, stop.Cause, stop.Canceled, stop.Open = engine.Canceled, engine.CauseSelfTrade, 9, 0
	stop.ChangedNs, stop.EndedNs, stop.Seq = s.now, s.now, 10
	same(t, stop, s.order(t, 2))
	first, ok = h.FirstAnswer(2)
	same(t, true, ok)
	same(t, firstStop, first)
	s.cancel(0, 1, 6) // the third one that ends: order 3 is kept for its client id alone
	plain.Status, plain.Cause, plain.Canceled, plain.Open = engine.Canceled, engine.CauseSelfTrade, 6, 0
	plain.ChangedNs, plain.EndedNs, plain.Seq = s.now, s.now, 11
	same(t, plain, s.order(t, 1))
	if o, ok := h.Order(3); ok {
		t.Errorf("a remembered order is shown: %+v", o)
	}
	first, ok = h.FirstAnswer(3)
	same(t, true, ok)
	same(t, quote, first)
}

// An order has extra members if it has any of them; what is forgotten gives its place back, empty.
func TestTheExtraMembersOfOrders(t *testing.T) {
	s := newScript(Options{Retention: Retention{ClosedOrders: 1, ClientIDs: 1, Fills: 20}})
	h := s.f.History()
	for n, change := range []func(e *engine.Event){
		func(*engine.Event) {},
		func(e *engine.Event) { e.Client = clientID("a") },
		func(e *engine.Event) { e.MakerOpen = 5 },
		func(e *engine.Event) { e.Display = 6 },
		func(e *engine.Event) { e.Quote, e.Flags = fixed.FromU64(7), engine.FlagQuote },
		func(e *engine.Event) { e.MakerOpen = 1 },
		func(e *engine.Event) { e.Display = 1 },
	} {
		s.place(0, uint64(n+1), 3, change)
		o := s.order(t, engine.OrderID(n+1))
		want := OrderRecord{
			ID: engine.OrderID(n + 1), Account: 3, Price: 100, Amount: 10, Status: engine.Created, Open: 10,
			FeeKnown: true, CreatedNs: s.now, ChangedNs: s.now, Seq: engine.Seq(n + 2),
		}
		switch n {
		case 1:
			want.Client = "a"
		case 2, 5:
			want.Stop = int64(5 - 4*(n/5))
		case 3, 6:
			want.Display = int64(6 - 5*(n/6))
		case 4:
			want.Quote, want.ByQuote = fixed.FromU64(7), true
		}
		same(t, want, o)
		same(t, int32(n), h.extras.Used())
		if first, ok := h.FirstAnswer(o.ID); ok != (n == 1) {
			t.Errorf("order %d: first answer %+v, %v", o.ID, first, ok)
		}
	}
	free := func(want ...int32) { // a copy of the slab gives its free slots away, then a new one
		t.Helper()
		h.endCommand()
		var got []int32
		left := h.extras
		for n := int(left.Used()) - left.InUse(); n > 0; n-- {
			got = append(got, left.Alloc())
			same(t, orderExtra{}, *h.extras.At(got[len(got)-1]))
		}
		slices.Reverse(got)
		same(t, want, got)
	}
	s.cancel(0, 3, 10)
	free()
	s.cancel(0, 2, 10) // evicts order 3
	free(2)
	s.cancel(0, 1, 10) // order 2 is remembered
	free(2)
	if _, ok := h.FirstAnswer(2); !ok {
		t.Error("order 2 is forgotten")
	}
	s.place(0, 8, 3, func(e *engine.Event) { e.Client = clientID("b") })
	free()
	s.cancel(0, 8, 10) // evicts order 1, which has no extra members
	free()
	s.cancel(0, 4, 10) // order 8 is remembered in the place of order 2
	free(1)
	if _, ok := h.FirstAnswer(2); ok {
		t.Error("order 2 is not forgotten")
	}
	if first, ok := h.FirstAnswer(8); !ok || first.Client != "b" {
		t.Errorf("%+v, %v", first, ok)
	}
	for _, id := range []engine.OrderID{
		2, 3, 9, engine.MakeOrderID(1, 4), engine.MakeOrderID(2, 4), engine.MakeOrderID(3, 4), engine.MakeOrderID(900,
			4),
	} {
		if o, ok := h.Order(id); ok {
			t.Errorf("order %d: %+v", id, o)
		}
		if o, ok := h.FirstAnswer(id); ok {
			t.Errorf("order %d: first %+v", id, o)
		}
	}
}

// A replace of a waiting order changes what it waits for; one at the market's price has no price, whatever it holds.
func TestAReplacedWaitingOrderIsShown(t *testing.T) {
	s := newScript(Options{Retention: Retention{ClosedOrders: 2, ClientIDs: 2, Fills: 20}})
	s.place(0, 1, 3, func(e *engine.Event) {
		e.Type, e.TIF, e.Price, e.MakerOpen, e.Trail = engine.StopMarket, engine.IOC, 0, 90, 100
		e.Client = clientID("c")
	})
	s.command(0, engine.Event{Kind: engine.EventActivated, Order: 1, Price: 95})
	tracked := s.now
	replace := func(stop int64, trail uint16, price int64) OrderRecord {
		s.command(0, engine.Event{
			Kind: engine.EventReplaced, Order: 1, Type: engine.StopMarket, Price: price, Amount: 12, OpenAmount: 12,
			MakerOpen: 90, Display: 10, Quote: fixed.FromU64(uint64(stop)), Trail: trail,
		})
		return s.order(t, 1)
	}
	for _, x := range []struct {
		stop    int64
		trail   uint16
		trackNs int64
	}{{90, 200, tracked}, {91, 200, 0}, {91, 300, 0}} {
		o := replace(x.stop, x.trail, x.stop)
		if o.Stop != x.stop || o.Trail != x.trail || o.TrackNs != x.trackNs || o.Price != 0 || o.Amount != 12 ||
			o.Open != 12 || !o.Quote.IsZero() {
			t.Errorf("%+v, want %+v", o, x)
		}
	}
	if first, ok := s.f.History().FirstAnswer(1); !ok || first.Stop != 90 || first.Trail != 100 || first.Amount != 10 {
		t.Errorf("first %+v", first)
	}
	s.place(0, 2, 3, func(e *engine.Event) { e.Type, e.MakerOpen = engine.TakeLimit, 90 })
	s.command(0, engine.Event{
		Kind: engine.EventReplaced, Order: 2, Type: engine.TakeLimit, Price: 101, Amount: 10, OpenAmount: 10,
		MakerOpen: 100, Display: 10, Quote: fixed.FromU64(80),
	})
	if o := s.order(t, 2); o.Price != 101 || o.Stop != 80 || o.Trigger != Waiting {
		t.Errorf("%+v", o)
	}
}
