package accounts

import (
	"cmp"
	"slices"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/internal/fifo"
	"tickhive/internal/fixed"
)

// Report lists what records and events have changed, in their order. A change carries the value after it, so that who
// reads the report needs no State: State may be ahead meanwhile. The zero Report is empty.
type Report struct {
	balances []balanceChange
	sums     []sumChange
	received []receivedChange
	codes    []string // of all currencies by number, as far as the report knows; append-only
	pos      uint64   // engine position that is folded

	users     []*person
	keys      []keyChange
	links     *fifo.Queue[linkRef] // of all links by number - 1; nil: unchanged
	config    *Config
	transfers []transfer
}

// balanceChange is a balance after a change.
type balanceChange struct {
	account, currency uint32
	free, held        fixed.I192
}

// sumChange holds the sums of a currency after a change.
type sumChange struct {
	currency uint32
	totals
}

// receivedChange is what a user has received after a payment.
type receivedChange struct {
	user uint32
	accrual.Received
}

// keyChange is a key that was made or deleted.
type keyChange struct {
	*auth.Key
	deleted bool
}

// transfer is money that has entered or left an account.
type transfer struct {
	user     uint32
	currency string
	amount   fixed.I128 // the change of the balance
}

// add appends the changes of another report.
func (r *Report) add(o *Report) {
	r.balances = append(r.balances, o.balances...)
	r.sums = append(r.sums, o.sums...)
	r.received = append(r.received, o.received...)
	r.users = append(r.users, o.users...)
	r.keys = append(r.keys, o.keys...)
	r.transfers = append(r.transfers, o.transfers...)
	if o.codes != nil {
		r.codes = o.codes
	}
	if o.links != nil {
		r.links = o.links
	}
	if o.config != nil {
		r.config = o.config
	}
	r.pos = max(r.pos, o.pos)
}

// compact keeps the last change of each balance and of each receiver.
func (r *Report) compact() {
	r.balances = lastOf(r.balances, func(a, b balanceChange) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.currency, b.currency))
	})
	r.received = lastOf(r.received, func(a, b receivedChange) int { return cmp.Compare(a.user, b.user) })
}

// lastOf keeps the last of the items that are equal.
func lastOf[T any](list []T, compare func(a, b T) int) []T {
	slices.Reverse(list)
	slices.SortStableFunc(list, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 })
}

// reset empties the report. It keeps buffers of a usual size.
func (r *Report) reset() {
	clear(r.received)
	clear(r.users)
	clear(r.keys)
	clear(r.transfers)
	*r = Report{
		balances: spare(r.balances), sums: spare(r.sums), received: spare(r.received), users: spare(r.users),
		keys: spare(r.keys), transfers: spare(r.transfers),
	}
}

// maxSpare bounds the changes for which a buffer is kept.
const maxSpare = 4096

func spare[T any](list []T) []T {
	if cap(list) > maxSpare {
		return nil
	}
	return list[:0]
}

// empty reports whether the report has no change.
func (r *Report) empty() bool {
	return len(r.balances)+len(r.sums)+len(r.received)+len(r.users)+len(r.keys)+len(r.transfers) == 0 &&
		r.codes == nil && r.links == nil && r.config == nil
}

// balance notes a balance. The row knows its last change, which the next one of the same report replaces.
func (r *Report) balance(account uint32, of *row, free fixed.I192) {
	i := int(of.reported)
	if i >= len(r.balances) || r.balances[i].account != account || r.balances[i].currency != of.currency {
		i = len(r.balances)
		of.reported = uint32(i)
		r.balances = append(r.balances, balanceChange{account: account, currency: of.currency})
	}
	c := &r.balances[i]
	c.free, c.held = free, of.held
}
