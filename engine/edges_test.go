package engine_test

import (
	"math"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
)

// kindsOf returns the kinds of the events that a command makes.
func (m *market) kindsOf(cmd engine.Command) []string { return kinds(m.do(cmd)) }

func named(account engine.AccountID, text string) *engine.ClientID {
	return enginetest.ClientID(account, text, "")
}

// Members that an order type does not use have no effect: a quote amount without its flag, the time in force and the
// slices of a market order.
func TestUnusedMembersHaveNoEffect(t *testing.T) {
	opts := engine.Options{Limits: engine.Limits{OpenOrders: 3}, PairSlices: 1, ClientIDs: 1}
	m := newMarket(t, opts, enginetest.Instrument())
	first := place(engine.Buy, 1, 100)
	first.Client = named(0, "a")
	m.do(first)
	m.do(place(engine.Sell, 100, 100)) // no room for client ids is needed
	one := fixed.FromU64(1)
	for name, c := range map[string]struct {
		cmd  engine.Command
		lots int64
	}{
		"quote amount of a limit order": {engine.Command{Price: 100, Amount: 5, TIF: engine.IOC, Quote: one}, 5},
		"quote amount of a market sell": {
			engine.Command{Side: engine.Sell, Type: engine.Market, Amount: 6, Quote: one}, 6,
		},
		"quote amount of a buy without a flag": {engine.Command{Type: engine.Market, Amount: 7, Quote: one}, 7},
	} {
		events := m.do(c.cmd)
		lots := int64(0)
		for _, e := range events {
			if e.Kind == engine.EventTrade {
				lots += e.Amount
			}
		}
		if lots != c.lots || !events[0].Quote.IsZero() {
			t.Errorf("%s: %d lots, quote %v, %v", name, lots, events[0].Quote, kinds(events))
		}
	}
	m.do(place(engine.Sell, 200, 1)) // the third order: no other may rest
	m.mustReject(place(engine.Sell, 200, 1), engine.TooManyOrders)
	gtc := engine.Command{Type: engine.Market, TIF: engine.GTC, Amount: 1}
	if got := m.kindsOf(gtc); got[0] == "rejected" {
		t.Errorf("a market order that needs no place among the open orders: %v", got)
	}
	m.do(engine.Command{Kind: engine.Cancel, Order: 1})
	m.do(engine.Command{Type: engine.StopMarket, Stop: 999, Amount: 9, Quote: one})
	if o, _ := m.core.Order(m.core.LastOrderID(0)); !o.Waiting || o.Quote != (fixed.U128{}) {
		t.Errorf("a stop by amount has a quote amount: %+v", o)
	}
	m.do(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0)})
	stop := engine.Command{
		Type: engine.StopMarket, TIF: engine.IOC, Side: engine.Sell, Stop: 50, Amount: 9, Display: 1, Quote: one,
	}
	if got := m.kindsOf(stop); got[0] == "rejected" {
		t.Errorf("a stop market order has no slices: %v", got)
	}
	id := m.core.LastOrderID(0)
	if o, _ := m.core.Order(id); !o.Waiting || o.Quote != (fixed.U128{}) || o.Open != 9 {
		t.Errorf("%+v", o)
	}
	m.do(engine.Command{Kind: engine.CancelAll, Order: id - 1}) // all but the stop
	m.do(place(engine.Buy, 49, 4))
	// The trade at 49 triggers the stop, which takes what is left of the bid whatever its money.
	m.do(place(engine.Sell, 49, 1))
	if _, price := m.core.LastTrade(0); price != 49 || m.core.OpenOrders(0) != 0 {
		t.Errorf("last price %d, %d orders", price, m.core.OpenOrders(0))
	}
}

// A market sell takes bids at the lowest price there is.
func TestMarketSellAtTheLowestPrice(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.do(place(engine.Buy, 1, 3))
	m.do(engine.Command{Side: engine.Sell, Type: engine.Market, Amount: 2})
	if trade, price := m.core.LastTrade(0); trade != 1 || price != 1 {
		t.Errorf("trade %d at %d", trade, price)
	}
}

// No order gets a number beyond 36 bits.
func TestNumbersOfOrdersEnd(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	const last = 1<<36 - 1
	fields := readState(t, m.core.EncodePair(nil, 0))
	for newest, want := range map[uint64]engine.Reason{last - 1: engine.NotRejected, last: engine.TooManyOrders} {
		c, err := restorePair(with(t, fields, changes{"newest": newest}))
		if err != nil {
			t.Fatal(err)
		}
		cmd := place(engine.Buy, 1, 1)
		if e := c.Apply(&cmd, nil)[0]; e.Reason != want || e.Kind == engine.EventAccepted && e.Order != last {
			t.Errorf("after order %d: %+v", newest, e)
		}
	}
	if id := engine.MakeOrderID(3, last); id != 3<<36|last || id.Pair() != 3 || id.N() != last {
		t.Errorf("%x", uint64(id))
	}
}

