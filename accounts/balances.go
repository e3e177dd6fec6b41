package accounts

import (
	"cmp"
	"slices"
	"strings"

	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// balances moves money between the balances of users and keeps the sums of each currency.
//
// Owner: State's mu.
//
// Invariants: free + held + fees of a currency = its deposits - its withdrawals; a balance plus
// its coming amounts stays within 10^20.
type balances struct {
	currencies []string // append-only
	currencyNo map[string]uint32
	sums       []sums                // by currency number
	coming     map[balanceKey]coming // amounts that open orders and reservations may still bring

	report *Report  // receives what changes; nil: nothing is shown yet
	dirty  []uint32 // currencies whose sums have changed and are not in the report
}

func newBalances() *balances {
	return &balances{currencyNo: map[string]uint32{}, coming: map[balanceKey]coming{}}
}

// totals holds the sums of one currency over all accounts. Fees and withdrawals have no
// limit: accounts that may go below zero pay and withdraw for as long as other accounts trade
// with them. Each event and command adds a few terms of at most 10^20 (2^127 in 10^-18) to
// each sum, and fixed.I192 has room for 2^64 terms (docs/internals/bounds.md#accounts).
type totals struct{ free, held, fees, deposited, withdrawn fixed.I192 }

// sums holds the sums of one currency.
type sums struct {
	totals
	dirty bool // in balances.dirty
}

// row is one balance. free and held depend on commands and events alone. pending is the part
// of free that reservations of this process use; it is never stored. Orders and deposits are
// admitted only where the balance stays within 10^20. The row itself is wider (see
// fixed.I192), so no event can overflow it.
type row struct {
	currency            uint32
	reported            uint32 // place of its last change in the report
	free, held, pending fixed.I192
}

// available returns the amount that a new order or withdrawal may use at the edge. The clamp is harmless: callers
// compare the result with at most 2 x 10^20.
func (r *row) available() fixed.I128 { return r.free.Sub(r.pending).Clamp() }

// total returns free + held.
func (r *row) total() fixed.I192 { return r.free.Add(r.held) }

// balanceKey names a balance.
type balanceKey struct{ account, currency uint32 }

// coming holds the amounts that a balance may still receive. Invariant: a balance plus its coming amounts stays
// within 10^20. An order is accepted only if there is room for the most that it may bring. It reserves this
// room until it ends, and the engine does not let it bring more. Therefore no fill can take a balance beyond
// the limit, whatever prices do, not even the fill of a stop that is triggered long after it was placed.
type coming struct {
	open    fixed.I192 // from open orders; depends on commands and events alone
	pending fixed.I192 // from orders on their way to the engine, and from deposits on their way to the log
}

// sum returns open + pending.
func (c coming) sum() fixed.I192 { return c.open.Add(c.pending) }

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

// find returns the user's balance of a currency code, zeros where there is none.
func (b *balances) find(u *user, code string) row {
	if n, known := b.currencyNo[code]; known {
		if r := u.find(n); r != nil {
			return *r
		}
	}
	return row{}
}

// currency returns the number of a code and assigns one at the first use.
func (b *balances) currency(code string) uint32 {
	if n, ok := b.currencyNo[code]; ok {
		return n
	}
	n := uint32(len(b.currencies))
	b.currencies = append(b.currencies, code)
	b.currencyNo[code] = n
	b.sums = append(b.sums, sums{})
	b.total(n)
	return n
}

// total returns the sums of a currency, which the caller changes.
func (b *balances) total(currency uint32) *sums {
	t := &b.sums[currency]
	if !t.dirty {
		t.dirty = true
		b.dirty = append(b.dirty, currency)
	}
	return t
}

// changed reports a balance. Who changes one calls changed behind the change.
func (b *balances) changed(u *user, r *row) {
	if b.report != nil {
		b.report.balance(u.n, r)
	}
}

// reportSums reports the sums that have changed. It is called where they add up: between commands.
func (b *balances) reportSums() {
	for _, n := range b.dirty {
		b.sums[n].dirty = false
		if b.report != nil {
			b.report.sums = append(b.report.sums, sumChange{n, b.sums[n].totals})
			b.report.codes = b.currencies // a new currency is among the sums
		}
	}
	b.dirty = b.dirty[:0]
}

// credit adds amount, which may be negative, to free and to the total of the currency.
func (b *balances) credit(u *user, currency uint32, amount fixed.I192) {
	r, t := u.row(currency), b.total(currency)
	r.free, t.free = r.free.Add(amount), t.free.Add(amount)
	b.changed(u, r)
}

// hold moves amount from free to held (negative: back).
func (b *balances) hold(u *user, currency uint32, amount fixed.I128) {
	r, t := u.row(currency), b.total(currency)
	r.free, r.held = r.free.Minus(amount), r.held.Plus(amount)
	t.free, t.held = t.free.Minus(amount), t.held.Plus(amount)
	b.changed(u, r)
}

// spendHeld subtracts amount from held.
func (b *balances) spendHeld(u *user, currency uint32, amount fixed.I128) {
	r, t := u.row(currency), b.total(currency)
	r.held, t.held = r.held.Minus(amount), t.held.Minus(amount)
	b.changed(u, r)
}

// deposit credits money that enters the exchange.
func (b *balances) deposit(u *user, currency uint32, amount fixed.I128) {
	b.credit(u, currency, amount.Wide())
	t := b.total(currency)
	t.deposited = t.deposited.Plus(amount)
}

// sumUp fills the totals from the balances.
func (b *balances) sumUp(users []*user) {
	for _, u := range users {
		for i := range u.rows {
			r := &u.rows[i]
			t := b.total(r.currency)
			t.free, t.held = t.free.Add(r.free), t.held.Add(r.held)
		}
	}
}

// expect changes the coming amounts of a balance.
func (b *balances) expect(account, currency uint32, open, pending fixed.I128) {
	k := balanceKey{account, currency}
	c := b.coming[k]
	c.open, c.pending = c.open.Plus(open), c.pending.Plus(pending)
	if c == (coming{}) {
		delete(b.coming, k)
	} else {
		b.coming[k] = c
	}
}

// headroom returns the amount that a balance may still receive at the edge, beyond its coming amounts.
func (b *balances) headroom(u *user, currency uint32) fixed.I128 {
	return room(u, currency, b.coming[balanceKey{u.n, currency}].sum())
}

// room returns the amount that a balance may still receive beyond the amount that is coming.
func room(u *user, currency uint32, coming fixed.I192) fixed.I128 {
	if r := u.find(currency); r != nil {
		coming = coming.Add(r.total())
	}
	return positive(MaxMoney.Wide().Sub(coming)).Clamp()
}

// admit refuses money from outside that does not fit: neither a balance nor the sum of all deposits of a currency may
// exceed 10^20. At the edge, what is on its way counts, too.
func (b *balances) admit(u *user, cmd *Command, edge bool) *refuse.Refusal {
	need := cmd.Amount.Wide()
	if cmd.Kind == AddProfit { // the income and the uplines' shares together are at most twice the income
		need = need.Add(need)
	}
	fits := need.CmpTerm(MaxMoney) <= 0
	if n, known := b.currencyNo[cmd.Currency]; known && fits {
		c := b.coming[balanceKey{u.n, n}]
		if !edge {
			c.pending = fixed.I192{}
		}
		fits = b.sums[n].deposited.Add(need).CmpTerm(MaxMoney) <= 0 && need.CmpTerm(room(u, n, c.sum())) <= 0
	}
	if !fits {
		return invalid("amount", "No balance and no sum of deposits may pass 10^20.")
	}
	return nil
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
	if reject := s.balances.admit(u, cmd, false); reject != nil {
		return reject
	}
	n := s.balances.currency(cmd.Currency)
	s.balances.deposit(u, n, cmd.Amount)
	s.transferred(cmd, cmd.Amount)
	res.Balance = s.balances.view(u, n)
	return nil
}

// commission returns the commission of a withdrawal. It refuses a withdrawal that available does not cover.
func (s *State) commission(u *user, cmd *Command, available fixed.I128) (fixed.I128, *refuse.Refusal) {
	c := s.settings.withdrawal(cmd.Currency).of(cmd.Amount)
	if c.Cmp(MaxMoney.Sub(cmd.Amount)) > 0 {
		return c, insufficient(cmd.Currency)
	}
	least := cmd.Amount.Add(c)
	if u.profile.Unlimited {
		least = least.Sub(MaxMoney) // may go below zero, not below -10^20
	}
	if available.Cmp(least) < 0 {
		return c, insufficient(cmd.Currency)
	}
	return c, nil
}

// withdraw takes the money out of the balance and pays the referral share of the commission.
func (s *State) withdraw(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	u := s.dir.mustFind(cmd.User)
	commission, reject := s.commission(u, cmd, s.balances.find(u, cmd.Currency).free.Clamp())
	if reject != nil {
		return reject
	}
	n, all := s.balances.currency(cmd.Currency), cmd.Amount.Add(commission).Neg()
	s.balances.credit(u, n, all.Wide())
	t := s.balances.total(n)
	t.withdrawn, t.fees = t.withdrawn.Plus(cmd.Amount), t.fees.Plus(commission)
	s.transferred(cmd, all)
	s.referral.payUplines(u, payment{
		typ: accrual.WithdrawalCommission, currency: n, of: commission, timeNs: nowNs,
	}, nil)
	res.Balance, res.Commission = s.balances.view(u, n), commission
	return nil
}

// transferred reports money that a command has brought in or out.
func (s *State) transferred(cmd *Command, amount fixed.I128) {
	if s.shown != nil {
		s.report.transfers = append(s.report.transfers, transfer{cmd.User, cmd.Currency, amount})
	}
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

// view returns a balance for the answer to a command.
func (b *balances) view(u *user, currency uint32) BalanceView {
	r := u.row(currency)
	return shownBalance{free: r.free, held: r.held}.view(b.currencies[currency])
}

func (b shownBalance) view(code string) BalanceView {
	return BalanceView{CurrencyCode: code, Free: b.free, Held: b.held, Total: b.free.Add(b.held)}
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
	codes := v.codesShown()
	for _, b := range a.balances {
		out = append(out, b.view(codes[b.currency]))
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Balance returns one balance, zeros where there is none.
func (v *Shown) Balance(n uint32, currencyCode string) BalanceView {
	if a := v.account(n); a != nil {
		codes := v.codesShown()
		for _, b := range a.balances {
			if codes[b.currency] == currencyCode {
				return b.view(currencyCode)
			}
		}
	}
	return BalanceView{CurrencyCode: currencyCode}
}

// codesShown returns the codes of the currencies by number.
func (v *Shown) codesShown() []string {
	if codes := v.codes.Load(); codes != nil {
		return *codes
	}
	return nil
}

// Totals returns the sums over all accounts, the built-in one included, by currency code.
func (v *Shown) Totals() []TotalView {
	rows := *v.currencies.Load()
	out := make([]TotalView, 0, len(rows))
	for _, row := range rows {
		if t := row.sums.Load(); t != nil {
			out = append(out, TotalView{
				CurrencyCode: row.code, Free: t.free, Held: t.held, Fees: t.fees, Deposited: t.deposited,
				Withdrawn: t.withdrawn,
			})
		}
	}
	slices.SortFunc(out, func(a, b TotalView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}
