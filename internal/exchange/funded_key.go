package exchange

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts/auth"
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

// FundedKey makes a key of the first demo user, in a market without demo users of a new demo account. The caller calls
// it before Admit, so that no client sees the exchange without the key.
func (x *Running) FundedKey() (FundedKey, error) {
	if x.sim == nil {
		a, refused := x.front.account.NewDemoAccount()
		if refused != nil {
			return FundedKey{}, fmt.Errorf("demo account: %w", refused)
		}
		return FundedKey{User: a.UserID, Public: a.PublicKey, Private: a.PrivateKey}, nil
	}
	const first = 1
	res, err := x.newKey(first, fundedKeyName)
	if err != nil {
		return FundedKey{}, fmt.Errorf("demo key: %w", err)
	}
	user, _ := x.accounts.view.User(first)
	return FundedKey{User: user.ID, Public: res.Key.PublicKey, Private: res.Secret}, nil
}
