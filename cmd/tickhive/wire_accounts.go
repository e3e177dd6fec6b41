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

// accountHooks tie the accounts' log to the engine's journal (docs/contract/storage.md#recovery).
// Nil members: there is no journal.
type accountHooks struct {
	// Durable waits until the journal is durable up to a position.
	Durable func(pos uint64) error
	// Last is the last position that the journal holds. It is asked during openAccounts only.
	Last func() uint64
	// FoldTo folds the engine's events after the state's EnginePos up to pos, and no
	// further. It is called during openAccounts only.
	FoldTo func(st *accounts.State, pos uint64) error
}

// accountSide is the accounts of a running exchange.
type accountSide struct {
	store *accounts.Store
	state *accounts.State
	rates accounts.Config // in force
	// broken: a fold into state has panicked, and nothing of it may be written.
	broken bool
	// notBeforeMs: signed requests with older timestamps are refused (begin).
	notBeforeMs int64
}

// openAccounts recovers the accounts of a directory; an empty one keeps nothing. What
// the engine's journal holds beyond the last record is the caller's to fold afterwards.
func openAccounts(cfg *Config, dir string, c clock.Clock, hooks accountHooks, logf func(format string, args ...any)) (*accountSide, error) {
	o := accounts.StoreOptions{
		State: cfg.accountOptions(), Dir: dir, Clock: c, Logf: logf, KeepAll: cfg.Journal.Keep == "all",
		Log:           wal.Options{NoLock: true, Writer: "TickHive " + cmdline.Version},
		EngineDurable: hooks.Durable, EngineLast: hooks.Last, FoldTo: hooks.FoldTo,
	}
	if dir != "" {
		o.FS = vfs.OS{}
	}
	store, state, err := accounts.OpenStore(o)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	for _, bad := range store.Recovered().Damaged {
		logf("accounts: a snapshot was passed over for the one before: %s", bad)
	}
	return &accountSide{store: store, state: state}, nil
}

// begin ends the recovery, when everything of the engine's journal is folded: holds of
// orders that the engine does not have go back, the desk gets its state, and the
// configured referral rates are put in force. open reports whether the engine has an
// open order; data is nil where nothing outlives the process; marketNs is the time of the
// last command.
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

// signing is the desk's state with the bounds of signed requests. The clock may be behind
// marketNs, the time of the last command, and behind the accounts' last record, when it went
// back over the restart: what was signed until then must not pass again.
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

// checkpoint takes a snapshot of its own: a market's segment goes when the accounts have
// passed it too. The record before it makes it a new one although nobody may have
// changed an account for long; the rates that it puts in force are those in force.
func (a *accountSide) checkpoint() error {
	_, err := a.store.Do(accounts.Command{Kind: accounts.Configure, Config: a.rates})
	return errors.Join(err, a.store.SnapshotSoon())
}

// stranger is the number of an account that may do anything and pays no fee, made when
// there is none of that name: recorded takers trade with it against the built-in account.
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

// close takes a last snapshot, so that the next start replays little, and ends the
// store. The engine's loop has stopped, and its journal is durable.
func (a *accountSide) close() error {
	if a.broken {
		return nil
	}
	err := a.store.Snapshot()
	if errors.Is(err, wal.ErrClosed) {
		return nil
	}
	return errors.Join(err, a.store.Close())
}

// newAccountDesk makes the edge of the accounts; begin gives it its state.
func (x *exchange) newAccountDesk(ledger server.Ledger) (*server.AccountDesk, error) {
	return server.NewAccountDesk(server.AccountOptions{
		Exchange: &x.gate, Core: x.core, History: x.feed.History(), Board: x.feed.Board(), Clock: x.clock,
		Legacy: x.cfg.Auth.Legacy, PublicURL: x.cfg.Auth.PublicURL, Ledger: ledger,
	})
}

// accountOptions are the commissions: what a currency without a record of its own is
// charged is nothing, as its records at GET commissions say.
func (c *Config) accountOptions() accounts.Options {
	o := accounts.Options{ByCurrency: map[string]accounts.CurrencyCommissions{}, Random: rand.Reader}
	for _, r := range c.commissions() {
		of := o.ByCurrency[r.Currency]
		rule := accounts.CommissionRule{Percent: r.Percent, Minimum: r.Minimum}
		if r.Type == server.CommissionRefill {
			of.Refill = rule
		} else {
			of.Withdrawal = rule
		}
		o.ByCurrency[r.Currency] = of
	}
	return o
}

// referral is the configured rates.
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
