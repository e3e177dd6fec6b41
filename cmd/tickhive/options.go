package main

import (
	"fmt"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/forward"
	"github.com/tickhive/tickhive/sim"
)

// exchangeOptions returns the options of an exchange. c is valid, so each section means something.
func (c *Config) exchangeOptions(p *program, quiet bool) (exchange.Options, error) {
	log, err := newLogging(p.err, c.Log.Level, c.Log.Format)
	if err != nil {
		return exchange.Options{}, err
	}
	o := exchange.Options{
		Server: c.Server, Aggregator: c.Aggregator, Binance: c.Binance, Internal: c.Internal, Rate: c.Rate,
		Auth:    c.Auth,
		Journal: exchange.JournalOptions{JournalConfig: c.Journal},
		Cluster: exchange.ClusterOptions{ClusterConfig: c.Cluster, Key: c.ring},
		Sim:     c.simulation(),
		Clock:   meant(c.Clock.options()),
		Log:     log.Logger, LogLevel: &log.level, Files: cmdline.FileLimit(), Dir: c.Data.Dir,
		Progress:  func(name string) exchange.Progress { return newProgress(p.err, name, "", quiet) },
		Stream:    exchange.StreamOptions{Sim: c.simText(), Durable: !c.Stream.TrustLazy},
		Faults:    meant(c.Faults.all()),
		Engine:    engine.Options{Limits: c.Engine},
		Market:    marketdata.Options{Retention: c.Market.Retention(c.Orders)},
		Accounts:  accounts.Settings{Commissions: c.commissions(), Referral: meant(c.Referral.Rates())},
		Launchpad: meant(c.Launchpad.Options()),
		Hive:      meant(c.Hive.Options()),
	}
	o.Cluster.KeyFile, o.Clock.Recorded = c.keyFile(), c.recorded
	o.Assets, o.Pairs = c.instruments()
	if c.Journal.Stream != "" {
		o.Stream.Open, o.Stream.Quorum = c.openStream, c.Journal.Ack == exchange.AckQuorum
	}
	if isTerminal(p.out) {
		o.DemoKey = p.showDemoKey
	}
	return o, c.openFiles(&o)
}

// openFiles reads the certificates.
func (c *Config) openFiles(o *exchange.Options) (err error) {
	if c.TLS.Cert != "" {
		if o.Certificates.Public, err = conn.NewCertificate("tls", c.TLS.Cert, c.TLS.Key, time.Now); err != nil {
			return usageError{Err: err}
		}
	}
	if c.Internal.Cert != "" {
		o.Certificates.Internal, err = conn.NewCertificate("internal", c.Internal.Cert, c.Internal.Key, time.Now)
		if err != nil {
			return usageError{Err: err}
		}
	}
	if c.Cluster.CA != "" {
		if o.Cluster.Roots, err = forward.Roots(c.Cluster.CA); err != nil {
			return usageError{Err: fmt.Errorf("cluster.ca: %w", err)}
		}
	}
	return nil
}

// meant returns what a section means; validate has refused a section that means nothing.
func meant[T any](v T, err error) T {
	if err != nil {
		panic("BUG: config: not validated: " + err.Error())
	}
	return v
}

// simulated reports whether the exchange has a simulated market.
func (c *Config) simulated() bool { return c.Sim.Enabled && c.Market.Pairs != pairsNone }

// simulation returns the options of the simulated market. The launchpad's ledger uses the seed even without a
// simulated market.
func (c *Config) simulation() exchange.SimOptions {
	o := exchange.SimOptions{SimConfig: c.Sim, SeedGiven: c.given["sim.seed"]}
	if o.Enabled = c.simulated(); o.Enabled {
		o.Pairs = meant(c.simPairs())
	}
	return o
}

// simPairs returns the pairs of the simulated market. A pair without a reference is configured but has no simulated
// agents.
func (c *Config) simPairs() (pairs []sim.Pair, err error) {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if !p.Reference.Given() {
			continue
		}
		ticks, exact, fits := fixed.Units(p.Reference.Value(), p.DigitsPrice)
		if !exact || !fits {
			return nil, fmt.Errorf("pairs: %s: reference %s is no multiple of the tick", p.Code, p.Reference)
		}
		pairs = append(pairs, sim.Pair{Code: p.Code, Reference: ticks, Weight: max(p.Weight, 1)})
	}
	// Without the section's behaviour, whose keys have their own limits.
	o := sim.Options{Core: new(engine.Core), Pairs: pairs}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("pairs: %w", err)
	}
	return pairs, nil
}

// instruments converts the configured assets and pairs to the engine's form.
func (c *Config) instruments() (assets []*engine.Asset, pairs []*engine.Instrument) {
	if c.Market.Pairs == pairsNone {
		return nil, nil
	}
	for i := range c.Assets {
		assets = append(assets, c.Assets[i].asset())
	}
	for i := range c.Pairs {
		pairs = append(pairs, meant(c.Pairs[i].instrument()))
	}
	return assets, pairs
}

// commissions returns the configured deposit and withdrawal commissions.
func (c *Config) commissions() []accounts.Commission {
	var all []accounts.Commission
	if c.Market.Pairs == pairsNone {
		return nil
	}
	for i := range c.Assets {
		a := &c.Assets[i]
		for _, r := range []struct {
			withdrawal    bool
			rate, minimum setting.Decimal
		}{
			{false, a.RefillRate, a.RefillMin},
			{true, a.WithdrawRate, a.WithdrawMin},
		} {
			all = append(all, accounts.Commission{
				Withdrawal: r.withdrawal, Currency: a.Symbol, Adapter: a.Adapter,
				CommissionRule: accounts.CommissionRule{Percent: meant(r.rate.Rate()), Minimum: r.minimum.Value()},
			})
		}
	}
	return all
}
