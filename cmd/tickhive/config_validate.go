package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/listen"
	"tickhive/marketdata"
	"tickhive/server/admin"
)

// minSnapshotEvery is the smallest journal.snapshot_every. It rejects a number without a unit, which would be
// read as nanoseconds.
const minSnapshotEvery = time.Second

// The defaults of faults.seed and sim.intensity, the only values of a printed configuration where they have no effect.
const defaultFaultSeed, defaultIntensity = 1, 100

// validate returns an error for every invalid value, with its key.
func (c *Config) validate() error {
	// The later checks convert decimals, so their form is checked first.
	if err := c.check(checkDecimals); err != nil {
		return err
	}
	errs := []error{c.check(checkLimits)}
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
	}
	if d := time.Duration(c.Journal.SnapshotEvery); d > 0 && d < minSnapshotEvery {
		bad("journal.snapshot_every", "%v must be at least %v, or 0: then journal.snapshot_bytes alone decides", d,
			minSnapshotEvery)
	}
	if d := time.Duration(c.Journal.ScrubEvery); d < 0 || d > 0 && d < minSnapshotEvery {
		bad("journal.scrub_every", "%v must be at least %v, or 0: then the files are not checked", d, minSnapshotEvery)
	}
	for _, entry := range c.Rate.Allow {
		if !isNet(entry) && !isPublicKey(entry) {
			bad("rate.allow", "%q must be an IP, a CIDR or a public key", entry)
		}
	}
	for _, entry := range c.Server.TrustedProxies {
		if !isNet(entry) {
			bad("server.trusted_proxies", "%q must be an IP or a CIDR", entry)
		}
	}
	if n := len(c.Market.CandlesKept); n != 10 {
		bad("market.candles_kept", "has %d numbers but needs 10, one for each interval", n)
	}
	if n := len(c.Referral.Levels); n != 5 {
		bad("referral.levels", "has %d shares but needs 5, one for each of the levels 1 to 5", n)
	}
	if n := len(c.Referral.Staking); n != 9 {
		bad("referral.staking", "has %d shares but needs 9, one for each of R0 to R8", n)
	}
	if _, err := parseLevel(c.Log.Level); err != nil {
		bad("log.level", "%v", err)
	}
	if !slices.Contains(logFormats, c.Log.Format) {
		bad("log.format", "%q is not one of %s", c.Log.Format, strings.Join(logFormats, ", "))
	}
	errs = append(errs, c.check(checkSign))
	_, startErr := c.clockStart()
	return errors.Join(append(errs, startErr, c.validateEffect(), c.validateListeners(), c.validateComponents(),
		c.validateMarket())...)
}

