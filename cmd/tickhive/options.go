package main

import (
	"errors"
	"fmt"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/cmdline"
	"tickhive/internal/exchange"
	"tickhive/internal/fault"
	"tickhive/internal/fixed"
	"tickhive/launchpad"
	"tickhive/server/conn"
	"tickhive/server/forward"
)

// exchangeOptions converts a validated configuration to the options of the exchange.
func (c *Config) exchangeOptions(p *program, quiet bool) (exchange.Options, error) {
	log, err := newLogging(p.err, c.Log.Level, c.Log.Format)
	if err != nil {
		return exchange.Options{}, err
	}
	o := exchange.Options{
		Log: log.Logger, LogLevel: &log.level, Files: cmdline.FileLimit(), Dir: c.Data.Dir,
		Progress: func(name string) exchange.Progress { return newProgress(p.err, name, "", quiet) },
		Public:   c.publicOptions(),
		Internal: exchange.InternalOptions{
			Listen: c.Internal.Listen, Hosts: c.Internal.Hosts,
			Token: c.Internal.Token, TokenFile: c.Internal.TokenFile,
		},
		Engine: c.engineOptions(), Market: c.marketOptions(),
		SecretKeyFile: c.Auth.SecretKey,
		Hive:          hive.DefaultOptions(),
	}
	if c.TLS.Cert != "" {
		if o.Public.Certificate, err = conn.NewCertificate("tls", c.TLS.Cert, c.TLS.Key, time.Now); err != nil {
			return exchange.Options{}, usageError{Err: err}
		}
	}
	if c.Internal.Cert != "" {
		o.Internal.Certificate, err = conn.NewCertificate("internal", c.Internal.Cert, c.Internal.Key, time.Now)
		if err != nil {
			return exchange.Options{}, usageError{Err: err}
		}
	}
	o.Cluster = exchange.ClusterOptions{Advertise: c.Cluster.Advertise, KeyFile: c.keyFile(), Key: c.ring}
	if c.Cluster.CA != "" {
		if o.Cluster.Roots, err = forward.Roots(c.Cluster.CA); err != nil {
			return exchange.Options{}, usageError{Err: fmt.Errorf("cluster.ca: %w", err)}
		}
	}
	if isTerminal(p.out) {
		o.DemoKey = p.showDemoKey
	}
	var errs [8]error
	o.Journal, errs[0] = c.journalOptions()
	if c.Journal.Stream != "" {
		o.Stream = exchange.StreamOptions{Open: c.openStream, Quorum: c.Journal.Ack == ackQuorum}
	}
	o.Stream.Sim, o.Stream.Durable = c.simText(), !c.Stream.TrustLazy
	o.Clock, errs[1] = c.clockOptions()
	o.Sim, errs[2] = c.simulation()
	o.Accounts, errs[3] = c.accountSettings()
	o.Launchpad, errs[4] = c.launchpadOptions()
	o.Hive.QuorumCents, errs[5] = c.quorum()
	o.Assets, o.Pairs, errs[6] = c.instruments()
	o.Faults, errs[7] = c.faultRules()
	return o, errors.Join(errs[:]...)
}

func (c *Config) publicOptions() exchange.PublicOptions {
	return exchange.PublicOptions{
		Listen: c.Server.Listen, AggregatorListen: c.Aggregator.Listen, AggregatorHost: c.Aggregator.Host,
		BinanceListen:  c.Binance.Listen,
		TrustedProxies: c.Server.TrustedProxies, ConnectionsPerIP: c.Server.ConnectionsPerIP,
		Connections: c.Server.Connections,
		ReadTimeout: time.Duration(c.Server.ReadTimeout), WriteTimeout: time.Duration(c.Server.WriteTimeout),
		IdleTimeout: time.Duration(c.Server.IdleTimeout),
		Rate: exchange.RateOptions{
			PerMinute: c.Rate.PerMinute, PerSecond: c.Rate.PerSecond, VotesPerMinute: c.Rate.VotesPerMinute,
			Clients: c.Rate.Clients, Allow: c.Rate.Allow, Market: c.Rate.Market, Account: c.Rate.Account,
		},
		Legacy: c.Auth.Legacy, PublicURL: c.Auth.PublicURL,
	}
}

func (c *Config) journalOptions() (exchange.JournalOptions, error) {
	policy, err := sequencer.ParseSyncPolicy(c.Journal.Sync)
	if err != nil {
		err = fmt.Errorf("journal.sync: %w", err)
	}
	return exchange.JournalOptions{
		Sync: policy, KeepAll: c.Journal.Keep == "all", SegmentBytes: c.Journal.SegmentBytes,
		SnapshotBytes: c.Journal.SnapshotBytes, SnapshotEvery: time.Duration(c.Journal.SnapshotEvery),
		ScrubEvery: time.Duration(c.Journal.ScrubEvery),
	}, err
}

func (c *Config) clockOptions() (exchange.ClockOptions, error) {
	o := exchange.ClockOptions{Virtual: c.Clock.Mode == clockVirtual, Recorded: c.recorded}
	if c.Clock.Start == "" {
		return o, nil
	}
	var err error
	o.StartNs, err = c.clockStart()
	o.StartGiven = true
	return o, err
}

