package engine_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// An ordinary order with a client id is refused when no more ids can be remembered; one without an id is not.
func TestAnOrdinaryOrderNeedsRoomForItsClientID(t *testing.T) {
	m := newMarket(t, engine.Options{ClientIDs: 2}, enginetest.Instrument())
	for i, c := range []struct {
		client *engine.ClientID
		want   engine.Reason
	}{
		{named(4, "a"), engine.NotRejected},
		{nil, engine.NotRejected},
		{named(4, "b"), engine.NotRejected},
		{named(4, "c"), engine.TooManyOrders},
		{nil, engine.NotRejected},
		{named(5, "d"), engine.TooManyOrders},
	} {
		cmd := place(engine.Buy, 10, 1)
		cmd.Account, cmd.Client = 4, c.client
		cmd.First = true
		if e := m.core.Apply(&cmd, nil)[0]; e.Reason != c.want || (e.Kind == engine.EventAccepted) != (c.want == 0) {
			t.Errorf("order %d: %+v", i, e)
		}
	}
}

// The trades of an ordinary order say how much is left of it, until it is completed. They have its flags but those that
// only count when it is accepted.
func TestTheTradesOfAnOrdinaryOrder(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	for range 4 {
		cmd := place(engine.Sell, 100, 5)
		cmd.Account = 3
		cmd.First = true
		m.core.Apply(&cmd, nil)
	}
	for _, c := range []struct {
		amount int64
		open   []int64
	}{{3, []int64{0}}, {6, []int64{4, 0}}, {12, []int64{11, 6, 1}}} { // one lot of the last one rests
		cmd := place(engine.Buy, 100, c.amount)
		cmd.Account, cmd.Flags = 4, engine.FlagStrict|engine.FlagExpire
		var open []int64
		cmd.First = true
		for _, e := range m.core.Apply(&cmd, nil) {
			if e.Kind != engine.EventTrade {
				continue
			}
			open = append(open, e.OpenAmount)
			want := engine.PartiallyCompleted
			if e.OpenAmount == 0 {
				want = engine.Completed
			}
			if e.Status != want || e.Flags != 0 || e.Display != 100 || e.Side != engine.Buy || e.Account != 4 {
				t.Errorf("%d lots: %+v", c.amount, e)
			}
		}
		if len(open) != len(c.open) {
			t.Fatalf("%d lots: %v are left after the trades, want %v", c.amount, open, c.open)
		}
		for i := range open {
			if open[i] != c.open[i] {
				t.Errorf("%d lots: %v are left after the trades, want %v", c.amount, open, c.open)
			}
		}
	}
	if bids := m.core.AppendDepth(nil, 0, engine.Buy, 5); len(bids) != 1 {
		t.Errorf("bids %+v", bids)
	}
}
