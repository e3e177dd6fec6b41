package accounts

import (
	"cmp"
	"slices"
	"strings"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// row is one balance. free and held depend on records and events alone. pending is the part
// of free that reservations of this process use; it is never stored. Orders and deposits are
// admitted only where the balance stays within 10^20. The row itself is wider (see
// fixed.I192), so no event of any rules version can overflow it.
type row struct {
	currency            uint32
	free, held, pending fixed.I192
}

// available returns the amount that a new order or withdrawal may use. The clamp is harmless:
// callers compare the result with at most 2 x 10^20.
func (r *row) available() fixed.I128 { return r.free.Sub(r.pending).Clamp() }

// total returns free + held.
func (r *row) total() fixed.I192 { return r.free.Add(r.held) }

// row returns the user's balance of a currency and creates it at the first use. The pointer
// is valid until the next call for the same user.
func (u *user) row(currency uint32) *row {
	i, ok := slices.BinarySearchFunc(u.rows, currency, func(r row, c uint32) int { return cmp.Compare(r.currency, c) })
	if !ok {
		u.rows = slices.Insert(u.rows, i, row{currency: currency})
	}
	return &u.rows[i]
}

// find returns the user's balance of a currency, nil when there is none.
func (u *user) find(currency uint32) *row {
	i, ok := slices.BinarySearchFunc(u.rows, currency, func(r row, c uint32) int { return cmp.Compare(r.currency, c) })
	if !ok {
		return nil
	}
	return &u.rows[i]
}

// credit adds amount, which may be negative, to free and to the total of the currency.
func (s *State) credit(u *user, currency uint32, amount fixed.I192) {
	r, t := u.row(currency), &s.totals[currency]
	r.free, t.free = r.free.Add(amount), t.free.Add(amount)
	s.changed(u, currency)
}

// hold moves amount from free to held (negative: back).
func (s *State) hold(u *user, currency uint32, amount fixed.I128) {
	r, t := u.row(currency), &s.totals[currency]
	r.free, r.held = r.free.Minus(amount), r.held.Plus(amount)
	t.free, t.held = t.free.Minus(amount), t.held.Plus(amount)
	s.changed(u, currency)
}

// spendHeld takes amount out of held.
func (s *State) spendHeld(u *user, currency uint32, amount fixed.I128) {
	r, t := u.row(currency), &s.totals[currency]
	r.held, t.held = r.held.Minus(amount), t.held.Minus(amount)
	s.changed(u, currency)
}

func (s *State) move(user uint32, currency string, amount fixed.I128) {
	s.credit(s.must(user), s.currency(currency), amount.Wide())
}

func checkCurrency(code string) *refuse.Refusal {
	ok := len(code) >= 2 && len(code) <= MaxCurrencyCode
	for _, c := range []byte(code) {
		ok = ok && (c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
	}
	if !ok {
		return invalid("currencyCode", "currencyCode must be 2 to %d of A-Z 0-9.", MaxCurrencyCode)
	}
	return nil
}

func checkAmount(cmd *Command, rec *Record) *refuse.Refusal {
	if reject := checkCurrency(cmd.Currency); reject != nil {
		return reject
	}
	if cmd.Amount.Sign() <= 0 || cmd.Amount.Cmp(MaxMoney) > 0 {
		return invalid("amount", "amount must be above 0 and at most 10^20.")
	}
	rec.Currency, rec.Amount = cmd.Currency, cmd.Amount
	return nil
}

// room reports whether amount more of a currency fits: neither a balance nor the sum of all
// deposits of a currency may exceed 10^20.
func (s *State) room(u *user, code string, amount fixed.I128) bool {
	n, known := s.currencyNo[code]
	if !known {
		return true
	}
	if s.totals[n].deposited.Plus(amount).CmpTerm(MaxMoney) > 0 {
		return false
	}
	return amount.Cmp(s.headroom(u, n)) <= 0
}

func (s *State) planDeposit(cmd *Command, rec *Record) *refuse.Refusal {
	if reject := checkAmount(cmd, rec); reject != nil {
		return reject
	}
	if !s.room(s.must(cmd.User), cmd.Currency, cmd.Amount) {
		return invalid("amount", "No balance and no sum of deposits may pass 10^20.")
	}
	return nil
}

func (s *State) applyDeposit(rec *Record) BalanceView {
	n := s.currency(rec.Currency)
	s.deposit(s.must(rec.User), n, rec.Amount)
	return s.balance(s.must(rec.User), n)
}

// deposit credits money that enters the exchange.
func (s *State) deposit(u *user, currency uint32, amount fixed.I128) {
	s.credit(u, currency, amount.Wide())
	t := &s.totals[currency]
	t.deposited = t.deposited.Plus(amount)
}

func (s *State) planWithdraw(cmd *Command, rec *Record) *refuse.Refusal {
	if reject := checkAmount(cmd, rec); reject != nil {
		return reject
	}
	rec.Commission = s.opts.commissions(cmd.Currency).Withdrawal.of(cmd.Amount)
	u := s.must(cmd.User)
	if rec.Commission.Cmp(MaxMoney.Sub(cmd.Amount)) > 0 {
		return insufficient(cmd.Currency)
	}
	least := cmd.Amount.Add(rec.Commission)
	if u.profile.Unlimited {
		least = least.Sub(MaxMoney) // may go below zero, not below -10^20
	}
	var available fixed.I128
	if n, known := s.currencyNo[cmd.Currency]; known {
		if r := u.find(n); r != nil {
			available = r.available()
		}
	}
	if available.Cmp(least) < 0 {
		return insufficient(cmd.Currency)
	}
	return nil
}

// applyWithdraw pays the referral share of the commission. The money itself has already left
// the balance.
func (s *State) applyWithdraw(rec *Record) BalanceView {
	n := s.currency(rec.Currency)
	u := s.must(rec.User)
	s.payUplines(u, payment{typ: WithdrawalCommission, currency: n, of: rec.Commission, timeNs: rec.TimeNs, rules: rec.Rules}, nil)
	return s.balance(u, n)
}

// BalanceView is one balance of an account.
type BalanceView struct {
	CurrencyCode      string
	Free, Held, Total fixed.I192
}

// TotalView is one row of GET /totals: Free + Held + Fees = Deposited - Withdrawn.
type TotalView struct {
	CurrencyCode                           string
	Free, Held, Fees, Deposited, Withdrawn fixed.I192
}

func (s *State) balance(u *user, currency uint32) BalanceView {
	b := BalanceView{CurrencyCode: s.currencies[currency]}
	if r := u.find(currency); r != nil {
		// A fee may have taken some 10^-18 that a reservation uses: show the smaller amount.
		pending := r.pending
		if !u.profile.Unlimited {
			pending = least(pending, positive(r.free))
		}
		b.Free, b.Held = r.free.Sub(pending), r.held.Add(pending)
		b.Total = r.total()
	}
	return b
}

// Balances returns the balances of an account that are not zero, by currency code.
func (v *View) Balances(n uint32) []BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := []BalanceView{}
	u := v.s.user(n)
	if u == nil {
		return out
	}
	for i := range u.rows {
		b := v.s.balance(u, u.rows[i].currency)
		if b.Free.Sign() != 0 || b.Held.Sign() != 0 {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Balance returns one balance, zeros where there is none.
func (v *View) Balance(n uint32, currencyCode string) BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u, c := v.s.user(n), v.s.currencyNo
	if i, known := c[currencyCode]; known && u != nil {
		return v.s.balance(u, i)
	}
	return BalanceView{CurrencyCode: currencyCode}
}

// Totals returns the sums over all accounts, the built-in one included, by currency code.
func (v *View) Totals() []TotalView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := make([]TotalView, 0, len(v.s.totals))
	for i, t := range v.s.totals {
		out = append(out, TotalView{
			CurrencyCode: v.s.currencies[i], Free: t.free.Sub(t.pending), Held: t.held.Add(t.pending),
			Fees: t.fees, Deposited: t.deposited, Withdrawn: t.withdrawn,
		})
	}
	slices.SortFunc(out, func(a, b TotalView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}
