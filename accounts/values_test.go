package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/fixed"
)

// Rates are decimals of 8 digits from 0 to their limit; percents have 6.
func TestRates(t *testing.T) {
	for text, want := range map[string][2]int64{ // as a rate up to 1, as percent up to 100
		"0": {0, 0}, "1": {RateOne, RateOne / 100}, "0.00000001": {1, -1}, "0.000001": {100, 1},
		"-0.00000001": {-1, -1},
		"-1":          {-1, -1}, "1.00000001": {-1, -1}, "100": {-1, RateOne},
		"100.000001": {-1, -1}, "0.000000001": {-1, -1},
		"999999999999999999": {-1, -1}, "99999999999999999999": {-1, -1},
	} {
		rate, ok := rateOf(dec(text), RateOne)
		if ok != (want[0] >= 0) || ok && int64(rate) != want[0] {
			t.Errorf("%s is the rate %d, %t", text, rate, ok)
		}
		rate, ok = percentRate(dec(text), RateOne)
		if ok != (want[1] >= 0) || ok && int64(rate) != want[1] {
			t.Errorf("%s %% is the rate %d, %t", text, rate, ok)
		}
	}
}

// Ids and addresses follow from a user's number in decimal digits.
func TestIdentities(t *testing.T) {
	space := func(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:"+name)) }
	if UserID(0) != uuid.Nil || UserID(12) != uuid.NewSHA1(space("user"), []byte("12")) {
		t.Errorf("user 12 is %s", UserID(12))
	}
	if linkID(12) != uuid.NewSHA1(space("link"), []byte("12")) {
		t.Errorf("link 12 is %s", linkID(12))
	}
	if publicID(1) != "7182818283" || publicID(3) != "1548454849" || len(publicID(1000)) != 10 {
		t.Errorf("public ids %s, %s", publicID(1), publicID(3))
	}
	h := sha256.Sum256([]byte("tickhive:address:12"))
	if want := "0x" + hex.EncodeToString(h[:20]); addressText(12) != want {
		t.Errorf("%s, want %s", addressText(12), want)
	}
}

// Currency codes have 1 to 20 of A-Z and 0-9, amounts are above 0 and at most 10^20.
func TestCurrencyCodesAndAmounts(t *testing.T) {
	for code, ok := range map[string]bool{
		strings.Repeat("Q", 20): true, strings.Repeat("Q", 21): false,
		"AZ": true, "09": true, "A0": true, "A": true, "1": true,
		"": false, "A@": false, "A[": false, "A/": false, "A:": false, "Az": false, "A ": false, "É": false,
	} {
		if reject := (&Command{Currency: code, Amount: MaxMoney}).checkAmount(); (reject == nil) != ok {
			t.Errorf("%q: %v", code, reject)
		}
	}
	for name, x := range map[string]struct {
		amount fixed.I128
		ok     bool
	}{
		"0": {fixed.I128{}, false}, "-1": {fixed.FromI64(-1), false}, "1": {fixed.FromI64(1), true},
		"10^20": {MaxMoney, true},
		"more":  {MaxMoney.Add(fixed.FromI64(1)), false},
	} {
		if reject := (&Command{Currency: "AA", Amount: x.amount}).checkAmount(); (reject == nil) != x.ok {
			t.Errorf("%s: %v", name, reject)
		}
	}
}

// Referral rates are bounded by the fee that they are paid from; a commission is from 0 to 1.
func TestSettingsHaveBounds(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		change func(c *Config)
		says   string
	}{
		"ten levels":     {func(c *Config) { c.Levels = make([]uint32, 10) }, ""},
		"eleven levels":  {func(c *Config) { c.Levels = make([]uint32, 11) }, "has 11 rates, not 1 to 10"},
		"no level":       {func(c *Config) { c.Levels = nil }, "has 0 rates"},
		"all of the fee": {func(c *Config) { c.Levels = []uint32{RateOne} }, ""},
		"more":           {func(c *Config) { c.Levels = []uint32{RateOne, 1} }, "sum to more than the fee"},
		"ambassador":     {func(c *Config) { c.Levels = []uint32{RateOne - maxSecondLevel, 0} }, ""},
		"ambassador beyond": {
			func(c *Config) { c.Levels = []uint32{RateOne - maxSecondLevel + 1, 0} }, "second level may be 20 percent",
		},
		"staking of 1":   {func(c *Config) { c.Staking[8] = RateOne }, ""},
		"staking beyond": {func(c *Config) { c.Staking[8] = RateOne + 1 }, "R8 is above 1"},
		"staking falls":  {func(c *Config) { c.Staking[4] = c.Staking[3] - 1 }, "R4 is above 1 or below the level"},
		"staking equal":  {func(c *Config) { c.Staking[4] = c.Staking[3] }, ""},
		"bonus of 1":     {func(c *Config) { c.BonusShare = RateOne }, ""},
		"bonus beyond":   {func(c *Config) { c.BonusShare = RateOne + 1 }, "bonus_share is above 1"},
	} {
		c := DefaultConfig()
		x.change(&c)
		if err := c.Validate(); (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, x := range map[string]struct {
		rule CommissionRule
		ok   bool
	}{
		"all":           {CommissionRule{Percent: RateOne, Minimum: MaxMoney}, true},
		"more":          {CommissionRule{Percent: RateOne + 1}, false},
		"below nothing": {CommissionRule{Minimum: fixed.FromI64(-1)}, false},
		"minimum":       {CommissionRule{Minimum: MaxMoney.Add(fixed.FromI64(1))}, false},
	} {
		o := testSettings()
		o.Commissions = []Commission{{Currency: "AA", CommissionRule: x.rule}}
		if err := o.Validate(); (err == nil) != x.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := testSettings()
	o.Commissions = make([]Commission, maxCommissions+1)
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "at most 20000") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a state was made with options that are out of range")
		}
	}()
	New(o)
}
