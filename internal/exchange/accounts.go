package exchange

import (
	"fmt"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/seal"
)

// accountSide carries out the commands of the accounts on the loop, and shows them. A nil accountSide has not been
// recovered.
type accountSide struct {
	gate    *sequencer.Gate
	secrets *seal.Key
	wait    sequencer.Mark  // of an answer
	state   *accounts.State // decides; read on the loop's goroutine only
	view    *accounts.Shown // what readers see
	carry   *Carry          // keeps the commands of clients; nil: nothing does. Set before clients are admitted
}

// do carries out a command, and returns when it is as safe as its answer says and readers see it.
func (a *accountSide) do(cmd accounts.Command) (accounts.Result, error) {
	if a.carry != nil {
		return a.carry.do(cmd, a.carryOut)
	}
	return a.carryOut(cmd)
}

func (a *accountSide) carryOut(cmd accounts.Command) (accounts.Result, error) {
	if refused := cmd.Check(); refused != nil {
		return accounts.Result{}, refused
	}
	if cmd.Kind == accounts.CreateKey {
		if refused := a.view.Index().MayMake(cmd.SignedBy, &cmd.Key.KeyRequest); refused != nil {
			return accounts.Result{}, refused
		}
	}
	res, err := submit(a.gate, sequencer.OtherBatch(machine.OfAccounts(&cmd, a.secrets), a.wait))
	if err != nil {
		return accounts.Result{}, err
	}
	res.Accounts.Open(&cmd, a.secrets)
	return res.Accounts, nil
}

// submit submits the command of another part than the market. The error is a refusal, or one of the loop.
func submit(gate *sequencer.Gate, b *sequencer.Batch) (*machine.Result, error) {
	if err := gate.Submit(b); err != nil {
		return nil, err
	}
	res := b.Result.(*machine.Result)
	return res, res.Refused
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
	res, err := a.do(accounts.Command{
		Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{Nickname: &nickname, Unlimited: &unlimited},
	})
	if err != nil {
		return 0, fmt.Errorf("accounts: %w", err)
	}
	free := true
	_, err = a.do(accounts.Command{
		Kind: accounts.PatchUser, User: res.User.Number, Profile: accounts.ProfilePatch{NoTradeCommissions: &free},
	})
	if err != nil {
		return 0, fmt.Errorf("accounts: %w", err)
	}
	return engine.AccountID(res.User.Number), nil
}

// newKey creates a key of a user that trades and makes further keys.
func (x *Running) newKey(user uint32, name string) (accounts.Result, error) {
	key, err := auth.Draw(x.o.Machine.Random, auth.KeyRequest{Name: name, CanTrade: true, CanManageKeys: true})
	if err != nil {
		return accounts.Result{}, err
	}
	return x.accounts.do(accounts.Command{Kind: accounts.CreateKey, User: user, Key: key})
}
