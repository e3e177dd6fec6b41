package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// BenchmarkE4 is the largest single commands against the same work done one by one: a
// sweep of 5,000 orders, a mass cancel of 10,000 in its parts. The built-in account's
// orders are found by the index, another's by its list; the orders of the mass cancel lie
// between as many of somebody else.
func BenchmarkE4(b *testing.B) {
	for _, x := range []struct {
		name    string
		account engine.AccountID
		n       int
		at      func(i int64) int64
		one     func(r *coreRun, account engine.AccountID, i int)
		all     func(r *coreRun, account engine.AccountID)
	}{
		{"sweep", 0, 5000, func(int64) int64 { return 1000 }, sweepOne, sweepAll},
		{"cancel-builtin", 0, 10_000, func(i int64) int64 { return 1 + i*7919%400 }, cancelOne, massCancel},
		{"cancel-account", 3, 10_000, func(i int64) int64 { return 1 + i*7919%400 }, cancelOne, massCancel},
	} {
		b.Run(x.name, func(b *testing.B) {
			build := func() *coreRun {
				r := newCoreRun()
				r.events = make([]engine.Event, 0, 32<<10)
				for i := range int64(x.n) {
					c := place(engine.Buy, x.at(i), 1)
					c.Account = x.account
					r.apply(c)
					if x.name != "sweep" {
						c.Account = 9
						r.apply(c)
					}
				}
				return r
			}
			for b.Loop() {
				var ratios, ones, alls []float64
				for range 15 {
					r := build()
					start := time.Now()
					for i := range x.n {
						x.one(r, x.account, i)
					}
					single := time.Since(start)
					q := build()
					start = time.Now()
					x.all(q, x.account)
					whole := time.Since(start)
					ones = append(ones, float64(single))
					alls = append(alls, float64(whole))
					ratios = append(ratios, float64(whole)/float64(single))
					if q.core.OpenOrders(0) != r.core.OpenOrders(0) || q.stats != r.stats {
						b.Fatal("the work is not the same")
					}
				}
				slices.Sort(ratios)
				b.ReportMetric(slices.Min(alls)/slices.Min(ones), "x-best-rounds")
				b.ReportMetric(slices.Min(alls)/1000, "whole-us")
				b.ReportMetric(ratios[0], "x-single-min")
				b.ReportMetric(ratios[len(ratios)/2], "x-single-median")
				b.ReportMetric(ratios[len(ratios)-1], "x-single-max")
			}
		})
	}
}

func (r *coreRun) apply(cmd engine.Command) {
	cmd.First = true
	r.events = r.core.Apply(&cmd, r.events[:0])
	r.Read()
	next := engine.Command{Kind: engine.Continue, First: true}
	for r.core.Unfinished(0) {
		r.events = r.core.Apply(&next, r.events[:0])
		r.Read()
	}
}

func sweepOne(r *coreRun, _ engine.AccountID, _ int) { r.apply(place(engine.Sell, 1000, 1)) }

func sweepAll(r *coreRun, _ engine.AccountID) { r.apply(place(engine.Sell, 1000, 5000)) }

func cancelOne(r *coreRun, account engine.AccountID, i int) {
	r.apply(engine.Command{Kind: engine.Cancel, Order: engine.OrderID(2*i + 1), Account: account})
}

func massCancel(r *coreRun, account engine.AccountID) {
	r.apply(engine.Command{Kind: engine.CancelAll, Account: account, Order: r.core.LastOrderID(0)})
}

// BenchmarkTrailing is a trade beside orders that trail, of many extremes and trails. The price goes up and down by a
// few ticks beside orders of both sides; or it rises with each trade, so that each is a new extreme of the sells.
func BenchmarkTrailing(b *testing.B) {
	for _, rises := range []bool{false, true} {
		for _, n := range []int{0, 100, 1000, 20_000} {
			b.Run(fmt.Sprintf("rises=%t/%d", rises, n), func(b *testing.B) { benchmarkTrailing(b, rises, n) })
		}
	}
}

func benchmarkTrailing(b *testing.B, rises bool, n int) {
	r := newCoreRun()
	at := int64(1_000_000)
	trade := func(i int) {
		price := at + int64(40*(i%50)-79*(i%25))
		if rises {
			price = at
			at++
		}
		r.apply(place(engine.Sell, price, 1))
		r.apply(place(engine.Buy, price, 1))
	}
	for i := range n {
		side := engine.Side(i % 2)
		if rises {
			side = engine.Sell
			at -= 2 // of the next trades each is below all extremes
		}
		if i%3 == 0 {
			trade(i)
		}
		r.apply(engine.Command{
			Type: engine.StopMarket, TIF: engine.IOC, Side: side, Amount: 1, Trail: uint16(1000 + i*7919%1000),
		})
	}
	from, i := cpuNs(), 0
	for b.Loop() {
		trade(i)
		i++
	}
	b.ReportMetric(float64(cpuNs()-from)/float64(i), "cpu-ns/trade")
	if waiting := r.core.OpenOrders(0); waiting < n {
		b.Fatalf("%d of %d orders wait", waiting, n)
	}
}
