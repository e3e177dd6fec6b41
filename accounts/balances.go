package accounts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// balances moves money between the balances of users and keeps the sums of each currency. Amounts are whole units of
// their currency, so nothing but a fee or a share is ever rounded.
//
// Owner: State's.
//
// Invariant: free + held + fees of a currency = its deposits - its withdrawals.
type balances struct {
	currencies []accrual.Currency // append-only, but for the digits of a currency without a pair and a balance
	currencyNo map[string]uint32
	sums       []sums   // by currency number
	codes      []uint64 // mixCode of each code
	pairs      []pair   // by engine.PairID

	digest *digest
	stale  []uint32 // currencies whose part of the digest is not computed

	report *Report  // receives what changes; nil: nothing is shown yet
	dirty  []uint32 // currencies whose sums have changed and are not in the report
}

func newBalances(d *digest) *balances { return &balances{currencyNo: map[string]uint32{}, digest: d} }

// totals holds the sums of one currency over all accounts, in units. What is free follows from them.
type totals struct{ held, fees, deposited, withdrawn fixed.I128 }

// free returns the sum of what is free.
func (t *totals) free() fixed.I128 {
	return t.deposited.SubWrap(t.withdrawn).SubWrap(t.held).SubWrap(t.fees)
}

// sums holds the sums of one currency.
type sums struct {
	totals
	// debt is the sum of what the built-in account and unlimited ones are below zero.
	debt  fixed.I128
	used  bool   // there is a pair or a balance: the digits are fixed
	dirty bool   // in balances.dirty
	stale bool   // in balances.stale
	mixed uint64 // part of the digest
}

// pair holds what the ledger needs of a pair.
type pair struct {
	base, quote uint32 // currency numbers
	in          *engine.Instrument
}

// spends returns the number of the currency that an order of a side spends.
func (p *pair) spends(side engine.Side) uint32 {
	if side == engine.Buy {
		return p.quote
	}
	return p.base
}

// row is one balance, in units.
type row struct {
	currency   uint32
	reported   uint32 // place of its last change in the report
	free, held fixed.I128
}

// debt returns what a balance is below zero.
func debt(free fixed.I128) fixed.I128 {
	if free.Sign() < 0 {
		return free.Neg()
	}
	return fixed.I128{}
}

