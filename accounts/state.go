package accounts

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// State holds all accounts, in parts that are not usable alone: directory (users and who invited them), balances
// (money and its sums), holds (open orders, reservations, settlement) and referral (shares of fees and incomes).
//
// Plan, Apply, AppendSnapshot and DecodeSnapshot belong to the store's goroutine, FoldEvents to the goroutine that
// hands the engine's events on; any goroutine may call Reserve, Release and the methods of View. One lock guards all
// parts, because one trade moves money of up to twelve accounts and GET /totals must add up at every instant. Sharded
// locks would break that and gain nothing at the rates of a fold.
//
// Where the half-even rounding of several fees would exceed the money available by some 10^-18, the fee is reduced. For
// the built-in account, which holds nothing, and for what accounts owe, the bound of 10^20 is checked at current prices
// only.
//
// mu guards every member except opts, keys (a lock-free index), and planned, foldLocked and transfers
// (owned by the store's goroutine).
type State struct {
	opts Options
	// foldLock is held from the plan to the Apply of a record that changes something the fold
	// reads. A fold acquires and releases it before it locks mu.
	foldLock   sync.Mutex
	foldLocked bool
	mu         sync.RWMutex

	dir       *directory
	balances  *balances
	referral  *referral
	holds     *holds
	keys      *auth.Keys
	deadlines deadlines
	enginePos uint64

	onKeyDeleted func(key uint64)  // nil: no listener
	onApply      func(rec *Record) // nil: no listener
	transfers    transfers

	lastNs         int64  // time of the last record
	snapshotPos    uint64 // enginePos in the last snapshot taken or read
	aheadOfJournal int    // returned by AheadOfJournal; set by recovery only
	// last record that was ahead of the journal now or at an earlier start, 0: none; see Recheckpoint
	lastAhead uint64
	planned   *Record // the planned Withdraw, Deposit or AddProfit that has not been applied yet
}

// Counts holds counters for metrics, since the start of the process.
type Counts struct {
	Archived   uint64 // accruals added to the archive of their day
	Shortfalls uint64 // fees that were reduced to keep a balance at or above zero
	Unreserved uint64 // orders accepted without a reservation of this process
	Overdrafts uint64 // settlements that a funded account could not cover; each one is a bug
}

// New returns a state with the built-in account only and the default referral rates.
func New(opts Options) *State {
	if err := opts.Validate(); err != nil {
		panic("BUG: " + err.Error())
	}
	if opts.Avatars == nil {
		opts.Avatars = builtinAvatars()
	}
	dir, money := newDirectory(), newBalances()
	return &State{
		opts: opts, dir: dir, balances: money, keys: auth.NewKeys(),
		referral: newReferral(dir, money), holds: newHolds(dir, money), deadlines: newDeadlines(),
	}
}

// Plan validates a command and returns its record; a refusal is a *refuse.Refusal. Only the store's goroutine
// may call it. The caller must then call Apply or Abandon. Until then FoldEvents waits if the record changes
// something that the fold reads, and withdrawn money has already left the balance. The next Plan abandons a
// record that was neither applied nor abandoned.
func (s *State) Plan(nowNs int64, cmd Command) (Record, error) {
	s.Abandon()
	if cmd.Kind.row().locksFold {
		s.foldLock.Lock()
		s.foldLocked = true
	}
	rec, reject := s.planLocked(nowNs, &cmd)
	if reject != nil {
		s.unlockFold()
	}
	return rec, refuse.AsError(reject)
}

func (s *State) planLocked(nowNs int64, cmd *Command) (Record, *refuse.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := Record{Kind: cmd.Kind, TimeNs: nowNs, EnginePos: s.enginePos, User: cmd.User}
	if reject := s.plan(cmd, &rec); reject != nil {
		return Record{}, reject
	}
	if rec.Kind.row().moves {
		s.setAside(&rec)
	}
	return rec, nil
}

func (s *State) plan(cmd *Command, rec *Record) *refuse.Refusal {
	if !cmd.Kind.row().noUser && (cmd.User == 0 || s.dir.user(cmd.User) == nil) {
		return notFound("id", "There is no such user.")
	}
	return cmd.Kind.row().plan(s, cmd, rec)
}

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
	if s.onApply != nil {
		s.onApply(rec)
	}
	return res
}

