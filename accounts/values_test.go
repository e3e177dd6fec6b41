package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// Units become money up to 10^20, and nothing beyond wraps.
func TestMoneyOf(t *testing.T) {
	most := fixed.Mul64(1e14, 1e14) // 10^20 of 10^-8
	for name, x := range map[string]struct {
		units  fixed.U128
		digits int
		want   string
	}{
		"one":                 {fixed.FromU64(1), 8, "0.00000001"},
		"10^20":               {most, 8, "max"},
		"more":                {most.Add(fixed.FromU64(1)), 8, ""},
		"beyond 127 bits":     {fixed.Mul64(18e9, 1e10), 0, ""},
		"beyond 128 bits":     {fixed.Mul64(1e11, 1e10), 0, ""},
		"2^128 times 5^18":    {fixed.U128{Hi: 1 << 46}, 0, ""},
		"without any scaling": {fixed.FromU64(7), 18, "0.000000000000000007"},
	} {
		got, ok := moneyOf(x.units, x.digits)
		if ok != (x.want != "") || x.want == "max" && got != MaxMoney || ok && x.want != "max" && text(got) != x.want {
			t.Errorf("%s: %s, %t", name, text(got), ok)
		}
	}
	if atMost(dec("5"), false) != MaxMoney || atMost(dec("5"), true) != dec("5") {
		t.Error("an amount out of range is not limited to 10^20")
	}
}

// The product of an amount and a rate is exact, whatever their sizes.
func TestMulDivIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shift := func() int { return r.IntN(2) * r.IntN(60) } // half of the numbers are as large as can be
	for range 20_000 {
		n := fixed.I128{Hi: r.Int64() >> shift(), Lo: r.Uint64() >> shift()}
		d := r.Uint64()>>1>>shift() + 1
		m := r.Uint64N(d + 1)
		q, rest := mulDiv(n, m, d)
		want := new(big.Int).Lsh(big.NewInt(n.Hi), 64)
		want.Add(want, new(big.Int).SetUint64(n.Lo)).Mul(want, new(big.Int).SetUint64(m))
		wantQ, wantR := want.DivMod(want, new(big.Int).SetUint64(d), new(big.Int))
		got := new(big.Int).Lsh(new(big.Int).SetUint64(q.Hi), 64)
		if got.Add(got, new(big.Int).SetUint64(q.Lo)).Cmp(wantQ) != 0 || wantR.Uint64() != rest {
			t.Fatalf("%v x %d / %d is %v rest %d", n, m, d, got, rest)
		}
	}
}

// The smallest rate is one in 10^16: a fee of it is not lost. An order and its fee may be 10^20 together.
func TestSmallestFee(t *testing.T) {
	if got := text(feeHalfEven(dec("100"), 1, RateOne-1)); got != "0.00000000000001" {
		t.Errorf("%s", got)
	}
	const half = "50000000000000000000"
	for n, ok := range map[string]bool{half: true, half + ".000000000000000001": false} {
		if got, fits := addFee(dec(n), Rates{Maker: RateOne}); fits != ok || ok && got != MaxMoney {
			t.Errorf("%s with as much as a fee: %s, %t", n, text(got), fits)
		}
	}
}

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

// Stops wait, other orders do not; each receives the currency that it does not pay with.
func TestKindsOfHolds(t *testing.T) {
	p := cent()
	for typ, want := range map[engine.OrderType][2]bool{ // waits, at market
		engine.Limit: {}, engine.Market: {false, true}, engine.StopLimit: {true, false},
		engine.StopMarket: {true, true},
	} {
		if waits(typ) != want[0] || atMarket(typ) != want[1] {
			t.Errorf("%s waits %t, is at market %t", typ, waits(typ), atMarket(typ))
		}
	}
	p.base, p.quote = 3, 4
	buy, sell := &orderHold{}, &orderHold{side: engine.Sell}
	if buy.brought(p) != 3 || buy.currency(p) != 4 || sell.brought(p) != 4 || sell.currency(p) != 3 ||
		buy.earnDigits(p) != 6 || sell.earnDigits(p) != 8 {
		t.Error("an order receives another currency")
	}
	five := fixed.FromU64(5e8)
	for name, x := range map[string]struct {
		o    orderHold
		need string
		own  string
	}{
		"limit buy":       {orderHold{price: 1000, open: 2_000_000, rates: Rates{Taker: RateOne / 10}}, "22.0", "20.0"},
		"sell":            {orderHold{side: engine.Sell, price: 1000, open: 2_000_000}, "2.0", "0.0"},
		"by quote":        {orderHold{byQuote: true, quote: five, rates: Rates{Maker: RateOne / 10}}, "5.5", "5.0"},
		"capped":          {orderHold{typ: engine.Market, capped: true, quote: five, held: dec("7")}, "7.0", "5.0"},
		"unlimited buy":   {orderHold{typ: engine.Market, open: 5}, "0.0", "0.0"},
		"stop market buy": {orderHold{typ: engine.StopMarket, open: 5}, "0.0", "0.0"},
	} {
		if need, ok := x.o.need(p); !ok || text(need) != x.need || text(x.o.principal(p)) != x.own {
			t.Errorf("%s needs %s, %s of it not for fees", name, text(need), text(x.o.principal(p)))
		}
	}
}