// A command of no pair is refused on the control stream with the members that its sender needs.
func TestRefusalOfAnUnknownPair(t *testing.T) {
	c := engine.NewCore(engine.Options{})
	client := named(4, "a")
	for i, cmd := range []engine.Command{
		{Kind: engine.Place, Side: engine.Sell, Account: 4, Client: client, Order: 9},
		{Kind: engine.Cancel, Account: 4, Order: 9},
		{Kind: engine.Replace, Account: 4, Order: 9},
		{Kind: engine.CancelAll, Account: 4, Order: 9},
		{Kind: engine.SetPair, Instrument: &engine.Instrument{}},
	} {
		cmd.TimeNs = 77
		want := engine.Event{
			Seq: engine.Seq(i + 1), TimeNs: 77, Pair: engine.ControlPair, Kind: engine.EventRejected,
			Reason: engine.UnknownPair, Status: engine.Rejected, Side: cmd.Side, Account: cmd.Account,
			Client: cmd.Client,
		}
		if cmd.Kind == engine.Cancel || cmd.Kind == engine.Replace {
			want.Order = 9
		}
		if d := differ.Diff([]engine.Event{want}, c.Apply(&cmd, nil)); d != "" {
			t.Error(d)
		}
	}
	if c.LastOrderID(3) != 0 || c.OwnOpenOrders(3, 1) != 0 || c.ClientOrder(3, client.Hash) != 0 {
		t.Error("an unknown pair has orders")
	}
}

// Pairs get the number they wish, or the next one; a pair that cannot be traded is refused. Numbers between have no
// pair.
func TestNumbersOfPairs(t *testing.T) {
	c := engine.NewCore(engine.Options{})
	add := func(code string, wish engine.PairID) engine.Event {
		inst := enginetest.Instrument()
		inst.Code, inst.Base = code+"_USDT", code
		cmd := engine.Command{Kind: engine.AddPair, Pair: wish, Instrument: &inst}
		return c.Apply(&cmd, nil)[0]
	}
	if e := add("bad", 0); e.Reason != engine.InvalidPair {
		t.Errorf("%+v", e)
	}
	for _, x := range []struct {
		code string
		wish engine.PairID
		want engine.PairID
	}{{"AA", 2, 2}, {"BB", engine.MaxPairs, 3}, {"CC", 2, 4}, {"DD", 0, 0}, {"EE", engine.ControlPair, 5}} {
		if e := add(x.code, x.wish); e.Kind != engine.EventPair || e.Pair != x.want || e.Instrument.ID != x.want {
			t.Errorf("%s: %+v", x.code, e)
		}
	}
	inst := enginetest.Instrument()
	for _, p := range []engine.PairID{1, 6, engine.ControlPair} {
		set := engine.Command{Kind: engine.SetPair, Pair: p, Instrument: &inst}
		if e := c.Apply(&set, nil)[0]; e.Reason != engine.UnknownPair {
			t.Errorf("pair %d: %+v", p, e)
		}
	}
	if c.AppendUnfinished(nil) != nil || c.Check() != nil {
		t.Error("a number without a pair has a command")
	}
}