// OnApply registers f, which is called with every record that was applied: a state that follows this one applies them
// later. f runs under the state's lock, in the store's goroutine: it copies the record and returns.
func (s *State) OnApply(f func(rec *Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onApply = f
}

func (s *State) move(user uint32, currency string, amount fixed.I128) {
	s.balances.credit(s.dir.mustFind(user), s.balances.currency(currency), amount.Wide())
}

func (s *State) planConfigure(cmd *Command, rec *Record) *refuse.Refusal {
	if err := cmd.Config.Validate(); err != nil {
		return invalid("referral", "%s", err.Error())
	}
	rec.Config = cmd.Config
	rec.Config.Levels = slices.Clone(cmd.Config.Levels)
	return nil
}

func (s *State) applyConfigure(rec *Record, _ *Result) { s.referral.config = rec.Config }

// RatesCommand returns the command that sets the referral rates to want, and whether they differ from the
// current ones. The caller sends the command once, at the start after recovery.
func (s *State) RatesCommand(want Config) (Command, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Command{Kind: Configure, Config: want}, !s.referral.config.Equal(want)
}

// OnBalance registers f, which is called for every change of a balance, holds and reservations
// included. f runs under the state's lock, in the goroutine that made the change: it records its
// arguments, returns, and reads View later. Call OnBalance once, before anything else runs.
func (s *State) OnBalance(f func(account uint32, currencyCode string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.balances.onBalance = f
}

// OnTransfer registers f, which is called for every deposit, profit and withdrawal once it is durable, after
// OnBalance of the same money. amount is the change of the balance. f runs on the store's goroutine under no lock
// of the State, in the order of the records. Call OnTransfer once, before anything else runs.
func (s *State) OnTransfer(f func(account uint32, currencyCode string, amount fixed.I128)) {
	s.transfers.notify = f
}

// transfers holds the money that has entered or left accounts by records that are not durable yet.
type transfers struct {
	notify  func(account uint32, currencyCode string, amount fixed.I128) // nil: no listener
	waiting []transfer
}

type transfer struct {
	user     uint32
	currency string
	amount   fixed.I128
}

func (t *transfers) add(rec *Record, amount fixed.I128) {
	if t.notify != nil {
		t.waiting = append(t.waiting, transfer{rec.User, rec.Currency, amount})
	}
}

// publish notifies the listener of what is durable now.
func (t *transfers) publish() {
	for _, one := range t.waiting {
		t.notify(one.user, one.currency, one.amount)
	}
	t.waiting = t.waiting[:0]
}

// OnKeyDeleted registers f, which is called with the number (auth.Principal.Key) of every deleted key
// once the key no longer verifies. f runs under the state's lock, in the store's goroutine:
// it records the number and returns. Call OnKeyDeleted once, before anything else runs.
func (s *State) OnKeyDeleted(f func(key uint64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onKeyDeleted = f
}

// NextNs returns 0: nothing in accounts happens by time alone (auth.Verifier checks the expiry of
// a key at each request).
func (s *State) NextNs() int64 { return 0 }

// Due returns nil, because no command becomes due by time.
func (s *State) Due(int64) []Command { return nil }

// Publish makes the money of deposits and profits whose records are now durable visible and spendable. Only the store's
// goroutine may call it. A View reads the State itself, so it shows every other effect of a record as soon as Apply has
// returned.
func (s *State) Publish() {
	if len(s.balances.arrivingKeys) > 0 { // changed by this goroutine alone
		s.mu.Lock()
		s.balances.arrive(s.dir)
		s.mu.Unlock()
	}
	s.transfers.publish()
}

// LastNs returns the time of the last applied record.
func (s *State) LastNs() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lastNs
}

// ReflectsSeq returns the engine position in the last snapshot taken or read, not the one
// folded so far, because the engine's log may drop only what a snapshot contains.
func (s *State) ReflectsSeq() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.snapshotPos
}

// EnginePos returns the engine position folded so far.
func (s *State) EnginePos() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.enginePos
}

// Counts returns the counters for metrics.
func (s *State) Counts() Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	counts := s.holds.counts
	counts.Archived = s.referral.archived
	return counts
}

// ErrOverdrawn reports a balance below zero where everything else adds up. Only the accepted loss of commands leads to
// such a balance: an account has withdrawn or sold what the lost commands had brought it.
var ErrOverdrawn = errors.New("a balance is below zero")

// check implements View.Check. The caller must hold mu.
func (s *State) check() error {
	type holdKey struct{ account, currency uint32 }
	holds := map[holdKey]fixed.I192{}
	for id, o := range s.holds.orders {
		if o.held.Sign() < 0 {
			return fmt.Errorf("order %d holds less than nothing", id)
		}
		k := holdKey{o.account, o.currency(s.holds.pairs[o.pair])}
		holds[k] = holds[k].Plus(o.held)
	}
	audit := make([]totals, len(s.balances.totals))
	below, first := 0, ""
	for _, u := range s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if r.held != holds[holdKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: held of %s is not the sum of its orders' holds", u.n,
					s.balances.currencies[r.currency])
			}
			if !u.profile.Unlimited && r.free.Sign() < 0 { // held is a sum of holds
				if below++; below == 1 {
					first = fmt.Sprintf("%s of user %s", s.balances.currencies[r.currency], UserID(u.n))
				}
			}
			a := &audit[r.currency]
			a.free, a.held, a.pending = a.free.Add(r.free), a.held.Add(r.held), a.pending.Add(r.pending)
		}
	}
	for i, t := range s.balances.totals {
		a := &audit[i]
		if a.free != t.free || a.held != t.held || a.pending != t.pending {
			return fmt.Errorf("the balances of %s do not add up to their totals", s.balances.currencies[i])
		}
		if t.fees.Sign() < 0 {
			return fmt.Errorf("the fee account of %s is below zero", s.balances.currencies[i])
		}
		if t.free.Add(t.held).Add(t.fees) != t.deposited.Sub(t.withdrawn) {
			return fmt.Errorf("%s: free + held + fees is not deposited - withdrawn", s.balances.currencies[i])
		}
	}
	if below > 0 {
		return fmt.Errorf("%w: %s (%d such balances)", ErrOverdrawn, first, below)
	}
	return nil
}

// AboveBound names the balances above 10^20, "" without any. Only the loss of withdrawals, accepted or after a failed
// sync, leads there: the market has paid into the room that they had made. Nothing else breaks: such an account has no
// room until its balance has fallen.
func (v *View) AboveBound() string {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	above, first := 0, ""
	for _, u := range v.s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if !u.profile.Unlimited && r.free.Add(r.held).CmpTerm(MaxMoney) > 0 {
				if above++; above == 1 {
					first = fmt.Sprintf("%s of user %s", v.s.balances.currencies[r.currency], UserID(u.n))
				}
			}
		}
	}
	if above == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%d such balances)", first, above)
}
