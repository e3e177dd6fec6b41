package accounts

import "tickhive/internal/fixed"

// setAside changes the balance when a record is planned, before it is durable. It subtracts the money of a
// withdrawal, so that no order can hold that money meanwhile. For a deposit or a profit it reserves room, so
// that no order takes that room.
func (s *State) setAside(rec *Record) {
	if rec.Kind == Withdraw {
		s.withdraw(rec)
	} else if n, known := s.balances.currencyNo[rec.Currency]; known {
		s.balances.expect(rec.User, n, fixed.I128{}, rec.Amount)
	} else {
		return // a currency without a number is in no pair, so no order can receive it
	}
	rec.setAside = true
	plan := *rec
	s.planned = &plan
}

// Abandon undoes the last plan, whose record could not be written. Without a planned record it does nothing.
// Only the store's goroutine may call it.
func (s *State) Abandon() {
	s.mu.Lock()
	switch b := s.planned; {
	case b == nil:
	case b.Kind != Withdraw:
		s.planned = nil
		s.releaseRoom(b)
	default:
		s.planned = nil
		s.move(b.User, b.Currency, b.Amount.Add(b.Commission))
		t := &s.balances.totals[s.balances.currency(b.Currency)]
		t.withdrawn = t.withdrawn.Minus(b.Amount)
		t.fees = t.fees.Minus(b.Commission)
	}
	s.mu.Unlock()
	s.unlockFold()
}

// releaseRoom releases the room that setAside reserved for a deposit or a profit.
func (s *State) releaseRoom(rec *Record) {
	s.balances.expect(rec.User, s.balances.currency(rec.Currency), fixed.I128{}, rec.Amount.Neg())
}

func (s *State) unlockFold() {
	if s.foldLocked {
		s.foldLocked = false
		s.foldLock.Unlock()
	}
}

// withdraw subtracts the amount and the commission from the balance.
func (s *State) withdraw(rec *Record) {
	s.move(rec.User, rec.Currency, rec.Amount.Add(rec.Commission).Neg())
	t := &s.balances.totals[s.balances.currency(rec.Currency)]
	t.withdrawn = t.withdrawn.Plus(rec.Amount)
	t.fees = t.fees.Plus(rec.Commission)
}

// Apply carries out a record. It cannot fail. Only the store's goroutine may call it.
func (s *State) Apply(rec *Record) Result {
	defer s.unlockFold()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned = nil
	s.lastNs = max(s.lastNs, rec.TimeNs)
	res := Result{Kind: rec.Kind}
	rec.Kind.row().apply(s, rec, &res)
	return res
}

func (s *State) move(user uint32, currency string, amount fixed.I128) {
	s.balances.credit(s.dir.mustFind(user), s.balances.currency(currency), amount.Wide())
}
