package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
)

// Config holds every configurable value, one member per key. A key is named section.key in files, environment and
// --set. A section is the struct of the package that uses it (package setting describes the tags); the sections that
// only this program reads are here. validate checks the rules that involve several sections.
type Config struct {
	Server     exchange.ServerConfig     `toml:"server"`
	Aggregator exchange.AggregatorConfig `toml:"aggregator"`
	Binance    exchange.BinanceConfig    `toml:"binance"`
	TLS        struct {
		Cert string `toml:"cert" help:"PEM certificate chain of the public listeners; SIGHUP reads it again"`
		Key  string `toml:"key" help:"PEM key of tls.cert"`
	} `toml:"tls"`
	Internal exchange.InternalConfig `toml:"internal"`
	Rate     edge.RateConfig         `toml:"rate"`
	Engine   engine.Limits           `toml:"engine"`
	Market   struct {
		Pairs string `toml:"pairs" default:"builtin" oneof:"builtin, common, hundred, none" help:"builtin: start with the configured pairs and assets; common: and with 32 other pairs that are common on Binance; hundred: and with 56 more; none: start without any"`
		marketdata.TradesConfig
	} `toml:"market"`
	Orders  marketdata.OrdersConfig `toml:"orders"`
	Journal exchange.JournalConfig  `toml:"journal"`
	Stream  struct {
		Listen      string   `toml:"listen" default:"127.0.0.1:4222" help:"loopback address of the embedded NATS server; port 0 picks a free port"`
		CA          string   `toml:"ca" help:"PEM certificates by which the NATS servers are verified"`
		Credentials string   `toml:"credentials" help:"file with an nkey seed or NATS credentials (.creds)"`
		System      string   `toml:"system_credentials" help:"like stream.credentials, of a user of the servers' system account, by which a writer with quorum sees whether they sync"`
		Monitor     []string `toml:"monitor" help:"monitoring addresses of the NATS servers, http://HOST:8222, by which a writer with quorum sees whether they sync"`
		TrustLazy   bool     `toml:"trust_lazy_sync" default:"false" help:"do not ask whether the NATS servers sync before they acknowledge"`
	} `toml:"stream"`
	Replica struct {
		From   string           `toml:"from" help:"servers of the stream that a replica follows: nats://HOST:PORT,..."`
		Epoch  string           `toml:"epoch" help:"epoch of the stream; needed when the servers have several"`
		MaxLag setting.Duration `toml:"max_lag" default:"5s" help:"a replica that is further behind refuses reads"`
		Peers  []string         `toml:"snapshot_from" help:"internal listeners of replicas and standbys, http://HOST:PORT, whose snapshot a replica begins with, https:// on another machine"`
		Events int64            `toml:"events" default:"0" range:"0 1099511627776" help:"bytes of the newest events that a stream for other programs keeps; 0: no such stream"`
	} `toml:"replica"`
	Cluster exchange.ClusterConfig `toml:"cluster"`
	Data    struct {
		Dir string `toml:"dir" default:"./data" help:"data directory"`
	} `toml:"data"`
	Clock     clockConfig             `toml:"clock"`
	Sim       exchange.SimConfig      `toml:"sim"`
	Launchpad launchpad.Config        `toml:"launchpad"`
	Hive      hive.QuorumConfig       `toml:"hive"`
	Referral  accounts.ReferralConfig `toml:"referral"`
	Auth      exchange.AuthConfig     `toml:"auth"`
	Faults    faultsConfig            `toml:"faults"`
	Log       logConfig               `toml:"log"`

	Assets []AssetConfig `toml:"assets"`
	Pairs  []PairConfig  `toml:"pairs"`

	given    map[string]bool  // keys that file, environment or command line have set
	ring     *clusterkey.Ring // of a process that follows or reads a stream (ReadKeys)
	embedded EmbeddedStream   // the server that openStream has started
}

