package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"reflect"
	"strings"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/sim"
)

// checker is a section with rules that no tag states. Its errors name the key.
type checker interface{ Check() error }

// validate returns an error for every invalid value, with its key.
func (c *Config) validate() error {
	// The later checks convert decimals, so their form is checked first.
	if err := c.check((*setting.Key).CheckForm); err != nil {
		return err
	}
	errs := []error{c.check((*setting.Key).CheckLimits)}
	for _, section := range c.sections() {
		if s, ok := section.Value.Addr().Interface().(checker); ok {
			errs = append(errs, s.Check())
		}
	}
	for _, entry := range c.Rate.Allow {
		if !isNet(entry) && !auth.WellFormed(entry) {
			errs = append(errs, fmt.Errorf("rate.allow: %q must be an IP, a CIDR or a public key", entry))
		}
	}
	return errors.Join(append(errs, c.check((*setting.Key).CheckSign), c.validateEffect(), c.validateListeners(),
		c.validateMarket())...)
}

// isNet reports whether text is an IP address or a CIDR.
func isNet(text string) bool {
	_, ipErr := netip.ParseAddr(text)
	_, netErr := netip.ParsePrefix(text)
	return ipErr == nil || netErr == nil
}

// check applies one check to all keys, also of assets and pairs, and joins the errors.
func (c *Config) check(one func(*setting.Key) error) error {
	keys := c.Keys()
	for i := range c.Assets {
		keys = append(keys, setting.Keys("assets: "+c.Assets[i].Symbol+": ", reflect.ValueOf(c.Assets[i]))...)
	}
	for i := range c.Pairs {
		keys = append(keys, setting.Keys("pairs: "+c.Pairs[i].Code+": ", reflect.ValueOf(c.Pairs[i]))...)
	}
	var errs []error
	for i := range keys {
		errs = append(errs, one(&keys[i]))
	}
	return errors.Join(errs...)
}

// validateEffect refuses settings that another setting makes ineffective.
func (c *Config) validateEffect() error {
	var errs []error
	if c.Sim.Backfill > 0 && !c.Simulated() {
		errs = append(errs, errors.New("sim.backfill: a backfill needs the simulated market; "+
			"remove --backfill, or remove --sim off and --pairs none"))
	}
	if c.given["sim.past"] && c.Sim.Past > 0 && !c.Simulated() {
		errs = append(errs, errors.New("sim.past: the candles are those of the simulated market; "+
			"remove --past, or remove --sim off and --pairs none"))
	}
	if !c.Simulated() && c.Sim.Config != usualMarket() {
		errs = append(errs, errors.New("sim.scenario, sim.intensity: the simulated market is off; "+
			"remove them, or remove --sim off and --pairs none"))
	}
	if c.given["sim.enabled"] && c.Sim.Enabled && c.Market.Pairs == PairsNone {
		errs = append(errs,
			errors.New("sim.enabled: the simulated market needs the configured pairs, but market.pairs is none; "+
				"remove --pairs none or set --sim off"))
	}
	return errors.Join(errs...)
}

// usualMarket returns the built-in behaviour of the simulated market.
func usualMarket() (usual sim.Config) {
	setting.Fill(&usual)
	return usual
}

// maxBinance bounds the addresses of the Binance-compatible listener: its programs need two ports.
const maxBinance = 16

// validateListeners refuses addresses on which no process can listen, and one that two listeners have.
func (c *Config) validateListeners() error {
	var errs []error
	owners := map[string]string{}
	add := func(key, at string) {
		err := validateAddress(key, at)
		if owner, taken := owners[at]; err == nil && taken && !strings.HasSuffix(at, ":0") { // a free port for each
			err = fmt.Errorf("%s: %s listens on %s already; give another port", key, owner, at)
		}
		owners[at] = key
		errs = append(errs, err)
	}
	add("server.listen", c.Server.Listen)
	if !strings.HasPrefix(c.Internal.Listen, listen.Unix) { // a path
		add("internal.listen", c.Internal.Listen)
	}
	if c.Aggregator.Listen != "" { // else no separate listener
		add("aggregator.listen", c.Aggregator.Listen)
	}
	for _, at := range c.Binance.Listen {
		add("binance.listen", at)
	}
	if n := len(c.Binance.Listen); n > maxBinance {
		errs = append(errs, fmt.Errorf("binance.listen: %d addresses, at most %d", n, maxBinance))
	}
	errs = append(errs, c.validateStream())
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		errs = append(errs, errors.New("tls.cert and tls.key need each other; set both or neither"))
	}
	return errors.Join(append(errs, c.validateInternal())...)
}

// validateAddress refuses an address without a host or with a port that does not exist.
func validateAddress(key, at string) error {
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return fmt.Errorf("%s: %q must have the form HOST:PORT, for example 127.0.0.1:8080", key, at)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%s: %q is not a valid port", key, port)
	}
	return nil
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
	case c.Internal.Cert == "" && c.KeyFile() == "" && c.Replica.From == "": // a follower has keys
		return fmt.Errorf("internal.listen: %s is not a loopback address, so it requires TLS: set cluster.key_file, "+
			"or internal.cert and internal.key", c.Internal.Listen)
	}
	return nil
}

// ParseLevel returns a level of the log by its name.
func ParseLevel(s string) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	l, ok := levels[s]
	if !ok {
		return 0, fmt.Errorf("%q must be one of debug, info, warn, error", s)
	}
	return l, nil
}
