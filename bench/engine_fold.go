package bench

import (
	"fmt"
	"runtime"

	"tickhive/bench/proc"
	"tickhive/engine"
	"tickhive/marketdata"
)

// publishEvery is the number of commands between two publications of views
// (docs/internals/performance.md#e5).
const publishEvery = 64

// newFolded returns a core run whose events are folded by a feed. With market, the feed has no order history.
func newFolded(market bool) *coreRun {
	feed := marketdata.NewFeed(marketdata.Options{NoOrders: market})
	n := 0
	return newCoreRun(func(events []engine.Event) {
		feed.Fold(events)
		if n++; n%publishEvery == 0 {
			feed.Publish(events[0].TimeNs)
		}
	})
}

// worstCase compares one large command with the same work in many small commands.
type worstCase struct {
	name    string
	account engine.AccountID
	n       int
	price   func(i int64) int64
	one     func(c *coreRun, account engine.AccountID, i int)
	all     func(c *coreRun, account engine.AccountID)
}

// worstCommands measures how long one large command holds the loop, compared with the same work in small
// commands (docs/internals/performance.md#e4).
func worstCommands(r *Run) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spread := func(i int64) int64 { return 1 + i*7919%400 }
	for _, x := range []worstCase{
		{"sweep of 5,000 orders", 0, 5000, func(int64) int64 { return 1000 }, sweepOne, sweepAll},
		{"mass cancel of 10,000, built-in account", 0, 10_000, spread, cancelOne, massCancel},
		{"mass cancel of 10,000, one account of two", 3, 10_000, spread, cancelOne, massCancel},
	} {
		m := r.S.Cost(x.name, "us",
			fmt.Sprintf("a mass cancel comes in parts of %d", engine.CancelAllPart),
		).Against("one by one").Aim("E4", 1.1)
		for range 3 * r.Rounds {
			single, whole := x.build(), x.build()
			runtime.GC()
			start := proc.ThreadCPU()
			for i := range x.n {
				x.one(single, x.account, i)
			}
			middle := proc.ThreadCPU()
			x.all(whole, x.account)
			m.Round(float64(proc.ThreadCPU()-middle)/1e3, float64(middle-start)/1e3)
			if whole.core.OpenOrders(0) != single.core.OpenOrders(0) || whole.stats != single.stats {
				return fmt.Errorf("%s: the work is not the same", x.name)
			}
		}
	}
	return nil
}

// build returns a book of n orders. For a mass cancel, as many orders of another account lie between them.
func (x *worstCase) build() *coreRun {
	c := newCoreRun(nil)
	c.events = make([]engine.Event, 0, 32<<10)
	for i := range int64(x.n) {
		for _, account := range []engine.AccountID{x.account, 9} {
			if account == 9 && x.price(0) == x.price(1) {
				continue
			}
			c.apply(&engine.Command{Side: engine.Buy, Price: x.price(i), Amount: 1, Account: account})
		}
	}
	return c
}

func sweepOne(c *coreRun, _ engine.AccountID, _ int) {
	c.apply(&engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 1000, Amount: 1})
}

func sweepAll(c *coreRun, _ engine.AccountID) {
	c.apply(&engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 1000, Amount: 5000})
}

func cancelOne(c *coreRun, account engine.AccountID, i int) {
	c.apply(&engine.Command{Kind: engine.Cancel, Order: engine.OrderID(2*i + 1), Account: account})
}

func massCancel(c *coreRun, account engine.AccountID) {
	bound := c.core.LastOrderID(0)
	for n := engine.CancelAllPart; n == engine.CancelAllPart; {
		c.apply(&engine.Command{Kind: engine.CancelAll, Account: account, Order: bound})
		n = 0
		for i := range c.events {
			if c.events[i].Kind == engine.EventCanceled {
				n++
			}
		}
	}
}
