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
	currencies []string
	currencyNo map[string]uint32
	totals     []totals              // by currency number
	coming     map[balanceKey]coming // amounts that open orders and reservations may still bring

	// arriving holds the money from outside whose records are not durable yet, by balance; nil: nothing is held
	// back (no store runs). free contains it, because the fold must find the same balances as a recovery, which
	// knows no syncs. No view shows it, and no order and no withdrawal may use it.
	arriving     map[balanceKey]fixed.I192
	arrivingKeys []balanceKey // its keys, in order

	onBalance func(account uint32, currencyCode string) // nil: no listener
}

func newBalances() *balances {
	return &balances{currencyNo: map[string]uint32{}, coming: map[balanceKey]coming{}}
}

// totals holds the sums of one currency over all accounts. Fees and withdrawals have no
// limit: accounts that may go below zero pay and withdraw for as long as other accounts trade
// with them. Each event and record adds a few terms of at most 10^20 (2^127 in 10^-18) to
// each sum, and fixed.I192 has room for 2^64 terms (docs/internals/bounds.md#accounts).
type totals struct{ free, held, pending, fees, deposited, withdrawn fixed.I192 }

// row is one balance. free and held depend on records and events alone. pending is the part
// of free that reservations of this process use; it is never stored. Orders and deposits are
// admitted only where the balance stays within 10^20. The row itself is wider (see
// fixed.I192), so no event can overflow it.
type row struct {
	currency            uint32
	free, held, pending fixed.I192
}

// available returns the amount that a new order or withdrawal may use. The clamp is harmless:
// callers compare the result with at most 2 x 10^20.
func (b *balances) available(u *user, r *row) fixed.I128 {
	return r.free.Sub(r.pending).Sub(b.arriving[balanceKey{u.n, r.currency}]).Clamp()
}

// total returns free + held.
func (r *row) total() fixed.I192 { return r.free.Add(r.held) }

// balanceKey names a balance.
type balanceKey struct{ account, currency uint32 }

