package vopr

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/goccy/go-json"
)

// purse holds what the answers said about a user's balance of a currency.
type purse struct {
	sum   big.Int // acknowledged deposits and withdrawals, and the user's deals, in units of 10^-18
	maybe []int64 // whole units of unknown outcome; a withdrawal is below zero
}

// purseDigits are the digits of a balance.
const purseDigits = 18

var wholeUnit = new(big.Int).Exp(big.NewInt(10), big.NewInt(purseDigits), nil)

// traded are the currencies that the pairs trade. The launchpad keeps the other ones.
var traded = []string{"AA", "BB", "CC", "USDT"}

// of returns the user's purse of a currency.
func (u *user) of(currency string) *purse {
	if u.purses == nil {
		u.purses = map[string]*purse{}
	}
	if u.purses[currency] == nil {
		u.purses[currency] = &purse{}
	}
	return u.purses[currency]
}

// add adds whole units.
func (p *purse) add(whole *big.Int) { p.sum.Add(&p.sum, new(big.Int).Mul(whole, wholeUnit)) }

// explains reports whether total is the sum and any of the unknown amounts, and takes it as the sum.
func (p *purse) explains(total *big.Int) bool {
	rest, part := new(big.Int).QuoRem(new(big.Int).Sub(total, &p.sum), wholeUnit, new(big.Int))
	none := int64(0)
	if part.Sign() != 0 || !rest.IsInt64() || !sums(&none, &p.maybe, rest.Int64()) {
		return false
	}
	p.sum.Set(total)
	return true
}

// exact returns a decimal in units of 10^-18; nil: it is none.
func exact(n string) *big.Int {
	whole, fraction, _ := strings.Cut(n, ".")
	if len(fraction) > purseDigits {
		return nil
	}
	v, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", purseDigits-len(fraction)), 10)
	if !ok {
		return nil
	}
	return v
}

// ownDeal is a deal of a user.
type ownDeal struct {
	CurrencyPairCode, OrderID, DealDateUtc string
	TradeID                                uint64
	Price, Volume, Fee                     json.Number
	FeeCurrencyCode                        string
	IsUserBuyer                            bool
}

// fold adds a deal to the purses of a user.
func (d *ownDeal) fold(u *user) bool {
	base, quote, _ := strings.Cut(d.CurrencyPairCode, "_")
	price, amount, fee := scaled(d.Price, priceDigits), scaled(d.Volume, amountDigits), exact(d.Fee.String())
	if price <= 0 || amount <= 0 || fee == nil {
		return false
	}
	goods := new(big.Int).Mul(big.NewInt(amount), big.NewInt(1e14))
	worth := new(big.Int).Mul(big.NewInt(price*amount), big.NewInt(1e12))
	received, paid, in := worth, goods, quote
	if d.IsUserBuyer {
		received, paid, in = goods, worth, base
	}
	out := base
	if in == base {
		out = quote
	}
	got, gave := &u.of(in).sum, &u.of(out).sum
	got.Add(got, received.Sub(received, fee))
	gave.Sub(gave, paid)
	return d.FeeCurrencyCode == in && fee.Sign() >= 0
}

// readDeals folds the deals of a user that came after the newest one that was read, or all after a loss.
func (w checker) readDeals(u *user, k *key) bool {
	if u.lost {
		u.dealsTo, u.latest = "", nil
	}
	was, latest := u.dealsTo, map[string]bool{}
	for page := 1; ; page++ {
		var rows []ownDeal
		a := w.call(k, "GET", fmt.Sprintf("/api/user/deals?pageSize=100&pageNumber=%d", page), "")
		if a.status == 0 {
			u.lost = true // a part of the deals is folded
			return false
		}
		if err := a.into(&rows); err != nil {
			w.fail("the deals of user %s: %v", u.ID, err)
			return false
		}
		for i := range rows {
			d := &rows[i]
			id := fmt.Sprint(d.CurrencyPairCode, d.TradeID, " ", d.OrderID)
			u.dealsTo = max(u.dealsTo, d.DealDateUtc)
			if d.DealDateUtc == u.dealsTo {
				latest[id] = true
			}
			if d.DealDateUtc < was {
				u.latest = latest
				return true
			}
			if d.DealDateUtc == was && u.latest[id] {
				continue
			}
			if !d.fold(u) {
				w.fail("a deal of user %s is %+v", u.ID, *d)
				return false
			}
		}
		if len(rows) < 100 {
			u.latest = latest
			return true
		}
	}
}

// checkPurses verifies that the balances of a user equal its deposits, withdrawals and deals. After a loss, the fold
// begins with the balances that are there.
func (w checker) checkPurses(u *user, k *key, totals map[string]*big.Int) {
	if !w.readDeals(u, k) {
		return
	}
	for _, c := range traded {
		total, p := totals[c], u.of(c)
		if total == nil {
			total = new(big.Int)
		}
		switch {
		case u.lost:
			p.sum.Set(total)
			p.maybe = nil
		case !p.explains(total):
			w.fail("user %s has %s %s of 10^-18, its deposits, withdrawals and deals give %s, and maybe %v",
				u.ID, total, c, &p.sum, p.maybe)
			return
		}
	}
	u.lost = false
	w.mix.Balances++
}