// place returns the place of the user's balance of a currency, or of the one that is missing.
func (u *user) place(currency uint32) (at int, known bool) {
	low, high := 0, len(u.rows)
	for low < high {
		if middle := int(uint(low+high) / 2); u.rows[middle].currency < currency {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(u.rows) && u.rows[low].currency == currency
}

// row returns the user's balance of a currency and creates it at the first use. The pointer
// is valid until the next call for the same user.
func (u *user) row(currency uint32) *row {
	at, known := u.place(currency)
	if !known {
		u.rows = slices.Insert(u.rows, at, row{currency: currency})
	}
	return &u.rows[at]
}

// free returns what is free of the user's balance of a currency.
func (u *user) free(currency uint32) fixed.I128 {
	if at, known := u.place(currency); known {
		return u.rows[at].free
	}
	return fixed.I128{}
}

// currency returns the number of a code and assigns one at the first use.
func (b *balances) currency(code string) uint32 {
	if n, ok := b.currencyNo[code]; ok {
		return n
	}
	n := uint32(len(b.currencies))
	b.currencies = append(b.currencies, accrual.Currency{Code: code, Digits: engine.DefaultDigits})
	b.currencyNo[code] = n
	b.codes = append(b.codes, mixCode(code))
	b.sums = append(b.sums, sums{})
	b.noteSums(n)
	return n
}

// setDigits sets the digits of a currency, unless it has a pair or a balance.
func (b *balances) setDigits(currency uint32, digits int) {
	if b.sums[currency].used || b.currencies[currency].Digits == digits {
		return
	}
	b.currencies = slices.Clone(b.currencies) // readers have the list
	b.currencies[currency].Digits = digits
	b.noteSums(currency)
}

// use returns the sums of a currency that has a pair or a balance from now on. The caller changes them.
func (b *balances) use(currency uint32) *sums {
	t := &b.sums[currency]
	t.used = true
	if !t.dirty {
		t.dirty = true
		b.dirty = append(b.dirty, currency)
	}
	b.noteSums(currency)
	return t
}

// reportSums reports the sums that have changed. It is called where they add up: between commands.
func (b *balances) reportSums() {
	for _, n := range b.dirty {
		b.sums[n].dirty = false
		if b.report != nil {
			b.report.sums = append(b.report.sums, sumChange{n, b.sums[n].totals})
			b.report.currencies = b.currencies // a new currency is among the sums
		}
	}
	b.dirty = b.dirty[:0]
}

// move changes a balance: what is free and what is held. The sum of what is free follows from deposits, withdrawals
// and fees, which the caller changes by the same amounts.
func (b *balances) move(u *user, currency uint32, free, held fixed.I128) {
	r, t := u.row(currency), b.use(currency)
	if u.profile.Unlimited {
		t.debt = t.debt.AddWrap(debt(r.free.AddWrap(free))).SubWrap(debt(r.free))
	}
	code := b.codes[currency]
	before := r.mix(u.n, code)
	r.free, r.held = r.free.AddWrap(free), r.held.AddWrap(held)
	b.digest.rows += r.mix(u.n, code) - before
	t.held = t.held.AddWrap(held)
	if b.report != nil {
		b.report.balance(u.n, r)
	}
}

// deposit credits money that enters the exchange.
func (b *balances) deposit(u *user, currency uint32, amount fixed.I128) {
	b.move(u, currency, amount, fixed.I128{})
	t := b.use(currency)
	t.deposited = t.deposited.AddWrap(amount)
}

// admit returns an amount from outside in units of its currency. It refuses one with more digits than the currency
// has, and one with which all deposits of the currency would pass MaxUnits.
func (b *balances) admit(cmd *Command) (fixed.I128, *refuse.Refusal) {
	amount, reject := b.units(cmd)
	if reject != nil {
		return amount, reject
	}
	need := amount
	if cmd.Kind == AddProfit { // the income and the uplines' shares together are at most twice the income
		need = need.AddWrap(need)
	}
	deposited := fixed.I128{}
	if n, known := b.currencyNo[cmd.Currency]; known {
		deposited = b.sums[n].deposited
	}
	if need.Sign() < 0 || need.Cmp(MaxUnits.SubWrap(deposited)) > 0 {
		return amount, invalid("amount", "All deposits of %s may be at most 10^%d together.", cmd.Currency,
			maxUnitsPower-b.digits(cmd.Currency))
	}
	return amount, nil
}

// digits returns the digits of a currency.
func (b *balances) digits(code string) int {
	if n, known := b.currencyNo[code]; known {
		return b.currencies[n].Digits
	}
	return engine.DefaultDigits
}

// units returns the amount of a command in units of its currency.
func (b *balances) units(cmd *Command) (fixed.I128, *refuse.Refusal) {
	digits := b.digits(cmd.Currency)
	units, rest := cmd.Amount.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
	if rest != 0 {
		return fixed.I128{}, invalid("amount", "%s has %d digits; amount has more.", cmd.Currency, digits)
	}
	return units.ToI128(), nil
}

func (cmd *Command) checkAmount() *refuse.Refusal {
	if !engine.ValidCurrencyCode(cmd.Currency) {
		return invalid("currencyCode", "currencyCode must be %s.", engine.CurrencyForm)
	}
	if cmd.Amount.Sign() <= 0 || cmd.Amount.Cmp(MaxMoney) > 0 {
		return invalid("amount", "amount must be above 0 and at most 10^20.")
	}
	return nil
}

func (s *State) deposit(_ int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	amount, reject := s.balances.admit(cmd)
	if reject != nil {
		return reject
	}
	n := s.balances.currency(cmd.Currency)
	s.balances.deposit(u, n, amount)
	s.transferred(cmd, cmd.Amount)
	res.Balance = s.balances.view(u, n)
	return nil
}

// withdraw takes the money out of the balance and pays the referral share of the commission.
func (s *State) withdraw(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	amount, reject := s.balances.units(cmd)
	if reject != nil {
		return reject
	}
	digits := s.balances.digits(cmd.Currency)
	commission := s.settings.withdrawal(cmd.Currency).of(amount, digits)
	paid := accrual.Currency{Digits: digits}.Money(commission.Wide()).Clamp()
	if paid.Cmp(MaxMoney.Sub(cmd.Amount)) > 0 || !s.covers(u, cmd.Currency, amount, commission) {
		return insufficient(cmd.Currency)
	}
	n, all := s.balances.currency(cmd.Currency), amount.Add(commission)
	s.balances.move(u, n, all.Neg(), fixed.I128{})
	t := s.balances.use(n)
	t.withdrawn, t.fees = t.withdrawn.AddWrap(amount), t.fees.AddWrap(commission)
	s.transferred(cmd, cmd.Amount.Add(paid).Neg())
	s.referral.payUplines(u, payment{
		typ: accrual.WithdrawalCommission, currency: n, of: commission, timeNs: nowNs,
	}, nil)
	res.Balance, res.Commission = s.balances.view(u, n), paid
	return nil
}

// covers reports whether a balance covers a withdrawal with its commission. An unlimited account may go below zero as
// long as the debt of the currency stays within MaxUnits.
func (s *State) covers(u *user, code string, amount, commission fixed.I128) bool {
	if amount.Cmp(MaxUnits) > 0 || commission.Cmp(MaxUnits.Sub(amount)) > 0 {
		return false
	}
	n, known := s.balances.currencyNo[code]
	free, owed := fixed.I128{}, fixed.I128{}
	if known {
		free, owed = u.free(n), s.balances.sums[n].debt
	}
	if u.profile.Unlimited {
		free = MaxUnits.SubWrap(owed)
	}
	return free.Cmp(amount.Add(commission)) >= 0
}

// transferred reports money that a command has brought in or out.
func (s *State) transferred(cmd *Command, amount fixed.I128) {
	if s.shown != nil {
		s.report.transfers = append(s.report.transfers, transfer{cmd.User, cmd.Currency, amount})
	}
}

// BalanceView is one balance of an account, in 10^-18. It is a whole number of units of 10^-Digits.
type BalanceView struct {
	CurrencyCode      string
	Digits            int
	Free, Held, Total fixed.I192
}

// TotalView is one row of GET /totals, in 10^-18: Free + Held + Fees = Deposited - Withdrawn.
type TotalView struct {
	CurrencyCode                           string
	Digits                                 int
	Free, Held, Fees, Deposited, Withdrawn fixed.I192
}

// view returns a balance for the answer to a command.
func (b *balances) view(u *user, currency uint32) BalanceView {
	r := u.row(currency)
	return shownBalance{free: r.free, held: r.held}.view(b.currencies[currency])
}

func (b shownBalance) view(c accrual.Currency) BalanceView {
	free, held := c.Money(b.free.Wide()), c.Money(b.held.Wide())
	return BalanceView{CurrencyCode: c.Code, Digits: c.Digits, Free: free, Held: held, Total: free.Add(held)}
}

// Balances returns the balances of an account that are not zero, by currency code.
func (v *Shown) Balances(n uint32) []BalanceView {
	return slices.DeleteFunc(v.Rows(n), func(b BalanceView) bool { return b.Free.Sign() == 0 && b.Held.Sign() == 0 })
}

// Rows returns the balances of an account by currency code, those that are zero too.
func (v *Shown) Rows(n uint32) []BalanceView {
	out := []BalanceView{}
	a := v.account(n)
	if a == nil {
		return out
	}
	currencies := v.currenciesShown()
	for _, b := range a.balances {
		out = append(out, b.view(currencies[b.currency]))
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Balance returns one balance, zeros where there is none.
func (v *Shown) Balance(n uint32, currencyCode string) BalanceView {
	currencies := v.currenciesShown()
	if a := v.account(n); a != nil {
		for _, b := range a.balances {
			if c := currencies[b.currency]; c.Code == currencyCode {
				return b.view(c)
			}
		}
	}
	for _, c := range currencies {
		if c.Code == currencyCode {
			return shownBalance{}.view(c)
		}
	}
	return shownBalance{}.view(accrual.Currency{Code: currencyCode, Digits: engine.DefaultDigits})
}

// currenciesShown returns the currencies by number.
func (v *Shown) currenciesShown() []accrual.Currency {
	if all := v.currencies.Load(); all != nil {
		return *all
	}
	return nil
}

// Totals returns the sums over all accounts, the built-in one included, by currency code.
func (v *Shown) Totals() []TotalView {
	rows := *v.sums.Load()
	currencies := v.currenciesShown()
	out := make([]TotalView, 0, len(rows))
	for n, row := range rows {
		if t := row.shown.Load(); t != nil {
			c := currencies[n]
			out = append(out, TotalView{
				CurrencyCode: c.Code, Digits: c.Digits, Free: c.Money(t.free().Wide()), Held: c.Money(t.held.Wide()),
				Fees: c.Money(t.fees.Wide()), Deposited: c.Money(t.deposited.Wide()),
				Withdrawn: c.Money(t.withdrawn.Wide()),
			})
		}
	}
	slices.SortFunc(out, func(a, b TotalView) int { return cmp.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}