// The views find an account's orders and a client id's order, and a stop that was not asked for is not visited.
func TestViewsOfOrders(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	ice := place(engine.Sell, 100, 9)
	ice.Account, ice.Client, ice.Display = 7, named(7, "a"), 2
	m.do(ice)
	m.do(engine.Command{Kind: engine.Cancel, Order: 1, Account: 7})
	plain := place(engine.Sell, 100, 9)
	plain.Account, plain.Client = 7, named(7, "b")
	m.do(plain)
	if o, _ := m.core.Order(2); o.Display != 0 || o.Hidden != 0 || o.Open != 9 {
		t.Errorf("an order in the place of an iceberg: %+v", o)
	}
	for _, side := range []engine.Side{engine.Buy, engine.Sell} {
		m.do(engine.Command{
			Account: 7, Side: side, Type: engine.StopLimit, Stop: 50, Price: 1, Amount: 1,
		})
	}
	if n := m.core.OwnOpenOrders(0, 7); n != 3 || m.core.OwnOpenOrders(0, 8) != 0 || m.core.OwnOpenOrders(0, 0) != 0 {
		t.Errorf("account 7 has %d orders", n)
	}
	if id := m.core.ClientOrder(0, plain.Client.Hash); id != 2 || m.core.ClientOrder(0, [2]uint64{1, 2}) != 0 {
		t.Errorf("client id b is of order %d", id)
	}
	if id := m.core.ClientOrder(0, ice.Client.Hash); id != 1 {
		t.Errorf("client id a is of order %d", id)
	}
	for stop := range m.core.Stops(0) {
		if stop.Side != engine.Buy {
			t.Errorf("the first stop is %+v", stop)
		}
		break
	}
	var none []engine.BookOrder
	for o := range m.core.Resting(0, engine.Sell, 1) {
		none = append(none, o)
	}
	if len(none) != 1 || len(m.core.AppendDepth(nil, 0, engine.Sell, 1)) != 1 {
		t.Errorf("%+v", none)
	}
}

// A mass cancel's bound is an order of its pair; one of a later pair is beyond all orders, one of an earlier pair
// before them.
func TestBoundOfAMassCancel(t *testing.T) {
	for _, x := range []struct {
		order engine.OrderID
		left  int
	}{
		{0, 0},
		{engine.MakeOrderID(1, 1), 2},
		{engine.MakeOrderID(1, 3), 0},
		{engine.MakeOrderID(1, 1<<36-1), 0},
		{engine.MakeOrderID(2, 1), 0},
		{engine.MakeOrderID(0, 3), 3},
	} {
		c := engine.NewCore(engine.Options{})
		inst := enginetest.Instrument()
		c.Apply(&engine.Command{Kind: engine.AddPair, Pair: 1, Instrument: &inst}, nil)
		for range 3 {
			cmd := place(engine.Buy, 100, 1)
			cmd.Pair = 1
			c.Apply(&cmd, nil)
		}
		c.Apply(&engine.Command{Kind: engine.CancelAll, Pair: 1, First: true, Order: x.order}, nil)
		if n := c.OpenOrders(1); n != x.left {
			t.Errorf("bound %x: %d orders are left, want %d", uint64(x.order), n, x.left)
		}
	}
}

// A self-trade mode that no record can hold stops the core at the first own order.
func TestUnknownSelfTradeModePanics(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	own := place(engine.Sell, 100, 1)
	own.Account = 3
	m.do(own)
	defer func() {
		if recover() == nil {
			t.Error("a self-trade had an unknown mode")
		}
	}()
	own.Side, own.STP = engine.Buy, engine.Decrement+1
	m.do(own)
}

// A replace is refused with the reason that was found before the core, and at each limit of its order.
func TestLimitsOfAReplace(t *testing.T) {
	const half, quarter = int64(1) << 62, int64(1) << 61
	replace := func(amount int64) engine.Command {
		return engine.Command{
			Kind: engine.Replace, Order: 1, Amount: amount, Flags: engine.FlagHasAmount,
		}
	}
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.do(place(engine.Sell, 1, quarter))
	m.do(place(engine.Sell, 1, half))
	early := replace(5)
	early.Refuse = engine.AmountOffLot
	m.mustReject(early, engine.AmountOffLot)
	m.mustReject(replace(2*quarter), engine.AmountOutOfRange) // all asks together are beyond int64
	if e := m.do(replace(quarter + 5))[0]; e.Kind != engine.EventReplaced {
		t.Errorf("%+v", e)
	}
	if e := m.do(replace(math.MaxInt64 - half))[0]; e.Kind != engine.EventReplaced {
		t.Errorf("%+v", e)
	}

	m = newMarket(t, engine.Options{PairSlices: 20}, enginetest.Instrument())
	ice := place(engine.Sell, 100, 22)
	ice.Display = 2
	m.do(ice)
	m.mustReject(replace(44), engine.TooManySlices) // 21 slices in reserve
	if e := m.do(replace(42))[0]; e.Kind != engine.EventReplaced {
		t.Errorf("%+v", e)
	}

	// 10^23 units of the product, of which each is 10^6 units of the quote, are the most of an order.
	m = newMarket(t, engine.Options{}, enginetest.Instrument())
	m.do(place(engine.Sell, 1e11, 1))
	m.mustReject(replace(1e12+1), engine.TotalOutOfRange)
	if e := m.do(replace(1e12))[0]; e.Kind != engine.EventReplaced {
		t.Errorf("%+v", e)
	}
}
