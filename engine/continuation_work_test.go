package engine

import (
	"math"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
)

// workCore has one pair.
type workCore struct {
	*Core
	t testing.TB
}

func newWorkCore(t testing.TB, parts int) workCore {
	c := workCore{NewCore(Options{PartEvents: parts}), t}
	c.Apply(&Command{Kind: AddPair, Pair: ControlPair, Instrument: &Instrument{
		Code: "BTC_USDT", Base: "BTC", Quote: "USDT",
	}}, nil)
	return c
}

// asks lets n asks of one lot rest.
func (c workCore) asks(n int, price int64) {
	for range n {
		c.Apply(&Command{Side: Sell, Price: price, Amount: 1, Account: 1, First: true}, nil)
	}
}

func (c workCore) send(cmd Command) []Event { return c.Apply(&cmd, nil) }

// A slice counts an event as one, a trade as three and a cancel as two, and four visits as one.
func TestWorkOfASlice(t *testing.T) {
	for _, x := range []struct {
		name         string
		cmd          Command
		work, visits int
	}{
		{"rest", Command{Price: 1, Amount: 1}, 1 + 1, 0},
		{"trade", Command{Price: 100, Amount: 1}, 1 + 3 + 1, 8},
		{"cancel", Command{Kind: Cancel, Order: 1, Account: 1}, 2 + 1, 4},
		{"fill-or-kill of three levels", Command{Price: 200, Amount: 13, TIF: FOK}, 1, 3},
		{"fill-or-kill of an account without other orders", Command{
			Price: 200, Amount: 13, TIF: FOK, Account: 2, STP: CancelMaker,
		}, 1, 3},
		{"fill-or-kill beside other orders", Command{
			Price: 200, Amount: 13, TIF: FOK, Account: 1, STP: CancelMaker,
		}, 1 + 15/4, 15},
		{"refused", Command{Kind: Cancel, Order: 99}, 1, 0},
	} {
		c := newWorkCore(t, 600)
		for i := range int64(3) {
			c.asks(4, 100+i)
		}
		x.cmd.First = true
		before := c.Apply(&Command{Kind: Cancel, Order: 98}, nil) // its events are in dst before
		c.Apply(&x.cmd, before)
		if c.slice.work != x.work || c.Visits(0) != x.visits || c.SliceOver() {
			t.Errorf("%s: work %d, %d visits, want %d and %d", x.name, c.slice.work, c.Visits(0), x.work, x.visits)
		}
		if stock := c.books[0].orders; stock.cold.Used() != stock.hot.Used() {
			t.Errorf("%s: %d cold slots for %d orders", x.name, stock.cold.Used(), stock.hot.Used())
		}
	}
}

// A slice ends with the work of two parts.
func TestSliceEndsWithItsWork(t *testing.T) {
	var s slice
	if s.add(2*600-1, 600) || !s.add(1, 600) || !s.add(0, 600) {
		t.Error("a slice does not end with the work of two parts")
	}
	const sweeps = 3 // of 1 + 195 x 3 + 1 events
	c := newWorkCore(t, 600)
	c.asks(5000, 100)
	for i := range 4 {
		cmd := Command{Price: 100, Amount: 195, Account: 2, First: i == 0}
		dst := make([]Event, 1, 5000)
		if void := c.Void(&cmd); void != (i >= sweeps) {
			t.Errorf("sweep %d is void: %t", i, void)
		}
		if events := c.Apply(&cmd, dst); len(events) == 0 || (len(events) == 1) != (i >= sweeps) {
			t.Errorf("sweep %d makes %d events", i, len(events)-1)
		}
	}
	if !c.SliceOver() || c.Unfinished(0) {
		t.Errorf("the slice is over: %t", c.SliceOver())
	}
	// A new slice takes several commands again.
	for i := range 3 {
		if events := c.send(Command{Price: 1, Amount: 1, First: i == 0}); len(events) != 2 {
			t.Errorf("command %d of a new slice makes %d events", i, len(events))
		}
	}
}

// An unfinished command ends its slice, however little it did. The work of its parts counts for their slices.
func TestUnfinishedCommandEndsItsSlice(t *testing.T) {
	c := newWorkCore(t, 600)
	c.asks(3000, 100)
	c.send(Command{Price: 100, Amount: 3000, Account: 2, First: true})
	if !c.Unfinished(0) || !c.SliceOver() || c.slice.work >= 2*600 {
		t.Fatalf("work %d, over: %t", c.slice.work, c.SliceOver())
	}
	if !c.Void(&Command{}) {
		t.Error("the next command is not void")
	}
	part := c.send(Command{Kind: Continue, First: true})
	if len(part) == 0 || c.slice.work < 500 || c.SliceOver() {
		t.Errorf("%d events, work %d", len(part), c.slice.work)
	}
	// Without an unfinished command, and without a pair, a Continue does nothing.
	c = newWorkCore(t, 600)
	dst := make([]Event, 3)
	for _, p := range []PairID{0, 1, ControlPair} {
		events := c.Apply(&Command{Kind: Continue, Pair: p, First: true}, dst)
		if len(events) != 3 {
			t.Errorf("pair %d: %d events", p, len(events)-3)
		}
	}
}

