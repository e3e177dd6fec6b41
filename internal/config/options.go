package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// Options returns the options of an exchange. Log, progress and the key of the demo are left to the caller. c is valid,
// so each section means something.
func (c *Config) Options() (exchange.Options, error) {
	o := exchange.Options{
		Server: c.Server, Aggregator: c.Aggregator, Binance: c.Binance, Internal: c.Internal, Rate: c.Rate,
		Auth:      c.Auth,
		Journal:   exchange.JournalOptions{JournalConfig: c.Journal},
		Cluster:   exchange.ClusterOptions{ClusterConfig: c.Cluster, Key: c.ring},
		Sim:       c.simulation(),
		Clock:     meant(c.Clock.options()),
		Files:     cmdline.FileLimit(),
		Dir:       c.Data.Dir,
		Stream:    exchange.StreamOptions{Sim: c.simText(), Durable: !c.Stream.TrustLazy},
		Faults:    meant(c.Faults.all()),
		Engine:    engine.Options{Limits: c.Engine},
		Market:    marketdata.Options{Retention: c.Market.Retention(c.Orders)},
		Accounts:  accounts.Settings{Commissions: c.commissions(), Referral: meant(c.Referral.Rates())},
		Launchpad: meant(c.Launchpad.Options()),
		Hive:      meant(c.Hive.Options()),
	}
	o.Cluster.KeyFile = c.KeyFile()
	o.Assets, o.Pairs = c.instruments()
	if c.Journal.Stream != "" {
		o.Stream.Open, o.Stream.Quorum = c.openStream, c.Journal.Ack == exchange.AckQuorum
	}
	return o, c.openFiles(&o)
}

// openFiles reads the certificates.
func (c *Config) openFiles(o *exchange.Options) error {
	for _, read := range c.files(o) {
		if err := read(); err != nil {
			return cmdline.UsageError{Err: err}
		}
	}
	return nil
}

// CheckFiles returns what is wrong with the certificates that the configuration names, an error for each.
func (c *Config) CheckFiles() (wrong []error) {
	for _, read := range c.files(new(exchange.Options)) {
		if err := read(); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// files returns what reads each of the certificates that are set into o.
func (c *Config) files(o *exchange.Options) (all []func() error) {
	for _, t := range []struct {
		section, cert, key string
		to                 **conn.Certificate
	}{
		{"tls", c.TLS.Cert, c.TLS.Key, &o.Certificates.Public},
		{"internal", c.Internal.Cert, c.Internal.Key, &o.Certificates.Internal},
	} {
		if t.cert != "" {
			all = append(all, func() (err error) {
				*t.to, err = conn.NewCertificate(t.section, t.cert, t.key, time.Now)
				return err
			})
		}
	}
	if c.Cluster.CA != "" {
		all = append(all, func() (err error) {
			if o.Cluster.Roots, err = forward.Roots(c.Cluster.CA); err != nil {
				return fmt.Errorf("cluster.ca: %w", err)
			}
			return nil
		})
	}
	return all
}

// meant returns what a section means; validate has refused a section that means nothing.
func meant[T any](v T, err error) T {
	if err != nil {
		panic("BUG: config: not validated: " + err.Error())
	}
	return v
}

// Simulated reports whether the exchange has a simulated market.
func (c *Config) Simulated() bool { return c.Sim.Enabled && c.Market.Pairs != PairsNone }

// simulation returns the options of the simulated market. The launchpad's ledger uses the seed even without a
// simulated market.
func (c *Config) simulation() exchange.SimOptions {
	o := exchange.SimOptions{SimConfig: c.Sim, SeedGiven: c.given["sim.seed"]}
	if o.Enabled = c.Simulated(); o.Enabled {
		o.Pairs = meant(c.SimPairs())
	}
	return o
}

// SimPairs returns the pairs of the simulated market. A pair without a reference is configured but has no simulated
// agents.
func (c *Config) SimPairs() (pairs []sim.Pair, err error) {
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
	if c.Market.Pairs == PairsNone {
		return nil, nil
	}
	for i := range c.Assets {
		assets = append(assets, c.Assets[i].asset())
	}
	for i := range c.Pairs {
		pairs = append(pairs, meant(c.Pairs[i].Instrument()))
	}
	return assets, pairs
}

// commissions returns the configured deposit and withdrawal commissions.
func (c *Config) commissions() []accounts.Commission {
	var all []accounts.Commission
	if c.Market.Pairs == PairsNone {
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

// ephemeral is how the names of temporary data directories begin.
const ephemeral = "tickhive-ephemeral-"

// Ephemeral gives the configuration a temporary data directory, which leave removes, and free ports where no
// address is configured. Nothing outlives the machine, so the journal is not synced. A configured directory must be
// one that an earlier process has left because it was killed: no other one is removed.
func (c *Config) Ephemeral() (leave func() error, err error) {
	c.UseFreePorts()
	switch dir := filepath.Clean(c.Data.Dir); {
	case !c.given["data.dir"]:
		if c.Data.Dir, err = os.MkdirTemp("", ephemeral); err != nil {
			return nil, fmt.Errorf("--ephemeral: temporary data directory: %w", err)
		}
	case filepath.Dir(dir) != filepath.Clean(os.TempDir()) || !strings.HasPrefix(filepath.Base(dir), ephemeral):
		return nil, cmdline.UsageError{Err: fmt.Errorf("--ephemeral uses a temporary data directory, and goes on in "+
			"that of an earlier --ephemeral alone, not in %s: leave out data.dir", dir)}
	}
	dir := c.Data.Dir
	return func() error { return os.RemoveAll(dir) }, nil
}

// UseFreePorts lets the exchange listen on free ports where no address is configured, and leaves its journal unsynced
// unless journal.sync is.
func (c *Config) UseFreePorts() {
	own := map[string]string{
		"server.listen": "127.0.0.1:0", "internal.listen": "127.0.0.1:0", "binance.listen": "127.0.0.1:0",
		"stream.listen": "127.0.0.1:0", "journal.sync": "off",
	}
	for _, k := range c.Keys() {
		if text, ok := own[k.Name]; ok && !c.given[k.Name] {
			_ = k.Set(text)
		}
	}
}
