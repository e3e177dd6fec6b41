package main

import (
	"cmp"
	"fmt"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/sim"
)

// This file converts the configuration to the options of the components. validate uses the results to let the
// components check them; the start passes the same results to the components.

func (c *Config) engineOptions() engine.Options {
	return engine.Options{
		OpenOrders: c.Engine.OpenOrders, AccountOrders: c.Engine.AccountOrders,
		// Set the default explicitly: in a data directory, 0 means a program that did not have this limit.
		AccountStops: cmp.Or(c.Engine.AccountStops, engine.DefaultAccountStops),
	}
}

func (c *Config) marketOptions() marketdata.Options {
	o := marketdata.Options{Retention: marketdata.Retention{
		TradesMin: c.Market.TradesMin, TradesMax: c.Market.TradesMax,
		ClosedOrders: c.Orders.ClosedKept, Fills: c.Orders.FillsKept,
	}}
	copy(o.Candles[:], c.Market.CandlesKept)
	return o
}

// simulated reports whether the exchange has a simulated market.
func (c *Config) simulated() bool { return c.Sim.Enabled && c.Market.Pairs != pairsNone }

// simOptions returns the options of the simulated market that uses core and opens at startNs.
func (c *Config) simOptions(core *engine.Core, startNs int64) (sim.Options, error) {
	o := sim.Options{
		Core: core, Seed: uint64(c.Sim.Seed), StartNs: startNs,
		Intensity: c.Sim.Intensity, Scenario: sim.Scenario(c.Sim.Scenario),
	}
	if o.Scenario == "none" {
		o.Scenario = sim.Ordinary
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if !p.Reference.given() {
			continue // the pair is configured but has no simulated agents
		}
		ticks, exact, fits := fixed.Units(p.Reference.value(), p.DigitsPrice)
		if !exact || !fits {
			return o, fmt.Errorf("pairs: %s: reference %s is no multiple of the tick", p.Code, p.Reference)
		}
		o.Pairs = append(o.Pairs, sim.Pair{Code: p.Code, Reference: ticks, Weight: max(p.Weight, 1)})
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("pairs: %w", err)
	}
	return o, nil
}
