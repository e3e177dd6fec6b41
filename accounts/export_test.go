package accounts

import "github.com/tickhive/tickhive/internal/fixed"

// View shows what was applied and returns it, as the loop does behind each command.
func (s *State) View() *Shown {
	v := s.Shown()
	if r := s.Take(); r != nil {
		v.Fold(r)
	}
	v.Publish()
	return v
}

// told is a listener that counts balances and notes the rest.
type told struct {
	balances  int
	changed   func(account uint32, currency string)
	transfers []transfer
	deleted   []uint64
}

func (l *told) BalanceChanged(account uint32, currency string) {
	if l.balances++; l.changed != nil {
		l.changed(account, currency)
	}
}

func (l *told) Transferred(user uint32, currency string, amount fixed.I128) {
	l.transfers = append(l.transfers, transfer{user, currency, amount})
}

func (l *told) KeyDeleted(key uint64) { l.deleted = append(l.deleted, key) }

// OpenOrders returns the number of open orders of an account.
func (s *State) OpenOrders(account uint32) int { return s.dir.mustFind(account).orders }
