package engine_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// enough is money without an end.
type enough struct{ events int }

func (f *enough) Fold(events []engine.Event) { f.events += len(events) }

func (f *enough) Cover(engine.AccountID, engine.PairID, engine.Side, fixed.U128) engine.Reason {
	return engine.NotRejected
}

func (f *enough) Free(engine.AccountID, engine.PairID, engine.Side) fixed.U128 {
	return fixed.FromU64(1 << 60)
}

func (f *enough) Discount(engine.AccountID, engine.Side) uint32 { return 0 }

func (f *enough) Digits(string) (int, bool) { return 0, false }

// In steady state no command allocates: each kind is measured over more than 1,000
// distinct commands on a book of 2,000 orders.
func TestNoAllocations(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.core.SetFunds(&enough{})
	events := make([]engine.Event, 0, 1024)
	apply := func(cmd engine.Command) {
		m.now++
		cmd.TimeNs = m.now
		cmd.First = true
		events = m.core.Apply(&cmd, events[:0])
	}
	id := enginetest.ClientID(3, "x", "y")
	again := enginetest.ClientID(3, "again", "y")
	again.Reusable = true
	for i := range int64(6000) { // every pool has grown, and emptied again by a third
		c := place(engine.Buy, 500-i%200, 3)
		c.Account = engine.AccountID(i % 4)
		apply(c)
		c.Side, c.Price = engine.Sell, 501+i%200
		if i%3 == 0 {
			c.Display = 1
		}
		apply(c)
		if i > 1000 {
			apply(engine.Command{Kind: engine.Cancel, Order: engine.OrderID(2*i - 1800), Flags: engine.FlagAllAccount})
			apply(engine.Command{Kind: engine.Cancel, Order: engine.OrderID(2*i - 1799), Flags: engine.FlagAllAccount})
		}
	}
	i := int64(0)
	for name, run := range map[string]func(){
		"place": func() {
			c := place(engine.Buy, 300+i%150, 1+i%7)
			c.Account = engine.AccountID(i % 4)
			apply(c)
			apply(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0), Flags: engine.FlagAllAccount})
		},
		"cancel": func() {
			c := place(engine.Sell, 700+i%150, 1)
			apply(c)
			apply(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0)})
			apply(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0)}) // refused
		},
		"replace": func() {
			apply(place(engine.Buy, 250, 9))
			o := m.core.LastOrderID(0)
			apply(engine.Command{Kind: engine.Replace, Order: o, Flags: engine.FlagHasPrice, Price: 251 + i%40})
			apply(engine.Command{Kind: engine.Replace, Order: o, Flags: engine.FlagHasAmount, Amount: 8})
			apply(engine.Command{Kind: engine.Cancel, Order: o})
		},
		"match": func() {
			c := place(engine.Sell, 501, 2)
			c.Display = 1
			apply(c)
			apply(place(engine.Buy, 501+i%3, 5))
			c = place(engine.Buy, 501+i%3, 2)
			c.TIF = engine.FOK
			apply(c)
			apply(place(engine.Sell, 505, 9))
		},
		"market buy": func() {
			apply(place(engine.Sell, 501, 2))
			apply(engine.Command{Type: engine.Market, Amount: 2, Account: 3, STP: engine.CancelMaker})
		},
		"market stop": func() {
			apply(place(engine.Sell, 501, 2))
			apply(engine.Command{Type: engine.StopMarket, Stop: 502, Amount: 1, Account: 3})
			apply(place(engine.Sell, 502, 1))
			apply(engine.Command{Type: engine.Market, Amount: 3, Account: 2})
			apply(engine.Command{Kind: engine.CancelAll, Account: 3})
		},
		"stop": func() {
			c := place(engine.Sell, 400, 1)
			c.Type, c.Stop = engine.StopLimit, 100+i%60
			apply(c)
			apply(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0)})
		},
		"trailing": func() {
			apply(place(engine.Sell, 501, 1))
			apply(place(engine.Buy, 501, 1))
			for k := range int64(4) { // four extremes, which become one
				c := place(engine.Sell, 400, 1)
				c.Type, c.Trail = engine.TakeLimit, uint16(1500+(i*7+k)%300)
				apply(c)
				apply(place(engine.Sell, 500-k, 1))
				apply(place(engine.Buy, 500-k, 1))
			}
			o := m.core.LastOrderID(0)
			apply(engine.Command{
				Kind: engine.Replace, Order: o - 2, Flags: engine.FlagHasTrail, Trail: 20, Amount: 0,
			}) // triggers when the price falls
			apply(place(engine.Sell, 501, 1))
			apply(place(engine.Buy, 501, 1))
			apply(engine.Command{Kind: engine.CancelAll})
		},
		"client id": func() {
			c := place(engine.Buy, 250, 1)
			id.Hash[0], id.Content[0] = uint64(i), uint64(i)
			c.Client, c.Account, c.TIF = id, 3, engine.IOC
			apply(c)
			apply(c) // repeated
		},
		"client id again": func() {
			c := place(engine.Buy, 250, 1)
			c.Client, c.Account = again, 3
			apply(c)
			apply(c) // refused
			apply(engine.Command{Kind: engine.Cancel, Order: m.core.LastOrderID(0), Account: 3, Client: id})
		},
	} {
		for range 30_000 {
			i++
			run()
		}
		if n := testing.AllocsPerRun(2000, func() { i++; run() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if err := m.core.Check(); err != nil {
		t.Fatal(err)
	}
}