// A command that comes before the Continue, and a change of the pair, finish the unfinished command first: all its
// events come before theirs.
func TestUnfinishedCommandIsFinishedFirst(t *testing.T) {
	for name, next := range map[string]Command{
		"cancel":         {Kind: Cancel, Order: 99, First: true},
		"change of pair": {Kind: SetPair, Instrument: &Instrument{State: Halted}, First: true},
	} {
		c, whole := newWorkCore(t, 600), newWorkCore(t, 1<<20)
		sweep := Command{Price: 100, Amount: 1000, Account: 2, First: true}
		c.asks(1000, 100)
		whole.asks(1000, 100)
		got := c.send(sweep)
		got = c.Apply(&next, got)
		want := append(whole.send(sweep), whole.send(next)...)
		if c.Unfinished(0) || len(got) != len(want) {
			t.Fatalf("%s: %d events, want %d", name, len(got), len(want))
		}
		for i := range got {
			if got[i].Seq != want[i].Seq || got[i].Kind != want[i].Kind {
				t.Fatalf("%s: event %d is %+v, want %+v", name, i, got[i], want[i])
			}
		}
	}
}

// The check of a fill-or-kill order finds the same in parts, to the lot.
func TestFillOrKillInPartsIsExact(t *testing.T) {
	lots := func(t *testing.T, side Side, extra int64, own bool) (traded int64, parts int) {
		c := newWorkCore(t, MinPartEvents)
		for i := range int64(120) { // three levels of 40 lots: a part ends within a level
			price := 100 + i/40
			c.Apply(&Command{Side: side.Opposite(), Price: price, Amount: 1, Account: 1, First: true}, nil)
		}
		cmd := Command{Side: side, Price: 200, Amount: 120 + extra, Account: 2, TIF: FOK, STP: CancelMaker, First: true}
		far := int64(1)
		if side == Sell {
			cmd.Price, far = 1, 10_000
		}
		if own {
			c.Apply(&Command{Side: side, Price: far, Amount: 1, Account: 2, First: true}, nil)
		}
		events := c.send(cmd)
		for ; c.Unfinished(0); parts++ {
			events = append(events, c.send(Command{Kind: Continue, First: true})...)
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == EventTrade {
				traded += e.Amount
			}
		}
		return traded, parts
	}
	for _, own := range []bool{false, true} {
		for _, x := range []struct {
			side        Side
			extra, want int64
		}{
			{Buy, 0, 120},
			{Buy, 1, 0},
			{Sell, 0, 120},
			{Sell, 1, 0},
		} {
			traded, parts := lots(t, x.side, x.extra, own)
			if traded != x.want || parts < 2 && own {
				t.Errorf("own orders %t, %+v: %d lots in %d parts", own, x, traded, parts)
			}
		}
	}
}

// A stop that was triggered is a taker: while its part pauses, it does not wait any more.
func TestTriggeredStopDoesNotWait(t *testing.T) {
	c := newWorkCore(t, MinPartEvents)
	c.asks(2, 100)
	c.Apply(&Command{Type: StopLimit, Stop: 100, Price: 100, Amount: 50, Account: 2}, nil)
	c.asks(50, 100)
	c.send(Command{Price: 100, Amount: 1, Account: 3, First: true})
	for range 20 {
		if o, ok := c.Order(3); !ok || o.Type == Limit && o.Waiting != (o.Stop != 0) {
			t.Fatalf("%+v", o)
		}
		b := c.books[0]
		if b.unfinished != nil && b.unfinished.taker != nil {
			o, _ := c.Order(3)
			if b.unfinished.taker.n != 3 || o.Waiting || o.Client {
				t.Fatalf("%+v", o)
			}
			return
		}
		c.send(Command{Kind: Continue, First: true})
	}
	t.Fatal("the stop never pauses")
}

// The slots of orders are used again, together with their cold halves.
func TestSlotsOfOrdersAreUsedAgain(t *testing.T) {
	c := newWorkCore(t, 600)
	for i := range OrderID(100) {
		c.asks(1, 100)
		c.Apply(&Command{Kind: Cancel, Order: i + 1, Account: 1}, nil)
	}
	if q := c.books[0].orders; q.hot.Used() != 1 || q.cold.Used() != 1 {
		t.Errorf("one order at a time took %d and %d slots", q.hot.Used(), q.cold.Used())
	}
}

// Money buys as many lots as it pays for, at most what int64 holds.
func TestLotsFor(t *testing.T) {
	for _, x := range []struct {
		money fixed.U128
		price int64
		want  int64
	}{
		{fixed.FromU64(299), 100, 2},
		{fixed.FromU64(math.MaxInt64), 1, math.MaxInt64},
		{fixed.FromU64(math.MaxInt64 + 1), 1, math.MaxInt64},
		{fixed.FromU64(math.MaxUint64), 1, math.MaxInt64},
		{fixed.U128{Hi: 1}, 1, math.MaxInt64},
		{fixed.U128{Hi: 1}, 4, 1 << 62},
	} {
		if got := lotsFor(x.money, x.price); got != x.want {
			t.Errorf("%+v buys %d lots at %d, want %d", x.money, got, x.price, x.want)
		}
	}
}
