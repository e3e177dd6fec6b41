package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// allowCharacters are those of addresses and public keys.
const allowCharacters = "0123456789.:/%ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// validate reports every value that cannot be served, by its key.
func (c *Config) validate() error {
	// Everything below converts decimals: their form comes first.
	if err := c.checkDecimals(); err != nil {
		return err
	}
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
	}
	oneOf := func(name, value string, words ...string) {
		if !slices.Contains(words, value) {
			bad(name, "%q is not one of %s", value, strings.Join(words, ", "))
		}
	}
	between := func(name string, v, low, high int) {
		if v < low || v > high {
			bad(name, "%d is not from %d to %d", v, low, high)
		}
	}
	oneOf("market.pairs", c.Market.Pairs, pairsBuiltin, pairsNone)
	oneOf("journal.sync", c.Journal.Sync, "always", "interval", "off")
	oneOf("journal.keep", c.Journal.Keep, "covered", "all")
	between("journal.segment_bytes", int(c.Journal.SegmentBytes), 4<<10, 4<<30)
	between("journal.snapshot_bytes", int(c.Journal.SnapshotBytes), 4<<10, 1<<40)
	oneOf("clock.mode", c.Clock.Mode, clockReal, clockVirtual)
	between("rate.per_minute", c.Rate.PerMinute, 1, 10_000)
	between("rate.per_second", c.Rate.PerSecond, 1, 10_000)
	between("rate.votes_per_minute", c.Rate.VotesPerMinute, 1, 10_000)
	between("rate.clients", c.Rate.Clients, 1, 10_000_000)
	between("engine.loops", c.Engine.Loops, 1, 256)
	between("orders.closed_kept", c.Orders.ClosedKept, 1, 100_000_000)
	between("orders.fills_kept", c.Orders.FillsKept, 2, 100_000_000)
	for _, entry := range c.Rate.Allow {
		if entry == "" || strings.Trim(entry, allowCharacters) != "" {
			bad("rate.allow", "%q is no IP, no CIDR and no public key", entry)
		}
	}
	if n := len(c.Market.CandlesKept); n != 10 {
		bad("market.candles_kept", "has %d numbers, not one for each of the ten intervals", n)
	}
	if n := len(c.Referral.Levels); n != 5 {
		bad("referral.levels", "has %d shares, not one for each of the levels 1 to 5", n)
	}
	if n := len(c.Referral.Staking); n != 9 {
		bad("referral.staking", "has %d shares, not one for each of R0 to R8", n)
	}
	if _, err := parseLevel(c.Log.Level); err != nil {
		bad("log.level", "%v", err)
	}
	if _, err := c.startNs(); err != nil {
		bad("clock.start", "%v", err)
	}
	if err := c.validateInternal(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.validateMarket())...)
}

// validateInternal refuses an internal listener that others could reach unasked.
func (c *Config) validateInternal() error {
	host, _, err := net.SplitHostPort(c.Internal.Listen)
	if err != nil {
		return fmt.Errorf("internal.listen: %q is not of the form HOST:PORT", c.Internal.Listen)
	}
	ip := net.ParseIP(host)
	if c.Internal.Token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("internal.listen: %s is not a loopback address, so it needs --internal-token", c.Internal.Listen)
	}
	return nil
}

// validateMarket checks assets and pairs by making them.
func (c *Config) validateMarket() error {
	var errs []error
	symbols := map[string]bool{}
	for i := range c.Assets {
		a := &c.Assets[i]
		if symbols[a.Symbol] {
			errs = append(errs, fmt.Errorf("assets: %s stands twice", a.Symbol))
		}
		symbols[a.Symbol] = true
		if !engine.ValidPairCode(a.Symbol + "_XX") {
			errs = append(errs, fmt.Errorf("assets: symbol %q is not 2 to 12 of A-Z and 0-9", a.Symbol))
		}
	}
	codes := map[string]bool{}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if codes[p.Code] {
			errs = append(errs, fmt.Errorf("pairs: %s stands twice", p.Code))
		}
		codes[p.Code] = true
		ins, err := p.instrument()
		if err == nil {
			err = ins.Validate()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("pairs: %s: %w", p.Code, err))
		}
	}
	return errors.Join(errs...)
}

// instrument is the pair as the engine takes it, without id and time.
func (p *PairConfig) instrument() (*engine.Instrument, error) {
	base, quote, _ := strings.Cut(p.Code, "_")
	ins := &engine.Instrument{
		Code: p.Code, Base: base, Quote: quote, DigitsPrice: p.DigitsPrice, DigitsAmount: p.DigitsAmount,
	}
	if p.DigitsPrice < 0 || p.DigitsAmount < 0 || ins.DigitsTotal() > fixed.Scale {
		return ins, nil // Validate says why
	}
	var err error
	if ins.MakerFee, err = cmp.Or(p.MakerFee, defaultFee).rate(); err != nil {
		return nil, err
	}
	if ins.TakerFee, err = cmp.Or(p.TakerFee, defaultFee).rate(); err != nil {
		return nil, err
	}
	if p.MinQuote.given() {
		q, r := p.MinQuote.value().Abs().DivMod64(fixed.Pow10[fixed.Scale-ins.DigitsTotal()])
		if r != 0 {
			return nil, fmt.Errorf("min_quote %s has more than %d fractional digits", p.MinQuote, ins.DigitsTotal())
		}
		ins.MinQuote, ins.HasMinQuote = q, true
	}
	switch p.State {
	case "", engine.Online.String():
	case engine.PostOnlyState.String():
		ins.State = engine.PostOnlyState
	case engine.CancelOnly.String():
		ins.State = engine.CancelOnly
	case engine.Halted.String():
		ins.State = engine.Halted
	default:
		return nil, fmt.Errorf("state %q is not one of online, post_only, cancel_only, halted", p.State)
	}
	return ins, nil
}

// asset is the currency as the engine takes it.
func (a *AssetConfig) asset() *engine.Asset {
	return &engine.Asset{
		Symbol: a.Symbol, Name: cmp.Or(a.Name, a.Symbol), Fiat: a.Fiat,
		UnifiedCryptoassetID: a.UnifiedID, HasUnifiedID: a.UnifiedID != 0,
		CanWithdraw: !a.WithdrawOff, CanDeposit: !a.DepositOff,
		MinWithdraw: a.MinWithdraw.value(), HasMinWithdraw: a.MinWithdraw.given(),
		MaxWithdraw: a.MaxWithdraw.value(), HasMaxWithdraw: a.MaxWithdraw.given(),
		MakerFee: a.MakerFee.value(), HasMakerFee: a.MakerFee.given(),
		TakerFee: a.TakerFee.value(), HasTakerFee: a.TakerFee.given(),
	}
}

// startNs is the configured start of a virtual clock, 0 when it starts now.
func (c *Config) startNs() (int64, error) {
	if c.Clock.Start == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339Nano, c.Clock.Start)
	if err != nil {
		return 0, fmt.Errorf("%q is not an RFC 3339 time such as 2026-01-01T00:00:00Z", c.Clock.Start)
	}
	if t.Year() < 1970 || t.Year() > 2200 {
		return 0, fmt.Errorf("%s is not between 1970 and 2200", c.Clock.Start)
	}
	return t.UnixNano(), nil
}

func parseLevel(s string) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	l, ok := levels[s]
	if !ok {
		return 0, fmt.Errorf("%q is not one of debug, info, warn, error", s)
	}
	return l, nil
}