// simulation returns the options of the simulated market. The launchpad's ledger uses the seed even without a
// simulated market.
func (c *Config) simulation() (exchange.SimOptions, error) {
	o := exchange.SimOptions{
		Enabled: c.simulated(), Seed: uint64(c.Sim.Seed), SeedGiven: c.given["sim.seed"],
		Backfill: time.Duration(c.Sim.Backfill),
	}
	if !o.Enabled {
		return o, nil
	}
	so, err := c.simOptions(new(engine.Core), 0) // the pairs depend neither on the core nor on the start
	o.Pairs, o.Intensity, o.Scenario = so.Pairs, so.Intensity, so.Scenario
	return o, err
}

// instruments converts the configured assets and pairs to the engine's form.
func (c *Config) instruments() (assets []*engine.Asset, pairs []*engine.Instrument, err error) {
	if c.Market.Pairs == pairsNone {
		return nil, nil, nil
	}
	for i := range c.Assets {
		assets = append(assets, c.Assets[i].asset())
	}
	for i := range c.Pairs {
		ins, err := c.Pairs[i].instrument()
		if err != nil {
			return nil, nil, err
		}
		pairs = append(pairs, ins)
	}
	return assets, pairs, nil
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
			rate, minimum Decimal
		}{
			{false, a.RefillRate, a.RefillMin},
			{true, a.WithdrawRate, a.WithdrawMin},
		} {
			percent, err := r.rate.rate()
			if err != nil {
				// cannot happen: AssetConfig.validate has checked the rates
				panic("BUG: config: an unchecked rate: " + err.Error())
			}
			all = append(all, accounts.Commission{
				Withdrawal: r.withdrawal, Currency: a.Symbol, Adapter: a.Adapter,
				CommissionRule: accounts.CommissionRule{Percent: percent, Minimum: r.minimum.value()},
			})
		}
	}
	return all
}

// accountSettings returns the commissions of withdrawals and the rates of the referral program. A currency without a
// configured commission is free, as GET commissions reports it.
func (c *Config) accountSettings() (accounts.Settings, error) {
	rates, err := c.referral()
	return accounts.Settings{Commissions: c.commissions(), Referral: rates}, err
}

// referral returns the configured rates of the referral program.
func (c *Config) referral() (accounts.Config, error) {
	var errs []error
	rate := func(name string, d Decimal) uint32 {
		v, err := d.rate()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return v
	}
	r := accounts.Config{BonusShare: rate("referral.bonus_share", c.Referral.BonusShare)}
	for _, d := range c.Referral.Levels {
		r.Levels = append(r.Levels, rate("referral.levels", d))
	}
	for i := range min(len(c.Referral.Staking), len(r.Staking)) {
		r.Staking[i] = rate("referral.staking", c.Referral.Staking[i])
	}
	if len(errs) > 0 {
		return r, errors.Join(errs...)
	}
	return r, r.Validate()
}

// launchpadOptions returns the configured fee, cooldown and USD rate of the launchpad.
func (c *Config) launchpadOptions() (launchpad.Options, error) {
	o := launchpad.DefaultOptions()
	var feeErr, rateErr error
	o.Fee, feeErr = launchpad.ParseAmount(string(c.Launchpad.Fee))
	o.NativeUSD, rateErr = launchpad.ParseAmount(string(c.Launchpad.NativeUSD))
	o.CooldownNs = int64(c.Launchpad.Cooldown)
	if feeErr != nil {
		return o, fmt.Errorf("launchpad.fee: %w", feeErr)
	}
	if rateErr != nil {
		return o, fmt.Errorf("launchpad.native_usd: %w", rateErr)
	}
	return o, o.Validate()
}

// quorum returns hive.quorum in hundredths.
func (c *Config) quorum() (int64, error) {
	cents, exact, fits := fixed.Units(c.Hive.Quorum.value(), 2)
	o := hive.DefaultOptions()
	o.QuorumCents = cents
	if err := o.Validate(); err != nil || !exact || !fits {
		return 0, fmt.Errorf("hive.quorum: %s must be from 0 to 10^9 with at most two fractional digits", c.Hive.Quorum)
	}
	return cents, nil
}

// faultRules returns the fault rules that are in force from the start.
func (c *Config) faultRules() ([]fault.Rule, error) {
	rules, err := fault.ParseAll(c.Faults.Rules)
	if err != nil {
		return nil, fmt.Errorf("faults.rules: %w", err)
	}
	if c.Faults.Scenario != "" {
		more, err := fault.Scenario(c.Faults.Scenario, uint64(c.Faults.Seed), 0)
		if err != nil {
			return nil, fmt.Errorf("faults.scenario: %w", err)
		}
		rules = append(rules, more...)
	}
	if len(rules) > fault.MaxRules {
		return nil, fmt.Errorf("faults.rules: %d rules, at most %d", len(rules), fault.MaxRules)
	}
	return rules, nil
}
