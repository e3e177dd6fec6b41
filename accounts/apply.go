package accounts

import "fmt"

// stageRecord makes the part of a planned record that the fold looks at, so that no
// event can come between the position it names and its effect.
func (s *State) stageRecord(rec *Record) {
	switch rec.Kind {
	case Withdraw, SetInviter, PatchUser, Configure:
	default:
		return
	}
	before := *rec
	switch rec.Kind {
	case PatchUser:
		before.Profile = s.must(rec.User).profile
	case Configure:
		before.Config = s.config
	}
	s.enforce(rec)
	rec.staged = true
	s.stage = &before
}

// unstage takes back a record that was planned and could not be written.
func (s *State) unstage() {
	b := s.stage
	if b == nil {
		return
	}
	s.stage = nil
	switch b.Kind {
	case Withdraw:
		s.move(b.User, b.Currency, b.Amount.Add(b.Commission))
		t := &s.totals[s.currency(b.Currency)]
		t.withdrawn = t.withdrawn.Sub(b.Amount)
		t.fees = t.fees.Sub(b.Commission)
	case SetInviter:
		s.detach(b.User)
	case PatchUser:
		s.must(b.User).profile.terms(&b.Profile)
	case Configure:
		s.config = b.Config
	}
}

// enforce is what of a record the fold can see.
func (s *State) enforce(rec *Record) {
	switch rec.Kind {
	case Withdraw:
		s.move(rec.User, rec.Currency, rec.Amount.Add(rec.Commission).Neg())
		t := &s.totals[s.currency(rec.Currency)]
		t.withdrawn = t.withdrawn.Add(rec.Amount)
		t.fees = t.fees.Add(rec.Commission)
	case SetInviter:
		s.attach(rec.User, rec.Inviter)
	case PatchUser:
		s.must(rec.User).profile.terms(&rec.Profile)
	case Configure:
		s.config = rec.Config
	}
}

// Apply carries out a record; it cannot fail. Store's goroutine.
func (s *State) Apply(rec *Record) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec.staged {
		s.stage = nil
	} else {
		s.unstage()
		s.enforce(rec)
	}
	s.lastNs = max(s.lastNs, rec.TimeNs)
	res := Result{Kind: rec.Kind}
	switch rec.Kind {
	case CreateUser:
		res.User = s.applyCreateUser(rec)
	case PatchUser:
		res.User = s.applyPatchUser(rec)
	case CreateKey:
		res.Key, res.Secret = s.applyCreateKey(rec), rec.Key.Secret
	case DeleteKey:
		s.applyDeleteKey(rec)
	case Deposit:
		res.Balance = s.applyDeposit(rec)
	case Withdraw:
		res.Balance, res.Commission = s.applyWithdraw(rec), rec.Commission
	case AddProfit:
		res.Accruals = s.applyProfit(rec)
	case SetInviter:
		res.Inviter = s.applySetInviter(rec)
	case CreateLink:
		res.Link = s.applyCreateLink(rec)
	case Configure:
	default:
		panic(fmt.Sprintf("BUG: accounts: record kind %d", rec.Kind))
	}
	return res
}
