package agents

import (
	"math/big"

	"tickhive/accounts"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
)

// HasCurrency reports whether the ledger holds the balances of a currency, which is the case for NATIVE and
// USBI.
func (s *Service) HasCurrency(currencyCode string) bool {
	_, ok := launchpad.ParseCurrency(currencyCode)
	return ok
}

// Deposit credits NATIVE or USBI to an address.
func (s *Service) Deposit(address, currencyCode string, amount fixed.I128) (accounts.BalanceView, *refuse.Refusal) {
	return s.move(address, currencyCode, amount, func(a launchpad.Address, c launchpad.Currency,
		v launchpad.Amount,
	) launchpad.Command {
		return launchpad.Deposit{To: a, Currency: c, Amount: v}
	})
}

// Withdraw debits NATIVE or USBI from an address.
func (s *Service) Withdraw(address, currencyCode string, amount fixed.I128) (accounts.BalanceView, *refuse.Refusal) {
	return s.move(address, currencyCode, amount, func(a launchpad.Address, c launchpad.Currency,
		v launchpad.Amount,
	) launchpad.Command {
		return launchpad.Withdraw{From: a, Currency: c, Amount: v}
	})
}

func (s *Service) move(
	address, currencyCode string, amount fixed.I128,
	command func(launchpad.Address, launchpad.Currency, launchpad.Amount) launchpad.Command,
) (accounts.BalanceView, *refuse.Refusal) {
	a, okAddress := launchpad.ParseAddress(address)
	currency, okCurrency := launchpad.ParseCurrency(currencyCode)
	if !okAddress || !okCurrency {
		panic("BUG: server: " + currencyCode + " of " + address + " is not the ledger's")
	}
	v, ok := ledgerAmount(amount)
	if !ok {
		return accounts.BalanceView{}, refuse.Param("amount", "The member amount must be above 0.")
	}
	res, err := s.DoLaunchpad(command(a, currency, v))
	if err != nil {
		return accounts.BalanceView{}, refusalOf(err, "the balances")
	}
	m := moneyOf(res.Balance).Wide()
	return accounts.BalanceView{CurrencyCode: currency.String(), Free: m, Total: m}, nil
}

// Balances returns the non-zero balances of an address in NATIVE and USBI.
func (s *Service) Balances(address string) []accounts.BalanceView {
	a, ok := launchpad.ParseAddress(address)
	if !ok {
		return nil
	}
	v := s.views()
	var rows []accounts.BalanceView
	for _, c := range []launchpad.Currency{launchpad.NATIVE, launchpad.USBICoin} {
		if b := v.ledger.Balance(a, c); !b.IsZero() {
			m := moneyOf(b).Wide()
			rows = append(rows, accounts.BalanceView{CurrencyCode: c.String(), Free: m, Total: m})
		}
	}
	return rows
}

// Seq returns the number of records that the ledger's view reflects.
func (s *Service) Seq() uint64 {
	st := s.stores.Load()
	if st == nil {
		return 0
	}
	return st.ledger.View().Seq()
}

// Totals returns the ledger's rows of GET /totals. Money in pools counts as held.
func (s *Service) Totals() []accounts.TotalView {
	v := s.views()
	var rows []accounts.TotalView
	for _, t := range v.ledger.Totals() {
		rows = append(rows, accounts.TotalView{
			CurrencyCode: t.Currency.String(), Free: moneyOf(t.Held).Wide(), Held: moneyOf(t.Pooled).Wide(),
			Fees:      moneyOf(t.Fees).Wide(),
			Deposited: moneyOf(t.Deposited).Wide(), Withdrawn: moneyOf(t.Withdrawn).Wide(),
		})
	}
	return rows
}

// ledgerAmount converts money to the ledger's amount; false when it is not above 0.
func ledgerAmount(m fixed.I128) (launchpad.Amount, bool) {
	v, err := launchpad.ParseAmount(string(fixed.AppendShortest(nil, m, fixed.Scale)))
	return v, err == nil && !v.IsZero()
}

// maxMoney is the largest signed 128-bit value. Larger totals are shown as maxMoney.
var maxMoney = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))

func moneyOf(a launchpad.Amount) fixed.I128 {
	v := a.Big()
	if v.Cmp(maxMoney) > 0 {
		v = maxMoney
	}
	low := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return fixed.I128{Hi: new(big.Int).Rsh(v, 64).Int64(), Lo: low}
}
