package exchange

import (
	"errors"
	"fmt"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/wal"
)

// accountSide is the accounts part of an exchange. A nil accountSide has not been recovered.
type accountSide struct {
	store *accounts.Store
	state *accounts.State
	view  *accounts.Shown // of state
	shown *shownAccounts  // nil: readers see state
	rates accounts.Config // the referral rates that are effective
}

// beginAccounts starts the store of the recovered accounts.
func beginAccounts(log *accounts.Recovery) (*accountSide, error) {
	store, err := log.Begin()
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return &accountSide{store: store, state: log.State(), view: log.State().Shown()}, nil
}

// setRates submits the configured referral rates unless they are effective already.
func (a *accountSide) setRates(want accounts.Config) error {
	a.rates = want
	if cmd, due := a.state.RatesCommand(want); due {
		if _, err := a.store.Do(cmd); err != nil {
			return fmt.Errorf("accounts: referral rates: %w", err)
		}
	}
	return nil
}

// failed returns the reason why the accounts accept no more changes, or nil.
func (a *accountSide) failed() error {
	if a == nil {
		return nil
	}
	return a.store.Health()
}

// checkpoint takes a snapshot of the accounts. A segment of the market's journal can be removed only when a
// snapshot of the accounts covers it. checkpoint first writes a record with the effective referral rates,
// because without a new record no snapshot would be taken.
func (a *accountSide) checkpoint() error {
	_, err := a.store.Do(accounts.Command{Kind: accounts.Configure, Config: a.rates})
	return errors.Join(err, a.store.SnapshotSoon())
}

// UnlimitedAccount returns the unlimited, fee-free account with this nickname and creates it if it does not
// exist. In a replay, recorded takers trade through it with the built-in account.
func (x *Running) UnlimitedAccount(nickname string) (engine.AccountID, error) {
	a := x.accounts
	for n := range uint32(a.view.UserCount()) {
		if u, ok := a.view.User(n + 1); ok && u.Nickname == nickname {
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
	if a == nil {
		return nil
	}
	err := a.store.Snapshot()
	if errors.Is(err, wal.ErrClosed) {
		return nil
	}
	return errors.Join(err, a.store.Close())
}
