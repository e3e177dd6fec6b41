package engine_test

import (
	"testing"

	"tickhive/engine"
	"tickhive/engine/enginetest"
	"tickhive/internal/fixed"
)

// A replace for which no account holds anything changes an order of the built-in account
// and no other.
func TestAReplaceThatNothingIsHeldForLeavesAccountsAlone(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	c := place(engine.Buy, 100, 5)
	m.do(c)
	c.Account = 7
	m.do(c)
	r := engine.Command{
		Kind: engine.Replace, Order: 2, Price: 101,
		Flags: engine.FlagHasPrice | engine.FlagAllAccount | engine.FlagUnheld,
	}
	m.mustReject(r, engine.UnknownOrder)
	r.Order = 1
	if e := m.do(r); e[0].Kind != engine.EventReplaced {
		t.Fatalf("the built-in account's order: %v", kinds(e))
	}
}

// A replace may need the amount that the order holds for its open part, at the time when the
// engine applies the replace, and SpendLimit beyond it.
func TestAReplaceNeedsNoMoreThanIsKept(t *testing.T) {
	const given = engine.FlagAllAccount | engine.FlagFunded
	for _, c := range []struct {
		name          string
		side          engine.Side
		trade, reduce int64 // lots of 10 at 100 that are gone before the replace
		price, amount int64
		needs         uint64 // the least SpendLimit that is enough
	}{
		{name: "a higher price of a bid", side: engine.Buy, price: 150, needs: 500},
		{name: "a higher price after a fill", side: engine.Buy, trade: 4, price: 150, needs: 300},
		{name: "a higher price after a decrement", side: engine.Buy, reduce: 4, price: 150, needs: 300},
		{name: "more lots at half the price", side: engine.Buy, price: 50, amount: 20, needs: 0},
		{
			name: "more lots at half the price after a fill", side: engine.Buy, trade: 9, price: 50, amount: 20,
			needs: 450,
		},
		{name: "the old total after a decrement", side: engine.Buy, reduce: 5, amount: 10, needs: 500},
		{name: "fewer lots", side: engine.Buy, amount: 3, needs: 0},
		{name: "more lots of an ask", side: engine.Sell, amount: 12, needs: 2},
		{name: "more lots of an ask after a fill", side: engine.Sell, trade: 4, amount: 12, needs: 2},
		{name: "the old total of an ask after a decrement", side: engine.Sell, reduce: 5, amount: 10, needs: 5},
		{name: "another price of an ask", side: engine.Sell, price: 150, needs: 0},
	} {
		for _, short := range []uint64{1, 0} {
			if short > c.needs {
				continue
			}
			m := newMarket(t, engine.Options{}, enginetest.Instrument())
			o := place(c.side, 100, 10)
			o.Account = 7
			m.do(o)
			other := place(c.side.Opposite(), 100, 0)
			if other.Amount = c.trade; c.trade > 0 {
				m.do(other)
			}
			if other.Amount = c.reduce; c.reduce > 0 {
				other.Account, other.TIF, other.STP = 7, engine.IOC, engine.Decrement
				m.do(other)
			}
			r := engine.Command{
				Kind: engine.Replace, Order: 1, Price: c.price, Amount: c.amount, Flags: given,
				SpendLimit: fixed.FromU64(c.needs - short), EarnLimit: fixed.FromU64(1 << 40),
			}
			if c.price != 0 {
				r.Flags |= engine.FlagHasPrice
			}
			if c.amount != 0 {
				r.Flags |= engine.FlagHasAmount
			}
			if short == 1 {
				m.mustReject(r, engine.InsufficientFunds)
			} else if e := m.do(r); e[0].Kind != engine.EventReplaced {
				t.Errorf("%s: %v", c.name, kinds(e))
			}
		}
	}
}

// The record of a replace names what is kept for it; without it, it is the one of old.
func TestAReplaceRecordNamesWhatIsKept(t *testing.T) {
	c := engine.Command{
		Kind: engine.Replace, Order: 1 << 40, Price: 5,
		Flags: engine.FlagHasPrice | engine.FlagAllAccount,
	}
	old := len(engine.AppendCommand(nil, &c))
	checkRecord(t, &c, nil)
	c.Flags |= engine.FlagUnheld
	checkRecord(t, &c, nil)
	if n := len(engine.AppendCommand(nil, &c)); n != old {
		t.Errorf("%d bytes, %d without the flag", n, old)
	}
	c.Flags ^= engine.FlagUnheld | engine.FlagFunded
	checkRecord(t, &c, nil)
	c.SpendLimit = engine.MaxTotal
	checkRecord(t, &c, nil)
}

// 10^20 whole units bound an order before 2^96 product units do where there are few digits.
func TestSettledTotalsAreWithinABalance(t *testing.T) {
	in := enginetest.Instrument()
	for digits, want := range map[int]fixed.U128{
		0: fixed.Mul64(fixed.Pow10[10], fixed.Pow10[10]), 8: fixed.Mul64(fixed.Pow10[14], fixed.Pow10[14]),
		9: engine.MaxTotal, 18: engine.MaxTotal,
	} {
		in.DigitsPrice, in.DigitsAmount = digits/2, digits-digits/2
		if got := in.MaxSettled(); got != want {
			t.Errorf("%d digits: %v, want %v", digits, got, want)
		}
	}
}
