package main

import (
	"errors"
	"iter"
	"reflect"
	"strings"
	"unicode"

	"github.com/tickhive/tickhive/internal/config"
)

// serveFlags holds the flags of serve, which replay has too. Each flag sets the key in its tag and overrides
// file, environment and --set. An empty text means that the flag is not given.
type serveFlags struct {
	ConfigFile        string   `name:"config" placeholder:"FILE" help:"Configuration file (TOML)."`
	Set               []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set a configuration key; may be repeated."`
	Listen            string   `key:"server.listen" placeholder:"ADDR" help:"Address of the public listener (127.0.0.1:8080); port 0 picks a free port."`
	InternalListen    string   `key:"internal.listen" placeholder:"ADDR" help:"Address of the internal listener (127.0.0.1:8081), or unix:PATH; port 0 picks a free port."`
	InternalToken     string   `key:"internal.token" placeholder:"TOKEN" help:"Bearer token of the internal API. Other users can see it until the start; prefer --internal-token-file."`
	InternalTokenFile string   `key:"internal.token_file" placeholder:"FILE" help:"File with the bearer token of the internal API, relative to the data directory; created if absent."`
	InternalHosts     string   `key:"internal.hosts" placeholder:"HOST,..." help:"Additional host names and IPs (besides loopback) that requests to the internal API may address when no token is set."`
	Console           string   `key:"server.console" placeholder:"off|loopback|token" help:"Serve the internal API on the public listener too, for the page's operator parts: off (default), loopback, to this machine alone, or token, to those who know the internal token."`
	BinanceListen     string   `key:"binance.listen" placeholder:"ADDR,..." help:"Addresses of the Binance-compatible listener (none); port 0 picks a free port."`
	DataDir           string   `key:"data.dir" placeholder:"DIR" help:"Data directory (./data; replay: none)."`
	Sim               string   `key:"sim.enabled" placeholder:"on|off" help:"Run the simulated market (on)."`
	Seed              string   `key:"sim.seed" placeholder:"N" help:"Seed of the simulated market (1). A data directory keeps its seed."`
	Past              string   `key:"sim.past" placeholder:"DURATION" help:"Begin simulated pairs with candles of this much time, at most 366d; 0: none (365d)."`
	Backfill          string   `key:"sim.backfill" placeholder:"DURATION" help:"Simulate this much history before the start, e.g. 7d (0); for an empty data directory only."`
	Clock             string   `key:"clock.mode" placeholder:"real|virtual" help:"Process clock (real). A data directory keeps the clock it was created with."`
	ClockStart        string   `key:"clock.start" placeholder:"RFC3339" help:"Start time of a virtual clock (now; in an existing data directory: its last time)."`
	JournalSync       string   `key:"journal.sync" placeholder:"MODE" help:"Journal sync policy: always, interval or off (interval)."`
	Pairs             string   `key:"market.pairs" placeholder:"builtin|common|hundred|none" help:"Pairs and assets to start with: 12, 44 or 100 pairs, or none (builtin)."`
	LogLevel          string   `key:"log.level" placeholder:"LEVEL" help:"Log level: debug, info, warn or error (info)."`
	Quiet             bool     `help:"Suppress progress output."`
}

// config loads the configuration with the flags.
func (f *serveFlags) config(p *program) (*config.Config, error) {
	cfg, err := config.Load(f.ConfigFile, p.environ, append(append([]string(nil), f.Set...), f.settings()...))
	if err != nil {
		return nil, usageError{Err: f.named(err)}
	}
	return cfg, nil
}

// named returns err with the flag beside each key that a flag has set, because the user typed the flag.
func (f *serveFlags) named(err error) error {
	text := err.Error()
	for key, value := range f.keys() {
		if value != "" {
			text = strings.ReplaceAll(text, key+": ", flagOf(key)+" ("+key+"): ")
		}
	}
	return errors.New(text)
}

// keys yields each key that a flag sets, and the value of the flag.
func (f *serveFlags) keys() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		v := reflect.ValueOf(*f)
		for i := range v.NumField() {
			if key := v.Type().Field(i).Tag.Get("key"); key != "" && !yield(key, v.Field(i).String()) {
				return
			}
		}
	}
}

// settings returns the given flags as KEY=VALUE.
func (f *serveFlags) settings() (out []string) {
	for key, value := range f.keys() {
		if value != "" {
			out = append(out, key+"="+value)
		}
	}
	return out
}

// flagOf returns the flag that sets a key, empty when there is none.
func flagOf(key string) string {
	t := reflect.TypeFor[serveFlags]()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("key") == key {
			return flagName(t.Field(i).Name)
		}
	}
	return ""
}

// flagName returns the flag of a member: DataDir -> --data-dir.
func flagName(member string) string {
	var b strings.Builder
	for i, r := range member {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return "--" + b.String()
}
