package accounts

import (
	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

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
