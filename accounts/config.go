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
