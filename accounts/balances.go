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

	// arriving holds the money from outside whose records are not durable yet, by balance; nil: nothing is held
	// back (no store runs). free contains it, because the fold must find the same balances as a recovery, which
	// knows no syncs. No view shows it, and no order and no withdrawal may use it.
	arriving     map[balanceKey]fixed.I192
	arrivingKeys []balanceKey // its keys, in order

	report *Report  // receives what changes; nil: nothing is shown yet
	dirty  []uint32 // currencies whose sums have changed and are not in the report
}

func newBalances() *balances {
	return &balances{currencyNo: map[string]uint32{}, coming: map[balanceKey]coming{}}
}

// totals holds the sums of one currency over all accounts. Fees and withdrawals have no
// limit: accounts that may go below zero pay and withdraw for as long as other accounts trade
// with them. Each event and record adds a few terms of at most 10^20 (2^127 in 10^-18) to
// each sum, and fixed.I192 has room for 2^64 terms (docs/internals/bounds.md#accounts).
type totals struct{ free, held, fees, deposited, withdrawn fixed.I192 }

// sums holds the sums of one currency, and the part of free and deposited that is not durable yet.
type sums struct {
	totals
	arriving fixed.I192
	dirty    bool // in balances.dirty
}

// visible returns the sums without the money that is not durable.
func (t *sums) visible() totals {
	v := t.totals
	v.free, v.deposited = v.free.Sub(t.arriving), v.deposited.Sub(t.arriving)
	return v
}

// row is one balance. free and held depend on records and events alone. pending is the part
// of free that reservations of this process use; it is never stored. Orders and deposits are
// admitted only where the balance stays within 10^20. The row itself is wider (see
// fixed.I192), so no event can overflow it.
type row struct {
	currency            uint32
	reported            uint32 // place of its last change in the report
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
		b.report.balance(u.n, r, b.visible(u, r))
	}
}

// visible returns free without the money that is not durable yet.
func (b *balances) visible(u *user, r *row) fixed.I192 {
	if len(b.arriving) == 0 {
		return r.free
	}
	free := r.free.Sub(b.arriving[balanceKey{u.n, r.currency}])
	if u.profile.Unlimited || r.free.Sign() < 0 { // an overdrawn balance is shown
		return free
	}
	return positive(free) // the rounding of a fee may have used some 10^-18 of what is not durable
}

// reportSums reports the sums that have changed. It is called where they add up: after a record or a batch of events.
func (b *balances) reportSums() {
	for _, n := range b.dirty {
		b.sums[n].dirty = false
		if b.report != nil {
			b.report.sums = append(b.report.sums, sumChange{n, b.sums[n].visible()})
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
	if b.arriving != nil {
		k := balanceKey{u.n, currency}
		if _, more := b.arriving[k]; !more {
			b.arrivingKeys = append(b.arrivingKeys, k)
		}
		b.arriving[k] = b.arriving[k].Plus(amount)
		t := b.total(currency)
		t.arriving = t.arriving.Plus(amount)
	}
	b.credit(u, currency, amount.Wide())
	t := b.total(currency)
	t.deposited = t.deposited.Plus(amount)
}

// arrive lets the money count that the records so far have brought.
func (b *balances) arrive(dir *directory) {
	clear(b.arriving)
	for _, k := range b.arrivingKeys {
		u := dir.mustFind(k.account)
		b.changed(u, u.row(k.currency))
		b.total(k.currency).arriving = fixed.I192{}
	}
	b.arrivingKeys = b.arrivingKeys[:0]
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
	if b.sums[n].deposited.Plus(amount).CmpTerm(MaxMoney) > 0 {
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
	s.transferred(rec, rec.Amount)
	res.Balance = s.balances.view(s.dir.mustFind(rec.User), n)
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
	s.transferred(rec, rec.Amount.Add(rec.Commission).Neg())
	n := s.balances.currency(rec.Currency)
	u := s.dir.mustFind(rec.User)
	s.referral.payUplines(u, payment{
		typ: accrual.WithdrawalCommission, currency: n, of: rec.Commission, timeNs: rec.TimeNs,
	}, nil)
	res.Balance, res.Commission = s.balances.view(u, n), rec.Commission
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

// view returns a balance for the answer to a record, which waits until the record is durable.
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
