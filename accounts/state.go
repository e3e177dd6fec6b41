package accounts

import (
	"fmt"
	"sync"

	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// State holds all accounts, in parts that are not usable alone: directory (users and who invited them), balances
// (money and its sums), holds (open orders, reservations, settlement) and referral (shares of fees and incomes).
//
// Do, FoldEvents, SetSettings, Take and AppendSnapshot belong to the goroutine that applies the log; any goroutine may
// call Reserve, Release, SetAside and the functions that read. One lock guards all parts, because one trade moves money
// of up to twelve accounts. Sharded locks would gain nothing at the rates of a fold. Readers of users and money take no
// lock: they read Shown, which follows State's reports. One report lists changes by commands and by events in their
// order, because a later value of a balance contains the earlier one:
//
//	Do, FoldEvents ── Take ── once the records have reached the mark ──> Shown.Fold ── Publish
//
// Where the half-even rounding of several fees would exceed the money available by some 10^-18, the fee is reduced. For
// the built-in account, which holds nothing, and for what accounts owe, the bound of 10^20 is checked at current prices
// only.
//
// mu guards every member.
type State struct {
	mu sync.RWMutex

	settings  Settings
	dir       *directory
	balances  *balances
	referral  *referral
	holds     *holds
	keys      *auth.Roster
	deadlines deadlines

	shown  *Shown // nil: nobody reads
	report Report // since the last Take; its position alone while shown is nil
	takes  uint64 // number of reports that were taken
}

// Counts holds counters for metrics, since the start of the process.
type Counts struct {
	Archived   uint64 // accruals added to the archive of their day
	Shortfalls uint64 // fees that were reduced to keep a balance at or above zero
	Unreserved uint64 // orders accepted without a reservation of this process
	Overdrafts uint64 // settlements that a funded account could not cover; each one is a bug
}

// New returns a state with the built-in account only.
func New(settings Settings) *State {
	s := newState()
	s.SetSettings(settings)
	return s
}

func newState() *State {
	dir, money := newDirectory(), newBalances()
	return &State{
		dir: dir, balances: money, keys: auth.NewRoster(),
		referral: newReferral(dir, money), holds: newHolds(dir, money), deadlines: newDeadlines(),
	}
}

// SetSettings replaces the settings in force, which must be valid.
func (s *State) SetSettings(settings Settings) {
	if err := settings.Validate(); err != nil {
		panic("BUG: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	res := Result{Kind: cmd.Kind}
	if reject := s.do(nowNs, cmd, &res); reject != nil {
		return Result{}, reject
	}
	return res, nil
}

func (s *State) do(nowNs int64, cmd *Command, res *Result) *refuse.Refusal {
	if reject := cmd.Check(); reject != nil {
		return reject
	}
	if !cmd.Kind.row().noUser && (cmd.User == 0 || s.dir.user(cmd.User) == nil) {
		return notFound("id", "There is no such user.")
	}
	return cmd.Kind.row().do(s, nowNs, cmd, res)
}

// Shown returns what readers see. The first call builds it from the whole State, as the end of a recovery does, and
// begins the reports: a recovery that reported every step would hold all of them. Who calls it first owns State and has
// told FoldEvents the position. Any goroutine may call it then.
func (s *State) Shown() *Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		s.balances.reportSums()
		s.shown = newShown(s)
		s.balances.report, s.dir.report = &s.report, &s.report
	}
	return s.shown
}

// Take returns what has changed since the last Take, for Shown.Fold; nil: nothing, or nobody reads.
func (s *State) Take() *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Counts returns the counters for metrics. Any goroutine may call it.
func (s *State) Counts() Counts {
	c := &s.holds.counts
	return Counts{
		Archived: s.referral.archived.Load(), Shortfalls: c.shortfalls.Load(), Unreserved: c.unreserved.Load(),
		Overdrafts: c.overdrafts.Load(),
	}
}

// Check walks the whole state and reports the first broken invariant: balances that do not add up to the totals, a
// funded account below zero, held money that no order holds, a value that is shown and is not the one of the state.
func (s *State) Check() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(); err != nil {
		return err
	}
	if v := s.shown; v != nil && s.report.empty() && len(s.balances.dirty) == 0 && v.published.Load() == s.takes {
		return v.differs(s)
	}
	return nil
}

// check implements Check, except for what is shown. The caller must hold mu.
func (s *State) check() error {
	holds := map[balanceKey]fixed.I192{}
	for id, o := range s.holds.orders {
		if o.held.Sign() < 0 {
			return fmt.Errorf("order %d holds less than nothing", id)
		}
		k := balanceKey{o.account, o.currency(s.holds.pairs[o.pair])}
		holds[k] = holds[k].Plus(o.held)
	}
	reserved := map[balanceKey]fixed.I192{}
	for k, e := range s.holds.pending {
		for _, amount := range e.amounts {
			at := balanceKey{k.account, e.currency}
			reserved[at] = reserved[at].Plus(amount)
		}
	}
	for _, a := range s.holds.asides {
		reserved[a.balanceKey] = reserved[a.balanceKey].Plus(a.money)
	}
	audit := make([]totals, len(s.balances.sums))
	for _, u := range s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if r.held != holds[balanceKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: held of %s is not the sum of its orders' holds", u.n,
					s.balances.currencies[r.currency])
			}
			if r.pending != reserved[balanceKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: what is reserved of %s is not the sum of its reservations", u.n,
					s.balances.currencies[r.currency])
			}
			if !u.profile.Unlimited && r.free.Sign() < 0 { // held is a sum of holds
				return fmt.Errorf("account %d: %s is below zero", u.n, s.balances.currencies[r.currency])
			}
			a := &audit[r.currency]
			a.free, a.held = a.free.Add(r.free), a.held.Add(r.held)
		}
	}
	for i := range s.balances.sums {
		t, a := &s.balances.sums[i], &audit[i]
		if a.free != t.free || a.held != t.held {
			return fmt.Errorf("the balances of %s do not add up to their totals", s.balances.currencies[i])
		}
		if t.fees.Sign() < 0 {
			return fmt.Errorf("the fee account of %s is below zero", s.balances.currencies[i])
		}
		if t.free.Add(t.held).Add(t.fees) != t.deposited.Sub(t.withdrawn) {
			return fmt.Errorf("%s: free + held + fees is not deposited - withdrawn", s.balances.currencies[i])
		}
	}
	return nil
}
