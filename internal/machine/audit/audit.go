package audit

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// scale is the number of digits of the amounts that are compared.
const scale = 18

// Balance names the balance of an account in a currency.
type Balance struct {
	Account  uint32
	Currency string
}

// Check returns the first disagreement between the books of a core and the money that readers see.
func Check(core *engine.Core, money *accounts.Shown) error {
	held, err := Held(core)
	if err != nil {
		return err
	}
	sums := map[string]*sum{}
	for n := range uint32(money.UserCount()) + 1 {
		for _, b := range money.Rows(n) {
			s := sums[b.CurrencyCode]
			if s == nil {
				s = &sum{}
				sums[b.CurrencyCode] = s
			}
			free, is, total := Big(b.Free), Big(b.Held), Big(b.Total)
			s.free.Add(&s.free, free)
			s.held.Add(&s.held, is)
			at := Balance{n, b.CurrencyCode}
			must := held[at]
			if must == nil {
				must = new(big.Int)
			}
			delete(held, at)
			unit := unitOf(core, b.CurrencyCode)
			switch {
			case is.Cmp(must) != 0:
				return fmt.Errorf("account %d holds %s of 10^-18 %s, its open orders need %s", n, is, b.CurrencyCode,
					must)
			case free.Sign() < 0 && n != 0 && !money.Terms(n).Unlimited:
				return fmt.Errorf("account %d has %s of 10^-18 %s free", n, free, b.CurrencyCode)
			case new(big.Int).Add(free, is).Cmp(total) != 0:
				return fmt.Errorf("account %d has %s free and %s held %s, and %s in all", n, free, is, b.CurrencyCode,
					total)
			case !multiple(free, unit) || !multiple(is, unit):
				return fmt.Errorf("account %d has %s free and %s held of 10^-18 %s, which has the unit %s", n, free, is,
					b.CurrencyCode, unit)
			}
		}
	}
	for at, must := range held {
		if must.Sign() != 0 {
			return fmt.Errorf("account %d has no %s, its open orders need %s of 10^-18", at.Account, at.Currency, must)
		}
	}
	return checkTotals(core, money, sums)
}

// sum is the sum of the balances of a currency.
type sum struct{ free, held big.Int }

func checkTotals(core *engine.Core, money *accounts.Shown, sums map[string]*sum) error {
	for _, t := range money.Totals() {
		s := sums[t.CurrencyCode]
		if s == nil {
			s = &sum{}
		}
		delete(sums, t.CurrencyCode)
		free, held, fees := Big(t.Free), Big(t.Held), Big(t.Fees)
		if free.Cmp(&s.free) != 0 || held.Cmp(&s.held) != 0 {
			return fmt.Errorf("%s: the totals are %s free, %s held, the balances have %s and %s", t.CurrencyCode, free,
				held, &s.free, &s.held)
		}
		all := new(big.Int).Add(free, held)
		all.Add(all, fees)
		if outside := new(big.Int).Sub(Big(t.Deposited), Big(t.Withdrawn)); all.Cmp(outside) != 0 {
			return fmt.Errorf("%s: free + held + fees = %s of 10^-18, deposited - withdrawn = %s", t.CurrencyCode, all,
				outside)
		}
		if fees.Sign() < 0 || !multiple(fees, unitOf(core, t.CurrencyCode)) {
			return fmt.Errorf("%s: the fees are %s of 10^-18", t.CurrencyCode, fees)
		}
	}
	for code := range sums {
		return fmt.Errorf("%s: there are balances and no totals", code)
	}
	return nil
}

// unitOf returns a unit of a currency in 10^-18: the one of its asset, else 8 digits.
func unitOf(core *engine.Core, currency string) *big.Int {
	digits := 8
	if a, ok := core.Asset(currency); ok {
		digits = a.Digits
	}
	return ten(scale - digits)
}

// Big returns a number of 10^-18.
func Big(v fixed.I192) *big.Int {
	n := new(big.Int).SetInt64(int64(v.W2)) //nolint:gosec // two's complement
	for _, w := range [...]uint64{v.W1, v.W0} {
		n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(w))
	}
	return n
}

func multiple(v, unit *big.Int) bool { return new(big.Int).Rem(v, unit).Sign() == 0 }

// powers holds the powers of ten up to 10^18, which nothing changes.
var powers = func() (all [scale + 1]*big.Int) {
	for n := range all {
		all[n] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	}
	return all
}()

func ten(n int) *big.Int { return powers[n] }
