package accounts

import (
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Report lists what commands and events have changed, in their order. A change carries the value after it, so that who
// reads the report needs no State: State may be ahead meanwhile. The zero Report is empty.
type Report struct {
	balances   []balanceChange
	sums       []sumChange
	received   []receivedChange
	currencies []accrual.Currency // all by number, as far as the report knows
	pos        uint64             // position of the log that is folded, 0: unchanged
	no         uint64             // counts the reports that were taken

	users     []*person
	keys      []keyChange
	links     *fifo.Queue[linkRef] // of all links by number - 1; nil: unchanged
	settings  *Settings
	transfers []transfer
}

// balanceChange is a balance after a change.
type balanceChange struct {
	account, currency uint32
	free, held        fixed.I128
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
	amount   fixed.I128 // the change of the balance, 10^-18
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
		r.links == nil && r.settings == nil && r.pos == 0
}

// receive notes what a user has received, as balance does.
func (r *Report) receive(u *user) {
	i := int(u.reported)
	if i >= len(r.received) || r.received[i].user != u.n {
		i = len(r.received)
		u.reported = uint32(i)
		r.received = append(r.received, receivedChange{user: u.n})
	}
	r.received[i].Received = u.received.Copy()
}

// balance notes a balance. The row knows its last change, which the next one of the same report replaces.
func (r *Report) balance(account uint32, of *row) {
	i := int(of.reported)
	if i >= len(r.balances) || r.balances[i].account != account || r.balances[i].currency != of.currency {
		i = len(r.balances)
		of.reported = uint32(i)
		r.balances = append(r.balances, balanceChange{account: account, currency: of.currency})
	}
	c := &r.balances[i]
	c.free, c.held = of.free, of.held
}
