package accounts

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/internal/wire"
)

// Config holds the referral rates (docs/contract/accounts.md#accruals), in 10^-8.
type Config struct {
	Levels     []uint32 // share of a fee for each level; index 0 is level 1, the direct inviter
	Staking    [StakingLevels]uint32
	BonusShare uint32 // part of a staking bonus that gets its own record
}

// DefaultConfig returns the rates of docs/contract/accounts.md#accruals.
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

// ReferralConfig is the section referral of the configuration.
type ReferralConfig struct {
	Levels     []setting.Decimal `toml:"levels" default:"0.20,0.10,0.05,0.03,0.02" help:"share of the fee for referral levels 1 to 5"`
	Staking    []setting.Decimal `toml:"staking" default:"0,0.05,0.08,0.10,0.12,0.14,0.16,0.18,0.20" help:"share of staking income for levels R0 to R8"`
	BonusShare setting.Decimal   `toml:"bonus_share" default:"0" help:"part of a bonus that is recorded separately"`
}

// Rates returns the rates in 10^-8, or every one that is none.
func (c *ReferralConfig) Rates() (Config, error) {
	var errs []error
	rate := func(name string, d setting.Decimal) uint32 {
		v, err := d.Rate()
		if err != nil {
			errs = append(errs, fmt.Errorf("referral.%s: %w", name, err))
		}
		return v
	}
	r := Config{BonusShare: rate("bonus_share", c.BonusShare)}
	for _, d := range c.Levels {
		r.Levels = append(r.Levels, rate("levels", d))
	}
	for i := range min(len(c.Staking), len(r.Staking)) {
		r.Staking[i] = rate("staking", c.Staking[i])
	}
	if len(errs) > 0 {
		return r, errors.Join(errs...)
	}
	return r, r.Validate()
}

// configuredLevels is the number of levels that a configuration names. A state may have more.
const configuredLevels = 5

// Check reports every invalid key.
func (c *ReferralConfig) Check() error {
	var errs []error
	if n := len(c.Levels); n != configuredLevels {
		errs = append(errs, fmt.Errorf("referral.levels: has %d shares but needs %d, one for each of the levels 1 to "+
			"%[2]d", n, configuredLevels))
	}
	if n := len(c.Staking); n != StakingLevels {
		errs = append(errs, fmt.Errorf("referral.staking: has %d shares but needs %d, one for each of R0 to R%d", n,
			StakingLevels, StakingLevels-1))
	}
	_, err := c.Rates()
	return errors.Join(append(errs, err)...)
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

// of returns the commission of an amount in units of a currency, rounded half to even to a unit; it is at least the
// minimum, which counts as whole units.
func (r CommissionRule) of(amount fixed.I128, digits int) fixed.I128 {
	c := fixed.Fee(amount.Abs(), r.Percent, 0)
	least, rest := r.Minimum.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
	if rest != 0 {
		least = least.Add(fixed.FromU64(1))
	}
	if c.Less(least) {
		c = least
	}
	return c.ToI128()
}

// Commission is the commission of a currency's deposits or withdrawals, as GET /api/currencies/commissions lists it.
type Commission struct {
	Withdrawal bool
	Currency   string
	Adapter    string // lower-case blockchain or fiat adapter; empty: none
	CommissionRule
}

// Settings hold all of the configuration that the state reads. They are a part of the state: a record sets them.
type Settings struct {
	// Withdrawal is the commission of a withdrawal; the last one of its currency in Commissions overrides it. A deposit
	// is not charged.
	Withdrawal  CommissionRule
	Commissions []Commission
	Referral    Config
}

// maxCommissions bounds the list of commissions: one of deposits and one of withdrawals for each asset of a market.
const maxCommissions = 2 * engine.DefaultAssets

// maxAdapter bounds the name of an adapter.
const maxAdapter = 64

// Validate reports a setting that is out of range.
func (o *Settings) Validate() error {
	if len(o.Commissions) > maxCommissions {
		return fmt.Errorf("accounts: %d commissions, at most %d", len(o.Commissions), maxCommissions)
	}
	rules := []CommissionRule{o.Withdrawal}
	for i := range o.Commissions {
		c := &o.Commissions[i]
		if len(c.Currency) > engine.MaxCurrencyCode || len(c.Adapter) > maxAdapter {
			return fmt.Errorf("accounts: a commission of the currency %q and the adapter %q, at most %d and %d bytes",
				c.Currency, c.Adapter, engine.MaxCurrencyCode, maxAdapter)
		}
		rules = append(rules, c.CommissionRule)
	}
	for _, r := range rules {
		if r.Percent > RateOne || r.Minimum.Sign() < 0 || r.Minimum.Cmp(MaxMoney) > 0 {
			return fmt.Errorf("accounts: a commission is negative or above 1")
		}
	}
	return o.Referral.Validate()
}

// clone returns settings that share nothing with o.
func (o *Settings) clone() Settings {
	c := *o
	c.Commissions, c.Referral.Levels = slices.Clone(o.Commissions), slices.Clone(o.Referral.Levels)
	return c
}

// withdrawal returns the commission of a withdrawal of a currency.
func (o *Settings) withdrawal(currency string) CommissionRule {
	for i := range slices.Backward(o.Commissions) {
		if c := &o.Commissions[i]; c.Withdrawal && c.Currency == currency {
			return c.CommissionRule
		}
	}
	return o.Withdrawal
}

// Code encodes or decodes the settings. Equal settings have equal bytes. Decoded settings are valid or the coder has an
// error.
func (o *Settings) Code(c *wire.Coder) {
	w := walker{c}
	w.commission(&o.Withdrawal)
	all := o.Commissions
	if w.Reading() {
		o.Commissions = nil
	}
	for i := range w.each(len(all)) {
		one := at(w, all, i)
		w.Bool(&one.Withdrawal)
		w.Text(&one.Currency, engine.MaxCurrencyCode)
		w.Text(&one.Adapter, maxAdapter)
		w.commission(&one.CommissionRule)
		put(w, &o.Commissions, one)
	}
	r := &o.Referral
	levels := r.Levels
	if w.Reading() {
		r.Levels = nil
	}
	for i := range w.each(len(levels)) {
		rate := at(w, levels, i)
		w.rate(&rate)
		put(w, &r.Levels, rate)
	}
	for i := range r.Staking {
		w.rate(&r.Staking[i])
	}
	w.rate(&r.BonusShare)
	if err := o.Validate(); w.Reading() && err != nil {
		w.Fail("%w", err)
	}
}

func (w walker) commission(r *CommissionRule) {
	w.rate(&r.Percent)
	w.money(&r.Minimum)
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
	// MaxAvatarID is the longest id of an avatar, in code points.
	MaxAvatarID = 64
	// MaxSearchResults bounds the inviters that a search finds
	// (docs/contract/accounts.md#inviters).
	MaxSearchResults = 20
	// MaxSearchQuery is the longest search text, in code points.
	MaxSearchQuery = 64
)

// RateOne is the rate 1.0; rates and discounts are integers in units of 10^-8.
const RateOne = 100_000_000