// coming holds the amounts that a balance may still receive. Invariant: a balance plus its coming amounts stays
// within 10^20. An order is accepted only if there is room for the most that it may bring. It reserves this
// room until it ends, and the engine does not let it bring more. Therefore no fill can take a balance beyond
// the limit, whatever prices do, not even the fill of a stop that is triggered long after it was placed.
type coming struct {
	open    fixed.I192 // from open orders; depends on records and events alone
	pending fixed.I192 // from orders on their way to the engine, and from a planned deposit
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

// currency returns the number of a code and assigns one at the first use.
func (b *balances) currency(code string) uint32 {
	if n, ok := b.currencyNo[code]; ok {
		return n
	}
	n := uint32(len(b.currencies))
	b.currencies = append(b.currencies, code)
	b.currencyNo[code] = n
	b.totals = append(b.totals, totals{})
	return n
}

func (b *balances) changed(u *user, currency uint32) {
	if b.onBalance != nil {
		b.onBalance(u.n, b.currencies[currency])
	}
}

// credit adds amount, which may be negative, to free and to the total of the currency.
func (b *balances) credit(u *user, currency uint32, amount fixed.I192) {
	r, t := u.row(currency), &b.totals[currency]
	r.free, t.free = r.free.Add(amount), t.free.Add(amount)
	b.changed(u, currency)
}

// hold moves amount from free to held (negative: back).
func (b *balances) hold(u *user, currency uint32, amount fixed.I128) {
	r, t := u.row(currency), &b.totals[currency]
	r.free, r.held = r.free.Minus(amount), r.held.Plus(amount)
	t.free, t.held = t.free.Minus(amount), t.held.Plus(amount)
	b.changed(u, currency)
}

// spendHeld subtracts amount from held.
func (b *balances) spendHeld(u *user, currency uint32, amount fixed.I128) {
	r, t := u.row(currency), &b.totals[currency]
	r.held, t.held = r.held.Minus(amount), t.held.Minus(amount)
	b.changed(u, currency)
}

// deposit credits money that enters the exchange.
func (b *balances) deposit(u *user, currency uint32, amount fixed.I128) {
	if b.arriving != nil {
		k := balanceKey{u.n, currency}
		if _, more := b.arriving[k]; !more {
			b.arrivingKeys = append(b.arrivingKeys, k)
		}
		b.arriving[k] = b.arriving[k].Plus(amount)
	}
	b.credit(u, currency, amount.Wide())
	t := &b.totals[currency]
	t.deposited = t.deposited.Plus(amount)
}

// arrive lets the money count that the records so far have brought.
func (b *balances) arrive(dir *directory) {
	clear(b.arriving)
	for _, k := range b.arrivingKeys {
		b.changed(dir.mustFind(k.account), k.currency)
	}
	b.arrivingKeys = b.arrivingKeys[:0]
}

// sumUp fills the totals from the balances.
func (b *balances) sumUp(users []*user) {
	for _, u := range users {
		for i := range u.rows {
			r := &u.rows[i]
			t := &b.totals[r.currency]
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

// headroom returns the amount that a balance may still receive, beyond its coming amounts.
func (b *balances) headroom(u *user, currency uint32) fixed.I128 {
	has := b.coming[balanceKey{u.n, currency}].sum()
	if r := u.find(currency); r != nil {
		has = has.Add(r.total())
	}
	return positive(MaxMoney.Wide().Sub(has)).Clamp()
}

// room reports whether amount more of a currency fits: neither a balance nor the sum of all
// deposits of a currency may exceed 10^20.
func (b *balances) room(u *user, code string, amount fixed.I128) bool {
	n, known := b.currencyNo[code]
	if !known {
		return true
	}
	if b.totals[n].deposited.Plus(amount).CmpTerm(MaxMoney) > 0 {
		return false
	}
	return amount.Cmp(b.headroom(u, n)) <= 0
}

func checkCurrency(code string) *refuse.Refusal {
	if !engine.ValidCurrencyCode(code) {
		return invalid("currencyCode", "currencyCode must be %s.", engine.CurrencyForm)
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

func (s *State) planDeposit(cmd *Command, rec *Record) *refuse.Refusal {
	if reject := checkAmount(cmd, rec); reject != nil {
		return reject
	}
	if !s.balances.room(s.dir.mustFind(cmd.User), cmd.Currency, cmd.Amount) {
		return invalid("amount", "No balance and no sum of deposits may pass 10^20.")
	}
	return nil
}

func (s *State) applyDeposit(rec *Record, res *Result) {
	if rec.setAside {
		s.releaseRoom(rec)
	}
	n := s.balances.currency(rec.Currency)
	s.balances.deposit(s.dir.mustFind(rec.User), n, rec.Amount)
	s.transfers.add(rec, rec.Amount)
	res.Balance = s.balances.viewWithout(s.dir.mustFind(rec.User), n, fixed.I192{})
}

func (s *State) planWithdraw(cmd *Command, rec *Record) *refuse.Refusal {
	if reject := checkAmount(cmd, rec); reject != nil {
		return reject
	}
	rec.Commission = s.opts.withdrawal(cmd.Currency).of(cmd.Amount)
	u := s.dir.mustFind(cmd.User)
	if rec.Commission.Cmp(MaxMoney.Sub(cmd.Amount)) > 0 {
		return insufficient(cmd.Currency)
	}
	least := cmd.Amount.Add(rec.Commission)
	if u.profile.Unlimited {
		least = least.Sub(MaxMoney) // may go below zero, not below -10^20
	}
	var available fixed.I128
	if n, known := s.balances.currencyNo[cmd.Currency]; known {
		if r := u.find(n); r != nil {
			available = s.balances.available(u, r)
		}
	}
	if available.Cmp(least) < 0 {
		return insufficient(cmd.Currency)
	}
	return nil
}

// applyWithdraw takes the money out of the balance and pays the referral share of the commission.
// In a running store setAside has taken the money already (rec.setAside).
func (s *State) applyWithdraw(rec *Record, res *Result) {
	if !rec.setAside {
		s.withdraw(rec)
	}
	s.transfers.add(rec, rec.Amount.Add(rec.Commission).Neg())
	n := s.balances.currency(rec.Currency)
	u := s.dir.mustFind(rec.User)
	s.referral.payUplines(u, payment{
		typ: accrual.WithdrawalCommission, currency: n, of: rec.Commission, timeNs: rec.TimeNs,
	}, nil)
	res.Balance, res.Commission = s.balances.viewWithout(u, n, fixed.I192{}), rec.Commission
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

// view returns a balance without the money that is not durable yet.
func (b *balances) view(u *user, currency uint32) BalanceView {
	return b.viewWithout(u, currency, b.arriving[balanceKey{u.n, currency}])
}

// viewWithout returns a balance without some of its money. The answer to a record, which waits until the record
// is durable, leaves nothing out.
func (b *balances) viewWithout(u *user, currency uint32, hidden fixed.I192) BalanceView {
	out := BalanceView{CurrencyCode: b.currencies[currency]}
	if r := u.find(currency); r != nil {
		// The rounding of a fee may have used some 10^-18 of a reservation, so show the smaller amount.
		free, pending := r.free.Sub(hidden), r.pending
		if !u.profile.Unlimited {
			if r.free.Sign() >= 0 { // an overdrawn balance is shown
				free = positive(free)
			}
			pending = least(pending, positive(free))
		}
		out.Free, out.Held = free.Sub(pending), r.held.Add(pending)
		out.Total = free.Add(r.held)
	}
	return out
}

// Balances returns the balances of an account that are not zero, by currency code.
func (v *View) Balances(n uint32) []BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := []BalanceView{}
	u := v.s.dir.user(n)
	if u == nil {
		return out
	}
	for i := range u.rows {
		b := v.s.balances.view(u, u.rows[i].currency)
		if b.Free.Sign() != 0 || b.Held.Sign() != 0 {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Settled returns the balances of an account without reservations: what records and events have made of them, so
// they change with an order's events and not with its request. Balances that are zero are listed too.
func (v *View) Settled(n uint32) []BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u := v.s.dir.user(n)
	if u == nil {
		return nil
	}
	out := make([]BalanceView, 0, len(u.rows))
	for i := range u.rows {
		r := &u.rows[i]
		free := r.free.Sub(v.s.balances.arriving[balanceKey{u.n, r.currency}])
		out = append(out, BalanceView{
			CurrencyCode: v.s.balances.currencies[r.currency], Free: free, Held: r.held, Total: free.Add(r.held),
		})
	}
	slices.SortFunc(out, func(a, b BalanceView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}

// Balance returns one balance, zeros where there is none.
func (v *View) Balance(n uint32, currencyCode string) BalanceView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u, c := v.s.dir.user(n), v.s.balances.currencyNo
	if i, known := c[currencyCode]; known && u != nil {
		return v.s.balances.view(u, i)
	}
	return BalanceView{CurrencyCode: currencyCode}
}

// Totals returns the sums over all accounts, the built-in one included, by currency code.
func (v *View) Totals() []TotalView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	out := make([]TotalView, 0, len(v.s.balances.totals))
	for i, t := range v.s.balances.totals {
		for _, k := range v.s.balances.arrivingKeys {
			if k.currency == uint32(i) {
				hidden := v.s.balances.arriving[k]
				t.free, t.deposited = t.free.Sub(hidden), t.deposited.Sub(hidden)
			}
		}
		out = append(out, TotalView{
			CurrencyCode: v.s.balances.currencies[i], Free: t.free.Sub(t.pending), Held: t.held.Add(t.pending),
			Fees: t.fees, Deposited: t.deposited, Withdrawn: t.withdrawn,
		})
	}
	slices.SortFunc(out, func(a, b TotalView) int { return strings.Compare(a.CurrencyCode, b.CurrencyCode) })
	return out
}
