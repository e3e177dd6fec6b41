package main

import "reflect"

// serveFlags are the flags of serve, which replay accepts too. A flag sets the key of its tag and
// overrides file, environment and --set; the empty text means "not given".
type serveFlags struct {
	ConfigFile     string   `name:"config" placeholder:"FILE" help:"TOML file."`
	Set            []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set any key; may be repeated."`
	Listen         string   `key:"server.listen" placeholder:"ADDR" help:"Public listener (127.0.0.1:8080); port 0: chosen."`
	InternalListen string   `key:"internal.listen" placeholder:"ADDR" help:"Internal listener (127.0.0.1:8081); port 0: chosen."`
	InternalToken  string   `key:"internal.token" placeholder:"TOKEN" help:"Bearer token of the internal API."`
	InternalHosts  string   `key:"internal.hosts" placeholder:"HOST,..." help:"Host names and IPs, besides loopback ones, that requests to the internal API may name when there is no token."`
	DataDir        string   `key:"data.dir" placeholder:"DIR" help:"Data directory (./data; of a replay: a temporary one)."`
	Sim            string   `key:"sim.enabled" placeholder:"on|off" help:"Simulated market (on)."`
	Seed           string   `key:"sim.seed" placeholder:"N" help:"Seed of the simulated market (1). A data directory keeps its seed."`
	Backfill       string   `key:"sim.backfill" placeholder:"DURATION" help:"Simulated time before the start (0); 7d works. Fills an empty data directory only."`
	Clock          string   `key:"clock.mode" placeholder:"real|virtual" help:"Process clock (real). A data directory keeps the kind that it was begun with."`
	ClockStart     string   `key:"clock.start" placeholder:"RFC3339" help:"Start of a virtual clock (now; in a used data directory: where it was)."`
	JournalSync    string   `key:"journal.sync" placeholder:"MODE" help:"always, interval or off (interval)."`
	Pairs          string   `key:"market.pairs" placeholder:"builtin|none" help:"none: without the configured pairs and assets."`
	LogLevel       string   `key:"log.level" placeholder:"LEVEL" help:"debug, info, warn or error (info)."`
	Quiet          bool     `help:"No progress."`
}

// config loads the configuration with the flags applied.
func (f *serveFlags) config(p *program) (*Config, error) {
	cfg, err := loadConfig(f.ConfigFile, p.environ, append(append([]string(nil), f.Set...), f.settings()...))
	if err != nil {
		return nil, usageError{Err: err}
	}
	return cfg, nil
}

// settings returns the given flags as KEY=VALUE.
func (f *serveFlags) settings() (out []string) {
	v := reflect.ValueOf(*f)
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("key"); key != "" && !v.Field(i).IsZero() {
			out = append(out, key+"="+v.Field(i).String())
		}
	}
	return out
}
