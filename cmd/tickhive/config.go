package main

import (
	"time"

	"tickhive/internal/clock"
)

// Config holds every configurable value, one member per key. A key is named section.key in files,
// environment and --set. The meaning of a number's zero value is documented here only; every
// default is explicit in defaultConfig.
type Config struct {
	Server struct {
		Listen           string   `toml:"listen" help:"address of the public listener; port 0: chosen"`
		TrustedProxies   []string `toml:"trusted_proxies" help:"IPs and CIDRs whose X-Forwarded-For counts"`
		ConnectionsPerIP int      `toml:"connections_per_ip" help:"open connections of one address; -1: unlimited"`
		Connections      int      `toml:"connections" help:"open connections in all; lowered to what the limit of open files leaves room for"`
		ReadTimeout      Duration `toml:"read_timeout" help:"longest time for a whole request"`
		WriteTimeout     Duration `toml:"write_timeout" help:"longest time for a whole answer"`
		IdleTimeout      Duration `toml:"idle_timeout" help:"longest time between two requests of a connection"`
	} `toml:"server"`
	Aggregator struct {
		Host   string `toml:"host" help:"leaves the aggregator namespace to requests with this Host"`
		Listen string `toml:"listen" help:"serves the aggregator namespace on an address of its own"`
	} `toml:"aggregator"`
	Internal struct {
		Listen string   `toml:"listen" help:"address of the internal listener; port 0: chosen"`
		Token  string   `toml:"token" secret:"true" help:"bearer token of the internal API; needed on an address that is not loopback"`
		Hosts  []string `toml:"hosts" help:"host names and IPs, besides loopback ones, that requests without a token may name"`
	} `toml:"internal"`
	Rate struct {
		PerMinute      int      `toml:"per_minute" help:"requests of one client in any 60 s, launchpad and hive routes"`
		PerSecond      int      `toml:"per_second" help:"requests of one client in any 1 s, launchpad and hive routes"`
		VotesPerMinute int      `toml:"votes_per_minute" help:"votes of one user in any 60 s"`
		Clients        int      `toml:"clients" help:"remembered clients; the least recently seen go"`
		Allow          []string `toml:"allow" help:"IPs, CIDRs and public keys without limits"`
		Market         bool     `toml:"market" help:"market-data routes are limited too"`
		Account        bool     `toml:"account" help:"account routes are limited too"`
	} `toml:"rate"`
	Engine struct {
		Loops         int `toml:"loops" help:"goroutines that match"`
		OpenOrders    int `toml:"open_orders" help:"open orders of one pair at most"`
		AccountOrders int `toml:"account_orders" help:"open orders of one account in one pair at most"`
		AccountStops  int `toml:"account_stops" help:"waiting stops of one account in one pair at most"`
	} `toml:"engine"`
	Market struct {
		Pairs       string `toml:"pairs" help:"builtin: the configured pairs and assets; none: start without"`
		TradesMin   int    `toml:"trades_min" help:"trades kept per pair however old"`
		TradesMax   int    `toml:"trades_max" help:"trades kept per pair at most"`
		CandlesKept []int  `toml:"candles_kept" help:"closed candles kept per pair, for each of the ten intervals"`
	} `toml:"market"`
	Orders struct {
		ClosedKept int `toml:"closed_kept" help:"closed orders that can still be looked up"`
		FillsKept  int `toml:"fills_kept" help:"fills of all orders that can still be looked up"`
	} `toml:"orders"`
	Journal struct {
		Sync string `toml:"sync" help:"always, interval or off"`
		Keep string `toml:"keep" help:"covered: segments go once snapshots cover them; all"`
		// SegmentBytes and SnapshotBytes count bytes of the log.
		SegmentBytes  int64    `toml:"segment_bytes" help:"size of a segment file"`
		SnapshotBytes int64    `toml:"snapshot_bytes" help:"log after which a snapshot is taken"`
		SnapshotEvery Duration `toml:"snapshot_every" help:"time after which a snapshot of 100,000 commands or more is taken; 0: by snapshot_bytes alone"`
	} `toml:"journal"`
	Data struct {
		Dir string `toml:"dir" help:"data directory"`
	} `toml:"data"`
	Clock struct {
		Mode  string `toml:"mode" help:"real or virtual"`
		Start string `toml:"start" help:"RFC 3339 time at which a virtual clock starts; empty: now"`
	} `toml:"clock"`
	Sim struct {
		Enabled  bool     `toml:"enabled" help:"the simulated market trades"`
		Seed     int64    `toml:"seed" help:"seed of the simulated market"`
		Backfill Duration `toml:"backfill" help:"simulated time before the start; fills an empty data directory only"`
	} `toml:"sim"`
	Launchpad struct {
		Fee       Decimal  `toml:"fee" help:"spawn fee in the native currency"`
		Cooldown  Duration `toml:"cooldown" help:"time between two spawns of one address"`
		NativeUSD Decimal  `toml:"native_usd" help:"price of the native currency in USD"`
	} `toml:"launchpad"`
	Hive struct {
		Quorum Decimal `toml:"quorum" help:"vote weight that a proposal needs"`
	} `toml:"hive"`
	Referral struct {
		Levels     []Decimal `toml:"levels" help:"share of the fee for referral levels 1 to 5"`
		Staking    []Decimal `toml:"staking" help:"share of staking income for levels R0 to R8"`
		BonusShare Decimal   `toml:"bonus_share" help:"part of a bonus that is recorded on its own"`
	} `toml:"referral"`
	Auth struct {
		Legacy    bool   `toml:"legacy" help:"take the legacy signature, which has no replay protection"`
		PublicURL string `toml:"public_url" help:"scheme and host that legacy signatures are made over"`
	} `toml:"auth"`
	Log struct {
		Level string `toml:"level" help:"debug, info, warn or error"`
	} `toml:"log"`

	Assets []AssetConfig `toml:"assets"`
	Pairs  []PairConfig  `toml:"pairs"`

	given    map[string]bool // keys that a source has set
	recorded bool            // recorded files drive the clock (replay)
}

