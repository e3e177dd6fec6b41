package accounts

import "tickhive/internal/fixed"

// View shows what was applied and returns it, as the loop does behind each command.
func (s *State) View() *Shown {
	v := s.Shown()
	if r := s.Take(); r != nil {
		v.Fold(r)
	}
	v.Publish()
	return v
}

// Usable returns a balance as an order finds it: what reservations use is held.
func (s *State) Usable(account uint32, currency string) BalanceView {
	b := s.View().Balance(account, currency)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if n, known := s.balances.currencyNo[currency]; known {
		if r := s.dir.mustFind(account).find(n); r != nil {
			b.Free, b.Held = b.Free.Sub(r.pending), b.Held.Add(r.pending)
		}
	}
	return b
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
