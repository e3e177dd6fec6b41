package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tickhive/engine"
	"tickhive/engine/enginetest"
	"tickhive/internal/fixed"
)

// A fill-or-kill sell with an earn limit, among few bids of its own account and of others, with and without reserves,
// is filled whole or refused, as the model says. Small books make each way to end frequent.
func TestFillOrKillWithEarnLimitAmongOwnOrders(t *testing.T) {
	const seed, books = 38, 20_000
	rnd := enginetest.NewRand(seed)
	inst := enginetest.Instrument()
	opts := enginetest.RandomOptions()
	m := newMarket(t, opts, inst)
	m.quick = true
	start, _ := m.core.Pair(0)
	naive := &model{opts: opts, inst: *start, seq: 1}
	run := func(c engine.Command) []engine.Event {
		c.TimeNs = m.now + 1
		want := naive.apply(c)
		got := m.do(c)
		if !enginetest.EqualEvents(got, want) {
			t.Fatalf("seed %d, %+v:\n%s", seed, c, cmp.Diff(want, got, cmpopts.EquateComparable(engine.ClientID{})))
		}
		return got
	}
	filled, past := 0, 0
	for range books {
		for range 1 + rnd.IntN(6) {
			bid := engine.Command{
				Account: engine.AccountID(1 + rnd.IntN(2)), Price: 4 + rnd.Int64N(3), Amount: 1 + rnd.Int64N(3),
			}
			if rnd.IntN(3) == 0 {
				bid.Display = 1
			}
			run(bid)
		}
		c := engine.Command{
			Account: 1, Side: engine.Sell, TIF: engine.FOK, STP: engine.SelfTrade(rnd.IntN(5)),
			Price: 4 + rnd.Int64N(2), Amount: 1 + rnd.Int64N(6),
		}
		c.EarnLimit = fixed.FromU64(uint64(c.Price*c.Amount) + rnd.Uint64N(8))
		events := run(c)
		end := events[len(events)-1]
		if end.Kind != engine.EventRejected {
			filled++
		}
		lots := int64(0)
		for _, e := range events {
			if e.Kind == engine.EventTrade {
				lots += e.Amount
			} else if e.Kind == engine.EventCanceled {
				past++
			}
		}
		if end.Kind != engine.EventRejected && lots != c.Amount {
			t.Fatalf("seed %d: %+v was accepted and filled %d lots", seed, c, lots)
		}
		run(engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount, Order: m.core.LastOrderID(0)})
	}
	m.check()
	t.Logf("seed %d: of %d orders %d were filled; they canceled %d own ones", seed, books, filled, past)
	if filled < books/5 || past < books/50 {
		t.Error("too few orders were filled, or passed own ones")
	}
}
