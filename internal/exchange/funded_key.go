package exchange

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fixed"
)

// FundedKey is a trading key of a user who has money.
type FundedKey struct {
	User    string // id of the user
	Public  string
	Private auth.Secret
}

// fundedKeyName is the name of the keys that FundedKey makes.
const fundedKeyName = "demo-key"

// HasKey reports whether public is a usable key of a user.
func (x *Running) HasKey(user, public string) bool {
	id, err := uuid.Parse(user)
	if err != nil {
		return false
	}
	n, ok := x.accounts.view.NumberOf(id)
	if !ok {
		return false
	}
	for _, k := range x.accounts.view.Keys(n, x.clock.NowNs()) {
		if k.PublicKey == public {
			return k.IsActive && k.CanTrade
		}
	}
	return false
}

// FundedKey makes a key of the first demo user, in a market without demo users of a new user with the same
// funds. The caller calls it before Admit, so that no client sees the exchange without the key.
func (x *Running) FundedKey() (FundedKey, error) {
	n := uint32(1)
	if x.sim == nil {
		var err error
		if n, err = x.addFundedUser(); err != nil {
			return FundedKey{}, fmt.Errorf("user of the demo key: %w", err)
		}
	}
	res, err := x.newKey(n, fundedKeyName)
	if err != nil {
		return FundedKey{}, fmt.Errorf("demo key: %w", err)
	}
	user, _ := x.accounts.view.User(n)
	return FundedKey{User: user.ID, Public: res.Key.PublicKey, Private: res.Secret}, nil
}

// addFundedUser adds a user with the amounts of a demo user.
func (x *Running) addFundedUser() (uint32, error) {
	res, err := x.accounts.do(accounts.Command{Kind: accounts.CreateUser})
	if err != nil {
		return 0, err
	}
	amounts := x.demoAmounts()
	for _, asset := range x.o.Assets {
		err := x.accounts.doAll(accounts.Command{
			Kind: accounts.Deposit, User: res.User.Number, Currency: asset.Symbol,
			Amount: fixed.MustText([]byte(amounts[asset.Symbol])),
		})
		if err != nil {
			return 0, err
		}
	}
	return res.User.Number, nil
}
