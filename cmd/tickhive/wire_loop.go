package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/server"
)

// gate is the way to the loop, which is there only once the market is up to date. Any
// goroutine may use it.
type gate struct{ loop atomic.Pointer[engine.Loop] }

func (g *gate) set(l *engine.Loop) { g.loop.Store(l) }

// Submit hands a batch to the loop.
func (g *gate) Submit(b *engine.Batch) error {
	if l := g.loop.Load(); l != nil {
		return l.Submit(b)
	}
	return engine.ErrUnavailable
}

// Query runs fn on the loop's goroutine.
func (g *gate) Query(fn func()) error {
	if l := g.loop.Load(); l != nil {
		return l.Query(fn)
	}
	return engine.ErrUnavailable
}

// AdvanceTo moves the virtual clock.
func (g *gate) AdvanceTo(ns int64) error {
	if l := g.loop.Load(); l != nil {
		return l.AdvanceTo(ns)
	}
	return engine.ErrUnavailable
}

// newLoop makes a loop over core and feed; one at a time may run.
func (x *exchange) newLoop(c clock.Clock) *engine.Loop {
	return engine.NewLoop(engine.LoopOptions{
		Core: x.core, Clock: c, Sinks: []engine.Sink{x.feed.Sink(), x.hub}, Sources: x.sources(c),
		StartNs: x.feed.Board().Load().NowNs,
	})
}

// configure adds the configured assets and pairs that are not there yet.
func (x *exchange) configure(loop *engine.Loop) error {
	if x.cfg.Market.Pairs == pairsNone {
		return nil
	}
	root := x.feed.Board().Load()
	var b engine.Batch
	for i := range x.cfg.Assets {
		a := x.cfg.Assets[i].asset()
		if root.Asset(a.Symbol) == nil {
			b.Commands = append(b.Commands, engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: a})
		}
	}
	for i := range x.cfg.Pairs {
		ins, err := x.cfg.Pairs[i].instrument()
		if err != nil {
			return err
		}
		if root.Lookup(ins.Code) == nil {
			b.Commands = append(b.Commands, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
		}
	}
	refused := engine.NotRejected
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		if events[0].Kind == engine.EventRejected {
			refused = events[0].Reason
		}
	}
	if err := loop.Submit(&b); err != nil {
		return fmt.Errorf("configured pairs: %w", err)
	}
	if refused != engine.NotRejected {
		return fmt.Errorf("configured pairs: the engine refuses one: %s", refused)
	}
	return nil
}

// backfill lets the simulated market live the configured time before now, on a clock of
// its own. It does nothing without a simulation.
func (x *exchange) backfill() error {
	span := int64(x.cfg.Sim.Backfill)
	if span == 0 || !x.cfg.Sim.Enabled {
		return nil
	}
	manual, virtual := x.clock.(*clock.Manual)
	end := x.clock.NowNs()
	if virtual {
		end += span // makeClock put it back by the span
	} else {
		manual = clock.NewManual(end - span)
	}
	loop := x.newLoop(manual)
	go loop.Run()
	defer loop.Stop()
	if err := x.configure(loop); err != nil {
		return err
	}
	bar := newProgress(x.p.err, "backfill", span, x.quiet)
	defer bar.end()
	for at := end - span; at < end; {
		at = min(at+int64(backfillStep), end)
		if err := loop.AdvanceTo(at); err != nil {
			return fmt.Errorf("backfill: %w", err)
		}
		if at == end && !virtual {
			// The machine's clock went on meanwhile.
			if end = x.clock.NowNs(); end-at < int64(100*time.Millisecond) {
				end = at
			}
		}
		x.progress.Store(min(1_000_000, (at-(end-span))/max(span/1_000_000, 1)))
		bar.set(at - (end - span))
	}
	return nil
}

// backfillStep is how much simulated time passes between two looks at the progress.
const backfillStep = 10 * time.Minute

// commissions are the configured deposit and withdrawal records.
func (c *Config) commissions() []server.AssetCommission {
	var all []server.AssetCommission
	if c.Market.Pairs == pairsNone {
		return nil
	}
	for i := range c.Assets {
		a := &c.Assets[i]
		for _, r := range []struct {
			kind          int
			rate, minimum Decimal
		}{
			{server.CommissionRefill, a.RefillRate, a.RefillMin},
			{server.CommissionWithdrawal, a.WithdrawRate, a.WithdrawMin},
		} {
			percent, err := r.rate.rate()
			if err != nil {
				panic("BUG: config: an unchecked rate: " + err.Error())
			}
			all = append(all, server.AssetCommission{
				Type: r.kind, Currency: a.Symbol, Adapter: a.Adapter, Percent: percent, Minimum: r.minimum.value(),
			})
		}
	}
	return all
}