// check applies one check to all keys, also of assets and pairs, and joins the errors.
func (c *Config) check(one func(key) error) error {
	keys := c.keys()
	for i := range c.Assets {
		keys = append(keys, members("assets: "+c.Assets[i].Symbol+": ", reflect.ValueOf(c.Assets[i]))...)
	}
	for i := range c.Pairs {
		keys = append(keys, members("pairs: "+c.Pairs[i].Code+": ", reflect.ValueOf(c.Pairs[i]))...)
	}
	var errs []error
	for _, k := range keys {
		if err := one(k); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkDecimals checks the form of decimals. It is necessary because the TOML decoder does not call
// UnmarshalText for strings.
func checkDecimals(k key) error {
	decimals, _ := k.value.Interface().([]Decimal)
	if d, ok := k.value.Interface().(Decimal); ok {
		decimals = []Decimal{d}
	}
	var errs []error
	for _, d := range decimals {
		if err := d.UnmarshalText([]byte(d)); err != nil && d.given() {
			errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
		}
	}
	return errors.Join(errs...)
}

// checkLimits checks the limits in the tags range and oneof.
func checkLimits(k key) error {
	if words, ok := k.tag.Lookup("oneof"); ok && !slices.Contains(strings.Split(words, ", "), k.value.String()) {
		return fmt.Errorf("%s: %q must be one of %s", k.name, k.value, words)
	}
	if text, ok := k.tag.Lookup("range"); ok {
		var low, high int64
		if _, err := fmt.Sscan(text, &low, &high); err != nil {
			panic("BUG: config: the range of " + k.name + ": " + err.Error())
		}
		if v := k.value.Int(); v < low || v > high {
			return fmt.Errorf("%s: %d must be from %d to %d", k.name, v, low, high)
		}
	}
	return nil
}

// checkSign refuses a negative duration, which a file can contain as a plain number.
func checkSign(k key) error {
	if d, ok := k.value.Interface().(Duration); ok && d < 0 {
		return fmt.Errorf("%s: %w", k.name, errNegative)
	}
	return nil
}

// validateEffect refuses settings that another setting makes ineffective.
func (c *Config) validateEffect() error {
	var errs []error
	if c.Clock.Start != "" && c.Clock.Mode == clockReal {
		errs = append(errs,
			errors.New("clock.start: a real clock shows the machine's time; add --clock virtual or remove "+
				"--clock-start"))
	}
	if c.Auth.Legacy && c.Auth.PublicURL == "" {
		errs = append(errs, errors.New("auth.legacy: the legacy scheme signs the URL that clients use; "+
			"set auth.public_url (https://api.example.com), or remove auth.legacy"))
	}
	if c.Faults.Seed != defaultFaultSeed && c.Faults.Scenario == "" {
		errs = append(errs, errors.New("faults.seed: is the seed of faults.scenario, which is not set; "+
			"a rule has its own seed="))
	}
	if c.Sim.Backfill > 0 && !c.simulated() {
		errs = append(errs, errors.New("sim.backfill: a backfill needs the simulated market; "+
			"remove --backfill, or remove --sim off and --pairs none"))
	}
	if !c.simulated() && (c.Sim.Scenario != "none" || c.Sim.Intensity != defaultIntensity) {
		errs = append(errs, errors.New("sim.scenario, sim.intensity: the simulated market is off; "+
			"remove them, or remove --sim off and --pairs none"))
	}
	if c.given["sim.enabled"] && c.Sim.Enabled && c.Market.Pairs == pairsNone {
		errs = append(errs,
			errors.New("sim.enabled: the simulated market needs the configured pairs, but market.pairs is none; "+
				"remove --pairs none or set --sim off"))
	}
	return errors.Join(errs...)
}

// validateComponents lets each component check its options, because each knows its limits.
func (c *Config) validateComponents() error {
	var errs []error
	ask := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	e, m := c.engineOptions(), c.marketOptions()
	ask("engine.open_orders", engine.Options{OpenOrders: e.OpenOrders}.Validate())
	ask("engine.account_orders", engine.Options{AccountOrders: e.AccountOrders}.Validate())
	ask("engine.account_stops", engine.Options{AccountStops: e.AccountStops}.Validate())
	ask("market.trades_min, market.trades_max",
		marketdata.Retention{TradesMin: m.TradesMin, TradesMax: m.TradesMax}.Validate())
	ask("market.candles_kept", marketdata.Retention{Candles: m.Candles}.Validate())
	_, launchpadErr := c.launchpadOptions() // errors of launchpadOptions already name their keys
	_, quorumErr := c.quorum()
	_, referralErr := c.referral()
	_, faultErr := c.faultRules()
	return errors.Join(append(errs, launchpadErr, quorumErr, referralErr, faultErr)...)
}

// isNet reports whether text is an IP address or a CIDR.
func isNet(text string) bool {
	_, ipErr := netip.ParseAddr(text)
	_, netErr := netip.ParsePrefix(text)
	return ipErr == nil || netErr == nil
}

// isPublicKey reports whether text has the form of an API key.
func isPublicKey(text string) bool {
	const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	return len(text) == auth.PublicKeyLength && strings.Trim(text, alphanumeric) == ""
}

// validateListeners refuses addresses on which no process can listen.
func (c *Config) validateListeners() error {
	var errs []error
	for _, l := range []struct{ name, at string }{
		{"server.listen", c.Server.Listen},
		{"internal.listen", c.Internal.Listen},
		{"aggregator.listen", c.Aggregator.Listen},
		{"binance.listen", c.Binance.Listen},
	} {
		if l.at == "" && (l.name == "aggregator.listen" || l.name == "binance.listen") {
			continue // no separate listener
		}
		if l.name == "internal.listen" && strings.HasPrefix(l.at, listen.Unix) {
			continue // a path
		}
		if _, port, err := net.SplitHostPort(l.at); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q must have the form HOST:PORT, for example 127.0.0.1:8080",
				l.name, l.at))
		} else if _, err := net.LookupPort("tcp", port); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q is not a valid port", l.name, port))
		}
	}
	errs = append(errs, c.validateStream())
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		errs = append(errs, errors.New("tls.cert and tls.key need each other; set both or neither"))
	}
	return errors.Join(append(errs, c.validateInternal())...)
}

