package engine_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// The view of an open order has the members of its kind and no others.
func TestTheViewOfAnOrderHasTheMembersOfItsKind(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	place := func(c engine.Command) engine.OrderState {
		t.Helper()
		c.Kind, c.Account = engine.Place, 1
		m.do(c)
		v, ok := m.core.Order(m.core.LastOrderID(0))
		if !ok {
			t.Fatalf("%+v is not open", c)
		}
		return v
	}
	m.do(engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 200, Amount: 1}) // the touch for the stops
	named := engine.Command{Side: engine.Buy, Price: 100, Amount: 10}
	named.Client = enginetest.ClientID(1, "a", "1")
	for _, c := range []struct {
		what string
		cmd  engine.Command
		want engine.OrderState
	}{
		{
			"limit",
			engine.Command{Side: engine.Buy, Price: 100, Amount: 10},
			engine.OrderState{Price: 100, Total: 10, Open: 10},
		},
		{"limit with a client id", named, engine.OrderState{Price: 100, Total: 10, Open: 10, Client: true}},
		{
			"iceberg",
			engine.Command{Side: engine.Buy, Price: 100, Amount: 10, Display: 4},
			engine.OrderState{Price: 100, Total: 10, Open: 10, Hidden: 6, Display: 4},
		},
		{
			"stop",
			engine.Command{
				Side: engine.Buy, Type: engine.StopLimit, Price: 300, Stop: 250, Amount: 5,
			},
			engine.OrderState{Type: engine.StopLimit, Waiting: true, Price: 300, Stop: 250, Total: 5, Open: 5},
		},
	} {
		got := place(c.cmd)
		c.want.ID, c.want.Account, c.want.Side = got.ID, 1, c.cmd.Side
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// A pair that does not exist leaves what the caller has, and a caller that has seen enough sees no more.
func TestWalksLeaveAndStop(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	have := []engine.DepthLevel{{Price: 1}}
	if got := m.core.AppendDepth(have, 9, engine.Buy, 0); len(got) != 1 {
		t.Errorf("of a pair that does not exist: %v", got)
	}
	for n := range 3 {
		for range 2 {
			m.do(engine.Command{Kind: engine.Place, Side: engine.Buy, Price: int64(100 - n), Amount: 1, Account: 1})
			m.do(engine.Command{
				Kind: engine.Place, Side: engine.Buy, Type: engine.StopLimit, Price: 300, Stop: int64(250 + n),
				Amount: 1, Account: 1,
			})
		}
	}
	for most := 1; most <= 6; most++ {
		stops, orders := 0, 0
		for range m.core.Stops(0) {
			if stops++; stops == most {
				break
			}
		}
		for range m.core.Resting(0, engine.Buy, 0) {
			if orders++; orders == most {
				break
			}
		}
		if stops != most || orders != most {
			t.Errorf("%d stops and %d orders, want %d", stops, orders, most)
		}
	}
	if got := m.core.AppendDepth(nil, 0, engine.Buy, 2); len(got) != 2 {
		t.Errorf("%d levels, want 2", len(got))
	}
}

// Number 0 of a pair is no order, and no order of a later pair bounds a mass cancel of this one.
func TestNumbersThatAreNoOrders(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.do(engine.Command{Kind: engine.Place, Side: engine.Buy, Price: 100, Amount: 1, Account: 1})
	got := m.do(engine.Command{Kind: engine.Cancel, Account: 1, Order: engine.MakeOrderID(0, 0)})
	if len(got) != 1 || got[0].Reason != engine.UnknownOrder {
		t.Errorf("a cancel of number 0: %+v", got)
	}
	got = m.do(engine.Command{Kind: engine.CancelAll, Account: 1, Order: engine.MakeOrderID(5, 1)})
	if m.core.OpenOrders(0) != 0 {
		t.Errorf("a mass cancel up to an order of a later pair: %+v", got)
	}
}
