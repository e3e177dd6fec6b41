package accounts

import (
	"fmt"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// State holds all accounts, in parts that are not usable alone: directory (users and who invited them), balances
// (money, its sums, and what orders hold) and referral (shares of fees and incomes). It implements engine.Funds.
//
// Readers of users and money read Shown, which follows State's reports. One report lists changes by commands and by
// events in their order, because a later value of a balance contains the earlier one:
//
//	Do, Fold ── Take ── once the records have reached the mark ──> Shown.Fold ── Publish
//
// Owner: the goroutine that applies the log. It has no lock.
type State struct {
	settings  Settings
	dir       *directory
	balances  *balances
	referral  *referral
	keys      *auth.Roster
	deadlines deadlines
	digest    *digest // shared with balances and referral

	shown  *Shown // nil: nobody reads
	report Report // since the last Take; its position alone while shown is nil
	takes  uint64 // number of reports that were taken
}

// New returns a state with the built-in account only.
func New(settings Settings) *State {
	s := newState()
	s.SetSettings(settings)
	return s
}

func newState() *State {
	sum := &digest{}
	dir, money := newDirectory(), newBalances(sum)
	return &State{
		digest: sum, dir: dir, balances: money, keys: auth.NewRoster(),
		referral: newReferral(dir, money), deadlines: newDeadlines(),
	}
}

// SetSettings replaces the settings in force, which must be valid.
func (s *State) SetSettings(settings Settings) {
	if err := settings.Validate(); err != nil {
		panic("BUG: " + err.Error())
	}
	s.settings = settings.clone()
	s.referral.config = s.settings.Referral
	if s.shown != nil {
		settings := s.settings
		s.report.settings = &settings
	}
}

// Do carries out a command at a time. It decides by the state, the settings in it, the command and the time alone, and
// so again in a replay of the log. A refusal is a *refuse.Refusal and has changed nothing.
func (s *State) Do(nowNs int64, cmd *Command) (Result, error) {
	if len(s.dir.stale) >= maxStale {
		s.settle()
	}
	res := Result{Kind: cmd.Kind}
	if reject := s.do(nowNs, cmd, &res); reject != nil {
		return Result{}, reject
	}
	return res, nil
}

func (s *State) do(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	if reject := cmd.check(); reject != nil {
		return reject
	}
	if !cmd.Kind.row().noUser && (cmd.User == 0 || s.dir.user(cmd.User) == nil) {
		return notFound("id", "There is no such user.")
	}
	return cmd.Kind.row().do(s, nowNs, cmd, res)
}

// Shown returns what readers see. The first call builds it from the whole State, as the end of a recovery does, and
// begins the reports: a recovery that reported every step would hold all of them. Who calls it first has told Advance
// the position.
func (s *State) Shown() *Shown { return s.ShownBy(new(seal.Key)) }

// ShownBy is Shown with the ring that opens sealed fields for readers.
func (s *State) ShownBy(ring *seal.Key) *Shown {
	if s.shown == nil {
		s.balances.reportSums()
		s.shown = newShown(s, ring)
		s.balances.report, s.dir.report = &s.report, &s.report
	}
	return s.shown
}

// Take returns what has changed since the last Take, for Shown.Fold; nil: nothing, or nobody reads.
func (s *State) Take() *Report {
	if s.shown == nil {
		return nil
	}
	s.balances.reportSums()
	if s.report.empty() {
		return nil
	}
	s.takes++
	s.report.no = s.takes
	r := s.shown.emptyReport()
	*r, s.report = s.report, *r
	return r
}

// Check walks the whole state and reports the first broken invariant: balances that do not add up to the totals, an
// account below zero that must not be, held money without an open order, a debt that is not the sum of the debts, a
// value that is shown and is not the one of the state. That what is held is the sum of the holds of the open orders,
// no one can say without the books.
func (s *State) Check() error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.CheckDigest(); err != nil {
		return err
	}
	if v := s.shown; v != nil && s.report.empty() && len(s.balances.dirty) == 0 && v.published.Load() == s.takes {
		return v.differs(s)
	}
	return nil
}

// check implements Check, except for what is shown.
func (s *State) check() error {
	free, held, debts := make([]fixed.I192, len(s.balances.sums)), make([]fixed.I192, len(s.balances.sums)),
		make([]fixed.I192, len(s.balances.sums))
	for _, u := range s.dir.users {
		if u.orders < 0 {
			return fmt.Errorf("account %d has %d open orders", u.n, u.orders)
		}
		for i := range u.rows {
			r := &u.rows[i]
			switch code := s.balances.currencies[r.currency].Code; {
			case !s.balances.sums[r.currency].used:
				return fmt.Errorf("account %d has a balance of %s, which has none", u.n, code)
			case r.held.Sign() < 0:
				return fmt.Errorf("account %d: held of %s is below zero", u.n, code)
			case r.held.Sign() > 0 && u.orders == 0:
				return fmt.Errorf("account %d: %s is held without an open order", u.n, code)
			case !u.profile.Unlimited && r.free.Sign() < 0:
				return fmt.Errorf("account %d: %s is below zero", u.n, code)
			}
			free[r.currency], held[r.currency] = free[r.currency].Plus(r.free), held[r.currency].Plus(r.held)
			debts[r.currency] = debts[r.currency].Plus(debt(r.free))
		}
	}
	for n := range s.balances.sums {
		t, code := &s.balances.sums[n], s.balances.currencies[n].Code
		switch {
		case held[n] != t.held.Wide():
			return fmt.Errorf("what is held of %s does not add up to its total", code)
		case t.fees.Sign() < 0:
			return fmt.Errorf("the fee account of %s is below zero", code)
		case free[n].Add(held[n]).Plus(t.fees) != t.deposited.Wide().Minus(t.withdrawn):
			return fmt.Errorf("%s: free + held + fees is not deposited - withdrawn", code)
		case debts[n] != t.debt.Wide():
			return fmt.Errorf("%s: the debt is not the sum of what accounts are below zero", code)
		}
	}
	return nil
}