// validateInternal refuses an internal listener that other hosts could reach without a token.
func (c *Config) validateInternal() error {
	for _, entry := range c.Internal.Hosts {
		if err := admin.CheckHost(entry); err != nil {
			return fmt.Errorf("internal.hosts: %w", err)
		}
	}
	if c.Internal.Token != "" && c.Internal.TokenFile != "" {
		return errors.New("internal.token and internal.token_file are both set; keep one")
	}
	if (c.Internal.Cert == "") != (c.Internal.Key == "") {
		return errors.New("internal.cert and internal.key need each other; set both or neither")
	}
	if path, ok := strings.CutPrefix(c.Internal.Listen, listen.Unix); ok {
		switch {
		case path == "":
			return errors.New("internal.listen: unix: needs a path, for example unix:/run/tickhive/internal")
		case c.Internal.Token != "" || c.Internal.TokenFile != "" || len(c.Internal.Hosts) > 0:
			return errors.New("internal.listen: a unix socket asks for no token and no host; " +
				"leave out internal.token, internal.token_file and internal.hosts")
		case c.Internal.Cert != "":
			return errors.New("internal.listen: a unix socket has no TLS; leave out internal.cert and internal.key")
		}
		return nil
	}
	switch {
	case !c.exposed(): // or no address, which validateListeners reports
		return nil
	case c.Internal.Token == "" && c.Internal.TokenFile == "":
		return fmt.Errorf("internal.listen: %s is not a loopback address, so it requires --internal-token-file "+
			"or --internal-token", c.Internal.Listen)
	case c.Internal.Cert == "" && c.keyFile() == "" && c.Replica.From == "": // a follower has keys
		return fmt.Errorf("internal.listen: %s is not a loopback address, so it requires TLS: set cluster.key_file, "+
			"or internal.cert and internal.key", c.Internal.Listen)
	}
	return nil
}

// clockStart returns the configured start of a virtual clock, or the current time.
func (c *Config) clockStart() (int64, error) {
	if c.Clock.Start == "" {
		return clock.Real{}.NowNs(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, c.Clock.Start)
	if err != nil {
		return 0, fmt.Errorf("clock.start: %q must be an RFC 3339 time such as 2026-01-01T00:00:00Z", c.Clock.Start)
	}
	if t.Year() < 1970 || t.Year() > 2200 {
		return 0, fmt.Errorf("clock.start: the year of %s must be from 1970 to 2200", c.Clock.Start)
	}
	return t.UnixNano(), nil
}

func parseLevel(s string) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	l, ok := levels[s]
	if !ok {
		return 0, fmt.Errorf("%q must be one of debug, info, warn, error", s)
	}
	return l, nil
}
