package main

import (
	"fmt"
	"strings"
	"sync/atomic"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/server"
)

// gate is the route to the loop, which exists only once the market is up to date. Any
// goroutine may use it.
type gate struct {
	loop atomic.Pointer[sequencer.Loop]
	// advanced runs after the market, when the clock has been moved.
	advanced func() error
}

func (g *gate) set(l *sequencer.Loop) { g.loop.Store(l) }

// Submit submits a batch to the loop.
func (g *gate) Submit(b *sequencer.Batch) error {
	if l := g.loop.Load(); l != nil {
		return l.Submit(b)
	}
	return sequencer.ErrUnavailable
}

// Query runs fn on the loop's goroutine.
func (g *gate) Query(fn func()) error {
	if l := g.loop.Load(); l != nil {
		return l.Query(fn)
	}
	return sequencer.ErrUnavailable
}

// AdvanceTo moves the virtual clock.
func (g *gate) AdvanceTo(ns int64) error {
	l := g.loop.Load()
	if l == nil {
		return sequencer.ErrUnavailable
	}
	if err := l.AdvanceTo(ns); err != nil {
		return err
	}
	return g.advanced()
}

// configure adds the configured assets and pairs that do not exist yet. Existing ones keep
// their settings.
func (x *exchange) configure(loop *sequencer.Loop) error {
	if x.cfg.Market.Pairs == pairsNone {
		return nil
	}
	root := x.feed.Board().Load()
	var b sequencer.Batch
	var differ []string
	for i := range x.cfg.Assets {
		a := x.cfg.Assets[i].asset()
		if had := root.Asset(a.Symbol); had != nil && *had != *a {
			differ = append(differ, a.Symbol)
		} else if had == nil {
			b.Commands = append(b.Commands, engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: a})
		}
	}
	for i := range x.cfg.Pairs {
		ins, err := x.cfg.Pairs[i].instrument()
		if err != nil {
			return err
		}
		if v := root.Lookup(ins.Code); v != nil && !sameTerms(*v.Instrument, *ins) {
			differ = append(differ, ins.Code)
		} else if v == nil {
			b.Commands = append(b.Commands, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
		}
	}
	if len(differ) > 0 {
		x.log.Info("the data directory keeps its own settings of pairs and assets that the configuration sets otherwise: "+
			"PATCH /internal/v1/pairs/CODE and /internal/v1/assets/CODE change them", "of", strings.Join(differ, " "))
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

// sameTerms reports whether a pair has the configured terms: every field except its state,
// which changes in operation, and the fields that the core assigns.
func sameTerms(had, want engine.Instrument) bool {
	want.ID, want.CreatedNs, want.State = had.ID, had.CreatedNs, had.State
	return had == want
}

// commissions returns the configured deposit and withdrawal records.
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
				panic("BUG: config: an unchecked rate: " + err.Error()) // AssetConfig.validate checks it
			}
			all = append(all, server.AssetCommission{
				Type: r.kind, Currency: a.Symbol, Adapter: a.Adapter, Percent: percent, Minimum: r.minimum.value(),
			})
		}
	}
	return all
}