// Default returns the built-in configuration; no file is required.
func Default() *Config {
	c := &Config{Assets: builtinAssets(), Pairs: builtinPairs(), given: map[string]bool{}}
	for _, section := range c.sections() {
		setting.Fill(section.Value.Addr().Interface())
	}
	return c
}

// The values of enumerated keys.
const (
	PairsNone    = "none"
	clockReal    = "real"
	ClockVirtual = "virtual"
)

// clockConfig is the section clock.
type clockConfig struct {
	Mode  string `toml:"mode" default:"real" oneof:"real, virtual" help:"real or virtual"`
	Start string `toml:"start" help:"RFC 3339 time at which a virtual clock starts; empty: now"`
}

// options returns the options of the clock.
func (c *clockConfig) options() (o exchange.ClockOptions, err error) {
	if o.Virtual = c.Mode == ClockVirtual; c.Start == "" {
		return o, nil
	}
	t, err := time.Parse(time.RFC3339Nano, c.Start)
	if err != nil {
		return o, fmt.Errorf("clock.start: %q must be an RFC 3339 time such as 2026-01-01T00:00:00Z", c.Start)
	}
	if t.Year() < 1970 || t.Year() > 2200 {
		return o, fmt.Errorf("clock.start: the year of %s must be from 1970 to 2200", c.Start)
	}
	o.StartNs, o.StartGiven = t.UnixNano(), true
	return o, nil
}

// Check refuses a start that is no time, or that a real clock would not have.
func (c *clockConfig) Check() error {
	_, err := c.options()
	if c.Start != "" && c.Mode == clockReal {
		err = errors.Join(err, errors.New("clock.start: a real clock shows the machine's time; add --clock virtual or "+
			"remove --clock-start"))
	}
	return err
}

// faultsConfig is the section faults.
type faultsConfig struct {
	Rules    []string `toml:"rules" help:"fault rules in force from the start, each a text such as \"latency probability=0.1 delay=250ms\""`
	Scenario string   `toml:"scenario" help:"ready set of fault rules in force from the start"`
	Seed     int64    `toml:"seed" default:"1" range:"0 4611686018427387904" help:"seed of faults.scenario; a rule has its own"`
}

// all returns the rules that are in force from the start.
func (c *faultsConfig) all() ([]fault.Rule, error) {
	rules, err := fault.ParseAll(c.Rules)
	if err != nil {
		return nil, fmt.Errorf("faults.rules: %w", err)
	}
	if c.Scenario != "" {
		more, err := fault.Scenario(c.Scenario, uint64(c.Seed), 0)
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

// Check refuses rules that are none, and a seed that has no effect. A printed configuration has the built-in seed.
func (c *faultsConfig) Check() error {
	var builtin faultsConfig
	setting.Fill(&builtin)
	_, err := c.all()
	if c.Seed != builtin.Seed && c.Scenario == "" {
		err = errors.Join(err, errors.New("faults.seed: is the seed of faults.scenario, which is not set; "+
			"a rule has its own seed="))
	}
	return err
}

// The formats of the log.
const (
	LogAuto  = "auto"
	LogHuman = "human"
	LogText  = "text"
	LogJSON  = "json"
)

var logFormats = []string{LogAuto, LogHuman, LogText, LogJSON}

// logConfig is the section log.
type logConfig struct {
	Level  string `toml:"level" default:"info" help:"debug, info, warn or error"`
	Format string `toml:"format" default:"auto" help:"text (key=value pairs), json (one object a line), human (for a person; NO_COLOR turns colours off), or auto: human on a terminal, text elsewhere"`
}

// Check refuses an unknown level or format.
func (c *logConfig) Check() error {
	_, err := ParseLevel(c.Level)
	if err != nil {
		err = fmt.Errorf("log.level: %w", err)
	}
	if !slices.Contains(logFormats, c.Format) {
		err = errors.Join(err, fmt.Errorf("log.format: %q is not one of %s", c.Format, strings.Join(logFormats, ", ")))
	}
	return err
}
