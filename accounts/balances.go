package accounts

import (
	"cmp"
	"slices"

	"tickhive/internal/fixed"
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
