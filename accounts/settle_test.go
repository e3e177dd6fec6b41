package accounts

import (
	"testing"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// A trade takes what it costs from the balances, also without a hold. What a funded account lacks is counted: fees that
// were reduced, and settlements that nothing covered, which are a defect.
func TestSettlementsWithoutAHold(t *testing.T) {
	for name, x := range map[string]struct {
		side       engine.Side // of account 1; the built-in account is the maker
		usdt, btc  string
		fee        uint32
		shortfalls uint64
		overdrafts uint64
		left       string // of the currency that it pays with
	}{
		"buy with more than enough":     {engine.Buy, "20", "0", 0, 0, 0, "10.0"},
		"buy with all of it":            {engine.Buy, "10", "0", 0, 0, 0, "0.0"},
		"buy and the fee":               {engine.Buy, "11", "0", RateOne / 10, 0, 0, "0.0"},
		"buy with half of the fee":      {engine.Buy, "10.5", "0", RateOne / 10, 1, 0, "0.0"},
		"buy without the fee":           {engine.Buy, "10", "0", RateOne / 10, 1, 0, "0.0"},
		"buy beyond":                    {engine.Buy, "9", "0", RateOne / 10, 1, 1, "-1.0"},
		"sell with all of it":           {engine.Sell, "0", "1", 0, 0, 0, "0.0"},
		"sell beyond":                   {engine.Sell, "0", "0.5", 0, 0, 1, "-0.5"},
		"buy, a rounding less":          {engine.Buy, "9.999999999999999999", "0", 0, 2, 0, "0.0"},
		"sell, a rounding less":         {engine.Sell, "0", "0.999999999999999999", 0, 1, 0, "0.0"},
		"sell, nothing to round it off": {engine.Sell, "0", "0.9", 0, 0, 1, "-0.1"},
	} {
		r := newRig(t)
		r.pair()
		r.user(ProfilePatch{})
		r.set(1, "USDT", x.usdt)
		r.set(1, "BTC", x.btc)
		for i := range r.s.balances.sums { // some roundings
			r.s.balances.sums[i].fees = fixed.FromI64(5).Wide()
		}
		r.s.FoldEvents([]engine.Event{{
			Kind: engine.EventTrade, Seq: r.next(0), Side: x.side, Order: 1, Maker: 2, Account: 1, Price: 1000,
			Amount: 1_000_000, TakerFee: x.fee,
		}}, 1)
		code := "USDT"
		if x.side == engine.Sell {
			code = "BTC"
		}
		counts := r.s.Counts()
		if left := text(r.s.dir.users[1].row(r.s.balances.currency(code)).free); left != x.left ||
			counts.Shortfalls != x.shortfalls || counts.Overdrafts != x.overdrafts {
			t.Errorf("%s: %s is left, %+v", name, left, counts)
		}
	}
}

// The fee account covers what the rounding of fees has taken, not more, and only what it has.
func TestCoverShortfall(t *testing.T) {
	for name, x := range map[string]struct {
		missing, fees int64
		covered       bool
	}{
		"the most":        {maxRounding, maxRounding, true},
		"more":            {maxRounding + 1, 2 * maxRounding, false},
		"not in the fees": {5, 4, false},
		"one":             {1, 1, true},
	} {
		r, _, _ := traders(t)
		no := r.s.balances.currency("USDT")
		sums := &r.s.balances.sums[no]
		sums.fees = fixed.FromI64(x.fees).Wide()
		u := r.s.dir.mustFind(1)
		was := u.row(no).free
		covered := r.s.holds.coverShortfall(u, no, fixed.FromI64(x.missing))
		paid, counted := fixed.I192{}, uint64(0)
		if x.covered {
			paid, counted = fixed.FromI64(x.missing).Wide(), 1
		}
		if covered != x.covered || u.row(no).free.Sub(was) != paid || r.s.Counts().Shortfalls != counted ||
			fixed.FromI64(x.fees).Wide().Sub(sums.fees) != paid {
			t.Errorf("%s: covered %t, %+v", name, covered, r.s.Counts())
		}
	}
}

// A trade between orders of the built-in account moves nothing.
func TestTradeOfTheBuiltinAccountAlone(t *testing.T) {
	r := newRig(t)
	r.pair()
	l := &told{}
	r.s.View().Listen(l)
	r.fold(func(f fold) {
		f.event(&engine.Event{
			Kind: engine.EventTrade, Seq: r.next(0), Order: 1, Maker: 2, Price: 1000, Amount: 1_000_000, TakerFee: 5,
		})
	})
	if len(r.s.dir.users[0].rows) != 0 || l.balances != 0 {
		t.Errorf("%d balances, %d changes", len(r.s.dir.users[0].rows), l.balances)
	}
}
