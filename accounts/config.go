package accounts

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"tickhive/accounts/accrual"
	"tickhive/internal/fixed"
)

// Config holds the current referral rates (docs/contract/accounts.md#accruals), in 10^-8. It is
// part of the state, and each change is a record, so that a replay pays the rates of that time.
type Config struct {
	Levels     []uint32 // share of a fee for each level; index 0 is level 1, the direct inviter
	Staking    [StakingLevels]uint32
	BonusShare uint32 // part of a staking bonus that gets its own record
}

// DefaultConfig returns the rates of docs/contract/accounts.md#accruals. A new state has them.
func DefaultConfig() Config {
	const percent = RateOne / 100
	return Config{
		Levels: []uint32{20 * percent, 10 * percent, 5 * percent, 3 * percent, 2 * percent},
		Staking: [StakingLevels]uint32{
			0, 5 * percent, 8 * percent, 10 * percent, 12 * percent, 14 * percent,
			16 * percent, 18 * percent, 20 * percent,
		},
	}
}

// Equal reports whether two configurations are the same.
func (c Config) Equal(o Config) bool {
	return slices.Equal(c.Levels, o.Levels) && c.Staking == o.Staking && c.BonusShare == o.BonusShare
}

// Validate reports why the rates cannot be paid out of the fees.
func (c Config) Validate() error {
	if len(c.Levels) < 1 || len(c.Levels) > accrual.MaxLevels {
		return fmt.Errorf("referral.levels has %d rates, not 1 to %d", len(c.Levels), accrual.MaxLevels)
	}
	var sum uint64
	for i, r := range c.Levels {
		if i == 1 { // an ambassador has their own percentage on this level
			r = max(r, maxSecondLevel)
		}
		sum += uint64(r)
	}
	if sum > RateOne {
		return fmt.Errorf("referral.levels sum to more than the fee they are paid from "+
			"(an ambassador's second level may be %d percent)", maxSecondLevelPercent)
	}
	for i, r := range c.Staking {
		if r > RateOne || (i > 0 && r < c.Staking[i-1]) {
			return fmt.Errorf("referral.staking R%d is above 1 or below the level before it", i)
		}
	}
	if c.BonusShare > RateOne {
		return fmt.Errorf("referral.bonus_share is above 1")
	}
	return nil
}

// CommissionRule is the commission of a withdrawal: a fraction, and the minimum
// commission in units of the currency (10^-18).
type CommissionRule struct {
	Percent uint32     // 10^-8
	Minimum fixed.I128 // 10^-18
}

// of returns the commission of an amount, rounded half to even to 10^-18; it is at least the minimum.
func (r CommissionRule) of(amount fixed.I128) fixed.I128 {
	c := percentHalfEven(amount, r.Percent)
	if c.Cmp(r.Minimum) < 0 {
		return r.Minimum
	}
	return c
}

// Options configure a new State. The referral rates are not among them: they change by a
// Configure command (State.RatesCommand reports whether one is needed).
type Options struct {
	// Withdrawal is the commission of a withdrawal; ByCurrency overrides it. A deposit is not
	// charged.
	Withdrawal CommissionRule
	ByCurrency map[string]CommissionRule
	// Random supplies the bytes of new keys: crypto/rand.Reader.
	Random io.Reader
	// Avatars is the catalogue; nil means the built-in one.
	Avatars *Catalogue
}

// Validate reports a missing source of random bytes or a commission that is out of range.
func (o *Options) Validate() error {
	if o.Random == nil {
		return fmt.Errorf("accounts: no source of random bytes for keys")
	}
	return o.ValidateCommissions()
}

// ValidateCommissions reports a commission that is out of range.
func (o *Options) ValidateCommissions() error {
	rules := slices.AppendSeq([]CommissionRule{o.Withdrawal}, maps.Values(o.ByCurrency))
	for _, r := range rules {
		if r.Percent > RateOne || r.Minimum.Sign() < 0 || r.Minimum.Cmp(MaxMoney) > 0 {
			return fmt.Errorf("accounts: a commission is negative or above 1")
		}
	}
	return nil
}

// withdrawal returns the commission of a withdrawal of a currency.
func (o *Options) withdrawal(currency string) CommissionRule {
	if rule, ok := o.ByCurrency[currency]; ok {
		return rule
	}
	return o.Withdrawal
}

// The limits of the package. Each bounds something that a caller could otherwise grow.
const (
	// MaxUsers bounds the directory; a search looks at each user.
	MaxUsers = 1_000_000
	// MaxKeysPerUser bounds the API keys of a user (docs/contract/accounts.md#api-keys).
	MaxKeysPerUser = 30
	// MaxKeyName is the longest name of a key, in code points.
	MaxKeyName = 64
	// MaxLinksPerUser bounds the ambassador links of one user.
	MaxLinksPerUser = 100
	// MaxNickname and MinNickname bound a nickname, in code points.
	MaxNickname = 32
	// MinNickname is the shortest nickname.
	MinNickname = 2
	// maxNicknameTries bounds the nicknames that are tried for a user who chose none.
	maxNicknameTries = 100
	// MaxRealName bounds name and secondName, in code points.
	MaxRealName = 64
	// MaxLevel is the highest user level.
	MaxLevel = 30
	// StakingLevels is the number of staking levels, R0 to R8.
	StakingLevels = 9
	// MaxStakingUplines bounds the inviters that a staking income passes on its way up
	// (docs/contract/accounts.md#accruals).
	MaxStakingUplines = 64
	// MaxLevelChanges bounds the history of staking levels of one user.
	MaxLevelChanges = 10_000
	// MaxDealAccruals bounds the accruals from trades that are retained one by one, over all users;
	// the oldest beyond it move to the archive of their day. 2,000,000 of 72 bytes are 144 MB.
	MaxDealAccruals = 2_000_000
	// MaxCommandAccruals bounds the accruals of commands (staking, withdrawals, other
	// profits), which are never archived; beyond it AddProfit commands are refused.
	MaxCommandAccruals = 4_000_000
	// MaxReservations bounds the orders on their way to the engine.
	MaxReservations = 1_000_000
	// MaxSearchResults bounds the inviters that a search finds
	// (docs/contract/accounts.md#inviters).
	MaxSearchResults = 20
	// MaxSearchQuery is the longest search text, in code points.
	MaxSearchQuery = 64
)

// RateOne is the rate 1.0; rates and discounts are integers in units of 10^-8.
const RateOne = 100_000_000
