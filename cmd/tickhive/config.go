package main

import "tickhive/internal/clusterkey"

// Config holds every configurable value, one member per key. A key is named section.key in files,
// environment and --set. The tags of a member are all that the program knows of its key:
//
//   - toml: the key's name in its section.
//   - default: the built-in value in the form of --set; none: empty, 0 or false. The meaning of
//     a number's zero value is documented here only.
//   - help: what `tickhive config print` writes behind the value.
//   - range: the smallest and the largest integer.
//   - oneof: the permitted words.
//   - secret: the value is not printed.
//
// validate checks the rules that involve several keys or that a component knows.
type Config struct {
	Server struct {
		Listen           string   `toml:"listen" default:"127.0.0.1:8080" help:"address of the public listener; port 0 picks a free port"`
		TrustedProxies   []string `toml:"trusted_proxies" help:"IPs and CIDRs whose X-Forwarded-For is trusted"`
		ConnectionsPerIP int      `toml:"connections_per_ip" default:"1000" range:"-1 1048576" help:"maximum open connections per address; -1: unlimited"`
		Connections      int      `toml:"connections" default:"16384" range:"0 1048576" help:"maximum open connections; lowered if the open-files limit is too small"`
		ReadTimeout      Duration `toml:"read_timeout" default:"10s" help:"request read timeout"`
		WriteTimeout     Duration `toml:"write_timeout" default:"30s" help:"response write timeout"`
		IdleTimeout      Duration `toml:"idle_timeout" default:"75s" help:"idle timeout between two requests of a connection"`
	} `toml:"server"`
	Aggregator struct {
		Host   string `toml:"host" help:"serve the aggregator namespace only to requests with this Host"`
		Listen string `toml:"listen" help:"serve the aggregator namespace on a separate address"`
	} `toml:"aggregator"`
	Binance struct {
		Listen string `toml:"listen" help:"address of the Binance-compatible listener; empty: none; port 0 picks a free port"`
	} `toml:"binance"`
	TLS struct {
		Cert string `toml:"cert" help:"PEM certificate chain of the public listeners; SIGHUP reads it again"`
		Key  string `toml:"key" help:"PEM key of tls.cert"`
	} `toml:"tls"`
	Internal struct {
		Listen    string   `toml:"listen" default:"127.0.0.1:8081" help:"address of the internal listener, or unix:PATH; port 0 picks a free port"`
		Token     string   `toml:"token" secret:"true" help:"bearer token of the internal API; required unless the address is loopback"`
		TokenFile string   `toml:"token_file" help:"file with the token, relative to the data directory; created with a random token if absent"`
		Cert      string   `toml:"cert" help:"PEM certificate chain of the internal listener; SIGHUP reads it again; empty: where other machines reach the listener, a certificate of the cluster's key"`
		Key       string   `toml:"key" help:"PEM key of internal.cert"`
		Hosts     []string `toml:"hosts" help:"additional host names and IPs (besides loopback) that requests without a token may address"`
	} `toml:"internal"`
	Rate struct {
		PerMinute      int      `toml:"per_minute" default:"60" range:"1 10000" help:"requests of one client in any 60 s, launchpad and hive routes"`
		PerSecond      int      `toml:"per_second" default:"10" range:"1 10000" help:"requests of one client in any 1 s, launchpad and hive routes"`
		VotesPerMinute int      `toml:"votes_per_minute" default:"10" range:"1 10000" help:"votes of one user in any 60 s"`
		Clients        int      `toml:"clients" default:"100000" range:"1 10000000" help:"maximum tracked clients; the least recently seen are dropped"`
		Allow          []string `toml:"allow" help:"IPs, CIDRs and public keys exempt from rate limits"`
		Market         bool     `toml:"market" help:"also limit market-data routes"`
		Account        bool     `toml:"account" help:"also limit account routes"`
	} `toml:"rate"`
	Engine struct {
		OpenOrders    int `toml:"open_orders" default:"8388608" help:"maximum open orders per pair"`
		AccountOrders int `toml:"account_orders" default:"1048576" help:"maximum open orders per account and pair"`
		AccountStops  int `toml:"account_stops" default:"200" help:"maximum untriggered stops per account and pair"`
	} `toml:"engine"`
	Market struct {
		Pairs       string `toml:"pairs" default:"builtin" oneof:"builtin, none" help:"builtin: start with the configured pairs and assets; none: start without them"`
		TradesMin   int    `toml:"trades_min" default:"10000" help:"trades retained per pair regardless of age"`
		TradesMax   int    `toml:"trades_max" default:"2000000" help:"maximum trades retained per pair"`
		CandlesKept []int  `toml:"candles_kept" default:"20160,10080,8640,8640,8640,8760,6570,7300,1200,1000" help:"closed candles retained per pair, for each of the ten intervals"`
	} `toml:"market"`
	Orders struct {
		ClosedKept int `toml:"closed_kept" default:"100000" range:"1 100000000" help:"closed orders retained for lookup"`
		FillsKept  int `toml:"fills_kept" default:"1000000" range:"2 100000000" help:"fills of all orders retained for lookup"`
	} `toml:"orders"`
	Journal struct {
		Sync string `toml:"sync" default:"interval" oneof:"always, interval, off" help:"when the journal is synced to disk: always, interval or off"`
		Keep string `toml:"keep" default:"covered" oneof:"covered, all" help:"covered: remove segments that snapshots cover; all: keep every segment"`
		// SegmentBytes and SnapshotBytes count bytes of the log.
		SegmentBytes  int64    `toml:"segment_bytes" default:"67108864" range:"4096 4294967296" help:"size of a segment file"`
		SnapshotBytes int64    `toml:"snapshot_bytes" default:"50331648" range:"4096 1099511627776" help:"bytes of log after which a snapshot is taken"`
		SnapshotEvery Duration `toml:"snapshot_every" default:"5m" help:"time after which a snapshot of 100,000 commands or more is taken; 0: snapshot_bytes alone decides"`
		ScrubEvery    Duration `toml:"scrub_every" default:"24h" help:"time between two slow checks of every segment and snapshot; 0: none"`
		Stream        string   `toml:"stream" help:"stream that takes the records for replicas: embedded, or nats://HOST:PORT,...; empty: none"`
		Ack           string   `toml:"ack" default:"local" oneof:"local, quorum" help:"what a change waits for before its answer: local, or quorum: the stream, too"`
	} `toml:"journal"`
	Stream struct {
		Listen      string   `toml:"listen" default:"127.0.0.1:4222" help:"loopback address of the embedded NATS server; port 0 picks a free port"`
		CA          string   `toml:"ca" help:"PEM certificates by which the NATS servers are verified"`
		Credentials string   `toml:"credentials" help:"file with an nkey seed or NATS credentials (.creds)"`
		System      string   `toml:"system_credentials" help:"like stream.credentials, of a user of the servers' system account, by which a writer with quorum sees whether they sync"`
		Monitor     []string `toml:"monitor" help:"monitoring addresses of the NATS servers, http://HOST:8222, by which a writer with quorum sees whether they sync"`
		TrustLazy   bool     `toml:"trust_lazy_sync" default:"false" help:"do not ask whether the NATS servers sync before they acknowledge"`
	} `toml:"stream"`
	Replica struct {
		From   string   `toml:"from" help:"servers of the stream that a replica follows: nats://HOST:PORT,..."`
		Epoch  string   `toml:"epoch" help:"epoch of the stream; needed when the servers have several"`
		MaxLag Duration `toml:"max_lag" default:"5s" help:"a replica that is further behind refuses reads"`
		Peers  []string `toml:"snapshot_from" help:"internal listeners of replicas and standbys, http://HOST:PORT, whose snapshot a replica begins with, https:// on another machine"`
		Events int64    `toml:"events" default:"0" range:"0 1099511627776" help:"bytes of the newest events that a stream for other programs keeps; 0: no such stream"`
	} `toml:"replica"`
	Cluster struct {
		Advertise string `toml:"advertise" help:"HOST:PORT of the public listener for other nodes; empty: the listener's address, unless it is 0.0.0.0 or [::]"`
		KeyFile   string `toml:"key_file" help:"file with the keys of all nodes, one a line, of which the first one signs; relative to the data directory; serve creates it if absent"`
		CA        string `toml:"ca" help:"PEM certificates by which a replica verifies the writer's, beside the machine's"`
		// TakeoverAfter is compared with the time between two messages of a writer, which is at most 200 ms.
		TakeoverAfter Duration `toml:"takeover_after" default:"1.5s" help:"silence of the writer after which a standby takes over; at least 1s"`
		Trim          bool     `toml:"trim" help:"a replica or standby with a directory removes the messages of the stream that its older snapshot and the writer's newest one have"`
	} `toml:"cluster"`
	Data struct {
		Dir string `toml:"dir" default:"./data" help:"data directory"`
	} `toml:"data"`
	Clock struct {
		Mode  string `toml:"mode" default:"real" oneof:"real, virtual" help:"real or virtual"`
		Start string `toml:"start" help:"RFC 3339 time at which a virtual clock starts; empty: now"`
	} `toml:"clock"`
	Sim struct {
		Enabled   bool     `toml:"enabled" default:"true" help:"run the simulated market"`
		Seed      int64    `toml:"seed" default:"1" help:"seed of the simulated market"`
		Backfill  Duration `toml:"backfill" help:"simulated history before the start; for an empty data directory only"`
		Intensity int64    `toml:"intensity" default:"100" range:"10 1000" help:"activity of the simulated market in per cent, 10 to 1000"`
		Scenario  string   `toml:"scenario" default:"none" oneof:"none, flash-crash, trend, halt, thin-night" help:"pattern that the simulated market follows, by the time of day"`
	} `toml:"sim"`
	Launchpad struct {
		Fee       Decimal  `toml:"fee" default:"100" help:"spawn fee in the native currency"`
		Cooldown  Duration `toml:"cooldown" default:"24h" help:"time between two spawns of one address"`
		NativeUSD Decimal  `toml:"native_usd" default:"1" help:"price of the native currency in USD"`
	} `toml:"launchpad"`
	Hive struct {
		Quorum Decimal `toml:"quorum" default:"100" help:"vote weight that a proposal needs"`
	} `toml:"hive"`
	Referral struct {
		Levels     []Decimal `toml:"levels" default:"0.20,0.10,0.05,0.03,0.02" help:"share of the fee for referral levels 1 to 5"`
		Staking    []Decimal `toml:"staking" default:"0,0.05,0.08,0.10,0.12,0.14,0.16,0.18,0.20" help:"share of staking income for levels R0 to R8"`
		BonusShare Decimal   `toml:"bonus_share" default:"0" help:"part of a bonus that is recorded separately"`
	} `toml:"referral"`
	Auth struct {
		Legacy    bool   `toml:"legacy" help:"accept the legacy signature, which has no replay protection"`
		PublicURL string `toml:"public_url" help:"scheme and host that legacy signatures cover"`
		SecretKey string `toml:"secret_key_file" help:"file with the key that seals private keys at rest, outside the data directory; created with a random key if absent"`
	} `toml:"auth"`
	Faults struct {
		Rules    []string `toml:"rules" help:"fault rules in force from the start, each a text such as \"latency probability=0.1 delay=250ms\""`
		Scenario string   `toml:"scenario" help:"ready set of fault rules in force from the start"`
		Seed     int64    `toml:"seed" default:"1" range:"0 4611686018427387904" help:"seed of faults.scenario; a rule has its own"`
	} `toml:"faults"`
	Log struct {
		Level  string `toml:"level" default:"info" help:"debug, info, warn or error"`
		Format string `toml:"format" default:"text" help:"text (key=value pairs) or json (one object a line)"`
	} `toml:"log"`

	Assets []AssetConfig `toml:"assets"`
	Pairs  []PairConfig  `toml:"pairs"`

	given    map[string]bool  // keys that file, environment or command line have set
	recorded bool             // the clock is driven by recorded files (replay)
	ring     *clusterkey.Ring // of a process that follows or reads a stream (readKeys)
	embedded embeddedStream   // the server that openStream has started
}

// defaultConfig returns the built-in configuration; no file is required.
func defaultConfig() *Config {
	c := &Config{Assets: builtinAssets(), Pairs: builtinPairs(), given: map[string]bool{}}
	for _, k := range c.keys() {
		if text := k.tag.Get("default"); text != "" {
			if err := setValue(k.value, text); err != nil {
				panic("BUG: config: the default of " + k.name + ": " + err.Error())
			}
		}
	}
	return c
}

// The values of enumerated keys.
const (
	pairsBuiltin = "builtin"
	pairsNone    = "none"
	clockReal    = "real"
	clockVirtual = "virtual"
)
