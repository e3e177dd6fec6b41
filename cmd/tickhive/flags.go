package main

// serveFlags are the flags of serve, which replay accepts too. Each sets one key and overrides
// file, environment and --set; the empty text means "not given".
type serveFlags struct {
	ConfigFile     string   `name:"config" placeholder:"FILE" help:"TOML file."`
	Set            []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set any key; may be repeated."`
	Listen         string   `placeholder:"ADDR" help:"Public listener (127.0.0.1:8080); port 0: chosen."`
	InternalListen string   `placeholder:"ADDR" help:"Internal listener (127.0.0.1:8081); port 0: chosen."`
	InternalToken  string   `placeholder:"TOKEN" help:"Bearer token of the internal API."`
	InternalHosts  string   `placeholder:"HOST,..." help:"Host names and IPs, besides loopback ones, that requests to the internal API may name when there is no token."`
	DataDir        string   `placeholder:"DIR" help:"Data directory (./data; of a replay: a temporary one)."`
	Sim            string   `placeholder:"on|off" help:"Simulated market (on)."`
	Seed           string   `placeholder:"N" help:"Seed of the simulated market (1). A data directory keeps its seed."`
	Backfill       string   `placeholder:"DURATION" help:"Simulated time before the start (0); 7d works. Fills an empty data directory only."`
	Clock          string   `placeholder:"real|virtual" help:"Process clock (real). A data directory keeps the kind that it was begun with."`
	ClockStart     string   `placeholder:"RFC3339" help:"Start of a virtual clock (now; in a used data directory: where it was)."`
	JournalSync    string   `placeholder:"MODE" help:"always, interval or off (interval)."`
	Pairs          string   `placeholder:"builtin|none" help:"none: without the configured pairs and assets."`
	LogLevel       string   `placeholder:"LEVEL" help:"debug, info, warn or error (info)."`
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
func (f *serveFlags) settings() []string {
	var out []string
	for _, s := range []struct{ key, value string }{
		{"server.listen", f.Listen},
		{"internal.listen", f.InternalListen},
		{"internal.token", f.InternalToken},
		{"internal.hosts", f.InternalHosts},
		{"data.dir", f.DataDir},
		{"sim.enabled", f.Sim},
		{"sim.seed", f.Seed},
		{"sim.backfill", f.Backfill},
		{"clock.mode", f.Clock},
		{"clock.start", f.ClockStart},
		{"journal.sync", f.JournalSync},
		{"market.pairs", f.Pairs},
		{"log.level", f.LogLevel},
	} {
		if s.value != "" {
			out = append(out, s.key+"="+s.value)
		}
	}
	return out
}
