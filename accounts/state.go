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
// Plan, Apply, Publish, AppendSnapshot and DecodeSnapshot belong to the store's goroutine, FoldEvents and Sink.Publish
// to the goroutine that hands the engine's events on; any goroutine may call Reserve and Release. One lock guards all
// parts, because one trade moves money of up to twelve accounts. Sharded locks would gain nothing at the rates of a
// fold. Readers take no lock: they read Shown, which follows State's reports:
//
//	FoldEvents ── money ────────────────────────> Shown.Fold ─┬─ Sink.Publish, after a slice of the loop
//	Plan, Apply ─┬─ money ──────────────────────> Shown.Fold ─┤
//	             └─ records ── once durable ────> Shown.Fold ─┴─ Publish, after a sync of the store
//
// Money has one report for both writers, in the order of the changes, because a later value of a balance contains the
// earlier one. What a record alone changes (users, keys, links, rates, transfers) waits for its sync.
//
// Where the half-even rounding of several fees would exceed the money available by some 10^-18, the fee is reduced. For
// the built-in account, which holds nothing, and for what accounts owe, the bound of 10^20 is checked at current prices
// only.
//
// mu guards every member except opts, and planned and foldLocked (owned by the store's goroutine).
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
	keys      *auth.Roster
	deadlines deadlines
	enginePos uint64

	onApply func(rec *Record) // nil: no listener

	shown          *Shown // nil: nobody reads
	money, records Report // not in shown yet; empty while shown is nil
	// publishing is held while a publication runs and its listener is told, so that the next one is told behind it.
	publishing sync.Mutex
	spare      *Report // takes the next reports; guarded by publishing

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
		opts: opts, dir: dir, balances: money, keys: auth.NewRoster(),
		referral: newReferral(dir, money), holds: newHolds(dir, money), deadlines: newDeadlines(), spare: &Report{},
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
		s.foldReport()
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
	b := s.planned
	if s.planned = nil; b != nil {
		s.mu.Lock()
		if b.Kind == Withdraw {
			s.move(b.User, b.Currency, b.Amount.Add(b.Commission))
			t := s.balances.total(s.balances.currency(b.Currency))
			t.withdrawn = t.withdrawn.Minus(b.Amount)
			t.fees = t.fees.Minus(b.Commission)
		} else {
			s.releaseRoom(b)
		}
		s.foldReport()
		s.mu.Unlock()
	}
	s.unlockFold()
	if b != nil {
		s.show(false) // the loop may have shown the plan
	}
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
	t := s.balances.total(s.balances.currency(rec.Currency))
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
	s.foldReport()
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

func (s *State) applyConfigure(rec *Record, _ *Result) {
	s.referral.config = rec.Config
	config := rec.Config
	s.records.config = &config
}

// RatesCommand returns the command that sets the referral rates to want, and whether they differ from the
// current ones. The caller sends the command once, at the start after recovery.
func (s *State) RatesCommand(want Config) (Command, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Command{Kind: Configure, Config: want}, !s.referral.config.Equal(want)
}

// transferred reports money that a record has brought in or out.
func (s *State) transferred(rec *Record, amount fixed.I128) {
	if s.shown != nil {
		s.records.transfers = append(s.records.transfers, transfer{rec.User, rec.Currency, amount})
	}
}

// Shown returns what readers see. The first call builds it from the whole State, as the end of a recovery does: a
// recovery that reported every step would hold all of them. Any goroutine may call it.
func (s *State) Shown() *Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		s.balances.reportSums()
		s.records = Report{}
		s.shown = newShown(s)
		s.balances.report, s.dir.report = &s.money, &s.records
	}
	return s.shown
}

// foldReport hands Shown what has changed. The caller holds mu, and the money adds up.
func (s *State) foldReport() {
	s.balances.reportSums()
	if s.shown != nil {
		s.money.pos = s.enginePos
		s.shown.Fold(&s.money)
		s.money.reset()
	}
}

// show publishes what is folded, and tells the listener. durable: so are the records that were applied, whose effects
// and money count from now on.
func (s *State) show(durable bool) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	if durable {
		s.balances.arrive(s.dir)
	}
	if s.shown == nil {
		s.mu.Unlock()
		return
	}
	if durable {
		s.foldReport()
		s.shown.Fold(&s.records)
		s.records.reset()
	}
	r := s.shown.Publish(s.spare)
	s.mu.Unlock()
	s.shown.tell(r)
	r.reset()
	s.spare = r
}

// NextNs returns 0: nothing in accounts happens by time alone (auth.Verifier checks the expiry of
// a key at each request).
func (s *State) NextNs() int64 { return 0 }

// Due returns nil, because no command becomes due by time.
func (s *State) Due(int64) []Command { return nil }

// Publish makes the records that were applied visible, and their money spendable: they are durable now. Only the
// store's goroutine may call it.
func (s *State) Publish() { s.show(true) }

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

// Counts returns the counters for metrics. Any goroutine may call it.
func (s *State) Counts() Counts {
	c := &s.holds.counts
	return Counts{
		Archived: s.referral.archived.Load(), Shortfalls: c.shortfalls.Load(), Unreserved: c.unreserved.Load(),
		Overdrafts: c.overdrafts.Load(),
	}
}

// ErrOverdrawn reports a balance below zero where everything else adds up. Only the accepted loss of commands leads to
// such a balance: an account has withdrawn or sold what the lost commands had brought it.
var ErrOverdrawn = errors.New("a balance is below zero")

// Check walks the whole state and reports the first broken invariant: balances that do not add up to the totals, a
// funded account below zero, held money that no order holds, a value that is shown and is not the one of the state.
func (s *State) Check() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(); err != nil {
		return err
	}
	if v := s.shown; v != nil && v.next.empty() && s.records.empty() {
		return v.differs(s)
	}
	return nil
}

// check implements Check, except for what is shown. The caller must hold mu.
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
	reserved := map[holdKey]fixed.I192{}
	for k, e := range s.holds.pending {
		for _, amount := range e.amounts {
			at := holdKey{k.account, e.currency}
			reserved[at] = reserved[at].Plus(amount)
		}
	}
	audit := make([]totals, len(s.balances.sums))
	below, first := 0, ""
	for _, u := range s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if r.held != holds[holdKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: held of %s is not the sum of its orders' holds", u.n,
					s.balances.currencies[r.currency])
			}
			if r.pending != reserved[holdKey{u.n, r.currency}] {
				return fmt.Errorf("account %d: what is reserved of %s is not the sum of its reservations", u.n,
					s.balances.currencies[r.currency])
			}
			if !u.profile.Unlimited && r.free.Sign() < 0 { // held is a sum of holds
				if below++; below == 1 {
					first = fmt.Sprintf("%s of user %s", s.balances.currencies[r.currency], UserID(u.n))
				}
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
	if below > 0 {
		return fmt.Errorf("%w: %s (%d such balances)", ErrOverdrawn, first, below)
	}
	return nil
}

// AboveBound names the balances above 10^20, "" without any. Only the loss of withdrawals, accepted or after a failed
// sync, leads there: the market has paid into the room that they had made. Nothing else breaks: such an account has no
// room until its balance has fallen.
func (s *State) AboveBound() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	above, first := 0, ""
	for _, u := range s.dir.users {
		for i := range u.rows {
			r := &u.rows[i]
			if !u.profile.Unlimited && r.free.Add(r.held).CmpTerm(MaxMoney) > 0 {
				if above++; above == 1 {
					first = fmt.Sprintf("%s of user %s", s.balances.currencies[r.currency], UserID(u.n))
				}
			}
		}
	}
	if above == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%d such balances)", first, above)
}
