package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/server"
)

// accountSide is the accounts part of a running exchange.
type accountSide struct {
	store *accounts.Store
	state *accounts.State
	rates accounts.Config // in force
	// notBeforeMs is the time before which signed requests are refused (begin).
	notBeforeMs int64
}

// recoverAccounts opens the accounts of a directory; with an empty dir nothing is stored. A market
// log, if any, is the journal that the accounts fold (docs/contract/storage.md#recovery).
func recoverAccounts(cfg *Config, dir string, c clock.Clock, market *marketLog, logf func(format string, args ...any)) (*accounts.Recovery, error) {
	o := accounts.StoreOptions{State: cfg.accountOptions()}
	o.Dir, o.Clock, o.Logf, o.KeepAll = dir, c, logf, cfg.Journal.Keep == "all"
	o.Log = wal.Options{NoLock: true, Writer: "TickHive " + cmdline.Version}
	if dir != "" {
		o.FS = vfs.OS{}
	}
	if market != nil {
		o.EngineDurable, o.EngineLast = market.durable, market.log.LastSeq()
	}
	r, err := accounts.Recover(o)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return r, nil
}

// openAccounts starts the recovered accounts.
func openAccounts(r *accounts.Recovery, logf func(format string, args ...any)) (*accountSide, error) {
	store, err := r.Begin()
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	for _, bad := range store.Recovered().Damaged {
		logf("accounts: a snapshot was passed over for the one before: %s", bad)
	}
	return &accountSide{store: store, state: r.State()}, nil
}

// begin ends the recovery after the whole journal was folded. It releases holds of orders that
// the engine does not have, attaches the state to the account handlers, and puts the
// configured referral rates in force. open reports whether the engine has an open order. data
// is nil if nothing survives the process. marketNs is the time of the last command.
func (a *accountSide) begin(cfg *Config, c clock.Clock, marketNs int64, data *dataDir, desk *server.AccountDesk, open func(order uint64) bool) (released int, err error) {
	released = a.state.ReleaseUnknown(open)
	s, err := a.signing(c, marketNs, data)
	if err != nil {
		return released, err
	}
	desk.Attach(s)
	if data != nil {
		if err := data.nonces.follow(desk.NonceFloorMs); err != nil {
			return released, err
		}
	}
	want, err := cfg.referral()
	if err != nil {
		return released, err
	}
	a.rates = want
	if cmd, due := a.state.Reconfigure(want); due {
		if _, err = a.store.Do(cmd); err != nil {
			return released, fmt.Errorf("accounts: referral rates: %w", err)
		}
	}
	if err := accounts.Anchor(a.store, a.state); err != nil {
		return released, fmt.Errorf("accounts: a snapshot after the recovery: %w", err)
	}
	return released, nil
}

// signing returns the state for the account handlers with the limits of signed requests. After
// a restart the clock may be behind marketNs, the time of the last command, and behind the
// accounts' last record. Requests signed until then must not be accepted again.
func (a *accountSide) signing(c clock.Clock, marketNs int64, data *dataDir) (server.AccountStore, error) {
	s := server.AccountStore{State: a.state, Do: a.store.Do}
	if info := a.store.Recovered(); info.LastSeq > 0 {
		s.NotBeforeMs = max(c.NowNs(), marketNs, a.state.LastNs()) / int64(time.Millisecond)
	}
	if data == nil {
		return s, nil
	}
	var err error
	data.nonces, s.NotBeforeMs, err = openNonceFile(data.sub("NONCES"), s.NotBeforeMs)
	if err == nil {
		s.Used, s.KeepNonce = data.nonces.used(s.NotBeforeMs), data.nonces.keep
	}
	a.notBeforeMs = s.NotBeforeMs
	return s, err
}

// checkpoint takes a snapshot of the accounts, because a segment of the market is removed only
// when the accounts have passed it too. It first writes a record, without which no new
// snapshot would be due if no account has changed. The record repeats the referral rates in force.
func (a *accountSide) checkpoint() error {
	_, err := a.store.Do(accounts.Command{Kind: accounts.Configure, Config: a.rates})
	return errors.Join(err, a.store.SnapshotSoon())
}

// stranger returns the unlimited account with this nickname that pays no fee, and creates it
// if it does not exist. Recorded takers trade through it against the built-in account.
func (a *accountSide) stranger(nickname string) (engine.AccountID, error) {
	view := a.state.View()
	for n := range uint32(view.Users()) {
		if u, ok := view.User(n + 1); ok && u.Nickname == nickname {
			return engine.AccountID(n + 1), nil
		}
	}
	unlimited := true
	res, err := a.store.Do(accounts.Command{
		Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{Nickname: &nickname, Unlimited: &unlimited},
	})
	if err != nil {
		return 0, fmt.Errorf("accounts: %w", err)
	}
	free := true
	_, err = a.store.Do(accounts.Command{
		Kind: accounts.PatchUser, User: res.User.Number, Profile: accounts.ProfilePatch{NoTradeCommissions: &free},
	})
	if err != nil {
		return 0, fmt.Errorf("accounts: %w", err)
	}
	return engine.AccountID(res.User.Number), nil
}

// close takes a last snapshot, which shortens the next replay, and closes the store. The
// engine's loop must have stopped and its journal must be durable.
func (a *accountSide) close() error {
	err := a.store.Snapshot()
	if errors.Is(err, wal.ErrClosed) {
		return nil
	}
	return errors.Join(err, a.store.Close())
}

// newAccountDesk builds the account handlers; begin attaches their state.
func (x *exchange) newAccountDesk(ledger server.Ledger) (*server.AccountDesk, error) {
	return server.NewAccountDesk(server.AccountOptions{
		Exchange:    &x.gate, Core: x.core, History: x.feed.History(), Board: x.feed.Board(), Clock: x.clock,
		Legacy: x.cfg.Auth.Legacy, PublicURL: x.cfg.Auth.PublicURL, Commissions: x.prices.Commissions, Ledger: ledger,
	})
}

// accountOptions returns the commissions of withdrawals. A currency without a configured record is charged
// nothing, as GET commissions reports.
func (c *Config) accountOptions() accounts.Options {
	o := accounts.Options{ByCurrency: map[string]accounts.CommissionRule{}, Random: rand.Reader}
	for _, r := range c.commissions() {
		if r.Type == server.CommissionWithdrawal {
			o.ByCurrency[r.Currency] = accounts.CommissionRule{Percent: r.Percent, Minimum: r.Minimum}
		}
	}
	return o
}

// referral returns the configured rates.
func (c *Config) referral() (accounts.Config, error) {
	var errs []error
	rate := func(name string, d Decimal) uint32 {
		v, err := d.rate()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return v
	}
	r := accounts.Config{BonusShare: rate("referral.bonus_share", c.Referral.BonusShare)}
	for _, d := range c.Referral.Levels {
		r.Levels = append(r.Levels, rate("referral.levels", d))
	}
	for i := range min(len(c.Referral.Staking), len(r.Staking)) {
		r.Staking[i] = rate("referral.staking", c.Referral.Staking[i])
	}
	if len(errs) > 0 {
		return r, errors.Join(errs...)
	}
	return r, r.Validate()
}