// defaultConfig returns the built-in configuration; no file is required.
func defaultConfig() *Config {
	c := &Config{Assets: builtinAssets(), Pairs: builtinPairs(), given: map[string]bool{}}
	c.Server.Listen = "127.0.0.1:8080"
	c.Server.ConnectionsPerIP = 1000
	c.Server.Connections = 16_384
	c.Server.ReadTimeout = Duration(10 * time.Second)
	c.Server.WriteTimeout = Duration(30 * time.Second)
	c.Server.IdleTimeout = Duration(75 * time.Second)
	c.Internal.Listen = "127.0.0.1:8081"
	c.Rate.PerMinute = 60
	c.Rate.PerSecond = 10
	c.Rate.VotesPerMinute = 10
	c.Rate.Clients = 100_000
	c.Engine.Loops = 1
	c.Engine.OpenOrders = 8 << 20
	c.Engine.AccountOrders = 1 << 20
	c.Engine.AccountStops = 200
	c.Market.Pairs = pairsBuiltin
	c.Market.TradesMin = 10_000
	c.Market.TradesMax = 2_000_000
	c.Market.CandlesKept = []int{20_160, 10_080, 8_640, 8_640, 8_640, 8_760, 6_570, 7_300, 1_200, 1_000}
	c.Orders.ClosedKept = 100_000
	c.Orders.FillsKept = 1_000_000
	c.Journal.Sync = "interval"
	c.Journal.Keep = "covered"
	c.Journal.SegmentBytes = 64 << 20
	c.Journal.SnapshotBytes = 48 << 20
	c.Journal.SnapshotEvery = Duration(5 * time.Minute)
	c.Data.Dir = "./data"
	c.Clock.Mode = clockReal
	c.Sim.Enabled = true
	c.Sim.Seed = 1
	c.Launchpad.Fee = "100"
	c.Launchpad.Cooldown = Duration(24 * time.Hour)
	c.Launchpad.NativeUSD = "1"
	c.Hive.Quorum = "100"
	c.Referral.Levels = []Decimal{"0.20", "0.10", "0.05", "0.03", "0.02"}
	c.Referral.Staking = []Decimal{"0", "0.05", "0.08", "0.10", "0.12", "0.14", "0.16", "0.18", "0.20"}
	c.Referral.BonusShare = "0"
	c.Log.Level = "info"
	return c
}

// Values of enumerated keys.
const (
	pairsBuiltin = "builtin"
	pairsNone    = "none"
	clockReal    = "real"
	clockVirtual = "virtual"
)

// Duration is a time.Duration in Go's text form with the additional units d and w.
type Duration time.Duration

// UnmarshalText parses the text form.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := clock.ParseDuration(string(b))
	if err == nil && v < 0 {
		return errNegative
	}
	*d = Duration(v)
	return err
}

// MarshalText returns Go's text form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
