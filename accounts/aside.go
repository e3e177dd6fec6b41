package accounts

import (
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// Aside is what the edge keeps for a command on its way to the log, so that no order on its way takes it: the money of
// a withdrawal with its commission, or the room below 10^20 that a deposit or a profit needs. Who sends the command
// takes these steps:
//
//  1. SetAside, before the command is handed to the loop. A refusal ends the request without a record.
//  2. Release, right behind the command's Do on the loop, or as soon as it is known that there will be no record.
//
// Between Do and Release the amount counts twice, which refuses too much and never too little. Releasing again is
// harmless, and so is releasing the zero Aside. What Do decides does not depend on it.
type Aside struct {
	s  *State
	no uint64 // 0: nothing
}

// aside is what one Aside keeps of a balance.
type aside struct {
	balanceKey
	money, room fixed.I128
}

// SetAside checks a command (Check), and a withdrawal, a deposit or a profit against what orders and other commands on
// their way leave, and keeps what it needs. For a command of another kind, and where Do will refuse for lack of the
// user, it keeps nothing. Any goroutine.
func (s *State) SetAside(cmd *Command) (Aside, *refuse.Refusal) {
	if reject := cmd.Check(); reject != nil {
		return Aside{}, reject
	}
	if cmd.Kind != Withdraw && cmd.Kind != Deposit && cmd.Kind != AddProfit {
		return Aside{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.dir.user(cmd.User)
	if u == nil || u.n == 0 {
		return Aside{}, nil
	}
	a, reject := s.aside(u, cmd)
	n, known := s.balances.currencyNo[cmd.Currency]
	if reject != nil || !known { // no order can spend or bring a currency without a number, which is in no pair
		return Aside{}, reject
	}
	if len(s.holds.asides) >= MaxReservations {
		return Aside{}, refuse.New(refuse.Unavailable, "", "There are %d deposits and withdrawals on their way, "+
			"the most there can be.", MaxReservations)
	}
	a.balanceKey = balanceKey{u.n, n}
	s.holds.keep(&a, false)
	s.holds.lastNo++
	s.holds.asides[s.holds.lastNo] = a
	return Aside{s, s.holds.lastNo}, nil
}

// aside returns what a command needs.
func (s *State) aside(u *user, cmd *Command) (aside, *refuse.Refusal) {
	if cmd.Kind != Withdraw {
		return aside{room: cmd.Amount}, s.balances.admit(u, cmd, true)
	}
	r := s.balances.find(u, cmd.Currency)
	commission, reject := s.commission(u, cmd, r.available())
	if reject != nil {
		return aside{}, reject
	}
	return aside{money: cmd.Amount.Add(commission)}, nil
}

// keep makes an aside count, or no longer.
func (h *holds) keep(a *aside, released bool) {
	money, room := a.money, a.room
	if released {
		money, room = money.Neg(), room.Neg()
	}
	r := h.dir.mustFind(a.account).row(a.currency)
	r.pending = r.pending.Plus(money)
	h.balances.expect(a.account, a.currency, fixed.I128{}, room)
}

// Release returns to the account what is kept for a command. Any goroutine.
func (a Aside) Release() {
	if a.no == 0 {
		return
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if kept, still := a.s.holds.asides[a.no]; still {
		delete(a.s.holds.asides, a.no)
		a.s.holds.keep(&kept, true)
	}
}
