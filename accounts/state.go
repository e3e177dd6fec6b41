package accounts

import (
	"fmt"
	"slices"
	"sync"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// State is all accounts. See the package comment for who may call what; mu guards every
// member but opts, keys (a lock-free index), stage and gated (the store's goroutine).
type State struct {
	opts Options
	// gate is held between the plan and the Apply of a record that changes what the fold
	// looks at; a fold passes it before it takes mu.
	gate  sync.Mutex
	gated bool
	mu    sync.RWMutex

	config    Config
	users     []*user // by number; 0 is the built-in unlimited account
	byID      map[[16]byte]uint32
	byName    map[string]uint32
	byAddress map[[20]byte]uint32
	linkOwner []linkRef // by link number - 1
	keys      *KeyIndex

	currencies []string
	currencyNo map[string]uint32
	totals     []totals // by currency number

	pairs   map[uint32]*pairTerms
	orders  map[uint64]*orderHold
	pending map[reservationKey]*pendingEntry
	waiting int // reservations in pending
	// coming is what open orders and reservations may yet bring, by account and currency.
	coming    map[balanceKey]coming
	enginePos uint64

	dealQueue       []uint32 // receivers of the deal accruals kept, oldest first
	maxDealAccruals int
	commandAccruals int

	onBalance    func(account uint32, currencyCode string) // nil: nobody listens
	onKeyDeleted func(key uint64)                          // nil: nobody listens

	lastNs      int64   // time of the last record
	snapshotPos uint64  // enginePos in the last snapshot taken or read
	beyond      int     // see Beyond; the recovery's alone
	stage       *Record // a withdrawal that was planned and not yet applied
	counts      Counts
}

// Counts are figures for metrics, since the start of the process.
type Counts struct {
	Archived   uint64 // accruals added to the archive of their day
	Shortfalls uint64 // fees that gave way so that no balance went below zero
	Unreserved uint64 // orders accepted without a reservation of this process
	Overdrafts uint64 // settlements that a funded account could not cover: a defect
}

type linkRef struct {
	owner uint32
	index int // in the owner's links
}

// totals is the sum over all accounts of one currency. Fees and withdrawals have no bound:
// accounts that may go below zero pay and withdraw for as long as somebody trades with
// them. Each event and record adds a few terms of at most 10^20 (2^127 in 10^-18) to each
// sum, and fixed.I192 takes 2^64 terms.
type totals struct{ free, held, pending, fees, deposited, withdrawn fixed.I192 }

// New is a state without users but the built-in account, with the default referral rates.
func New(opts Options) *State {
	if err := opts.Validate(); err != nil {
		panic("BUG: " + err.Error())
	}
	if opts.Avatars == nil {
		opts.Avatars = BuiltinAvatars()
	}
	s := &State{
		opts: opts, config: DefaultConfig(),
		byID: map[[16]byte]uint32{}, byName: map[string]uint32{}, byAddress: map[[20]byte]uint32{},
		keys: newKeyIndex(), currencyNo: map[string]uint32{},
		pairs: map[uint32]*pairTerms{}, orders: map[uint64]*orderHold{},
		pending: map[reservationKey]*pendingEntry{}, coming: map[balanceKey]coming{}, maxDealAccruals: MaxDealAccruals,
	}
	s.users = append(s.users, &user{profile: Profile{Nickname: "exchange", Unlimited: true, AvatarID: DefaultAvatar}})
	return s
}

// user returns the account of a number, nil for an unknown one.
func (s *State) user(n uint32) *user {
	if int(n) >= len(s.users) {
		return nil
	}
	return s.users[n]
}

// must is user for numbers that were checked before.
func (s *State) must(n uint32) *user {
	u := s.user(n)
	if u == nil {
		panic(fmt.Sprintf("BUG: accounts: no account %d of %d", n, len(s.users)))
	}
	return u
}

// currency is the number of a code, made at its first use.
func (s *State) currency(code string) uint32 {
	if n, ok := s.currencyNo[code]; ok {
		return n
	}
	n := uint32(len(s.currencies))
	s.currencies = append(s.currencies, code)
	s.currencyNo[code] = n
	s.totals = append(s.totals, totals{})
	return n
}

// Plan validates a command and makes its record; a refusal is a *refuse.Refusal. Store's
// goroutine. Apply or Abandon follows: until then no engine event is folded where the
// record changes what the fold looks at, and money that is withdrawn is out already. A
// record that was neither applied nor abandoned is abandoned by the next Plan.
func (s *State) Plan(nowNs int64, cmd Command) (Record, error) {
	s.Abandon()
	if cmd.Kind.gates() {
		s.gate.Lock()
		s.gated = true
	}
	rec, reject := s.planLocked(nowNs, &cmd)
	if reject != nil {
		s.openGate()
	}
	return rec, refuse.AsError(reject)
}

func (s *State) planLocked(nowNs int64, cmd *Command) (Record, *refuse.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := Record{Kind: cmd.Kind, TimeNs: nowNs, EnginePos: s.enginePos, User: cmd.User}
	if reject := s.plan(nowNs, cmd, &rec); reject != nil {
		return Record{}, reject
	}
	rec.Rules = RulesVersion
	switch rec.Kind {
	case Withdraw, Deposit, AddProfit:
		s.takeStage(&rec)
	}
	return rec, nil
}

func (s *State) plan(nowNs int64, cmd *Command, rec *Record) *refuse.Refusal {
	if cmd.Kind != CreateUser && cmd.Kind != Configure {
		if cmd.User == 0 || s.user(cmd.User) == nil {
			return notFound("id", "There is no such user.")
		}
	}
	switch cmd.Kind {
	case CreateUser:
		return s.planCreateUser(cmd, rec)
	case PatchUser:
		return s.planPatchUser(cmd, rec)
	case CreateKey:
		return s.planCreateKey(nowNs, cmd, rec)
	case DeleteKey:
		return s.planDeleteKey(cmd, rec)
	case Deposit:
		return s.planDeposit(cmd, rec)
	case Withdraw:
		return s.planWithdraw(cmd, rec)
	case AddProfit:
		return s.planProfit(cmd, rec)
	case SetInviter:
		return s.planSetInviter(cmd, rec)
	case CreateLink:
		return s.planCreateLink(cmd, rec)
	case Configure:
		if err := cmd.Config.Validate(); err != nil {
			return invalid("referral", "%s", err.Error())
		}
		rec.Config = cmd.Config
		rec.Config.Levels = slices.Clone(cmd.Config.Levels)
		return nil
	}
	panic(fmt.Sprintf("BUG: accounts: command kind %d", cmd.Kind))
}

// Reconfigure is the command that brings the rates in force to want, if they differ.
// The caller sends it once at the start, after recovery.
func (s *State) Reconfigure(want Config) (Command, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Command{Kind: Configure, Config: want}, !s.config.Equal(want)
}

// OnBalance has f told of every balance that changes, holds and reservations included.
// f runs under the state's lock, in whichever goroutine changed it: it notes the names
// and returns, and asks View later. Call it once, before anything else runs.
func (s *State) OnBalance(f func(account uint32, currencyCode string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onBalance = f
}

// OnKeyDeleted has f called with the number (Caller.Key) of every key that is deleted, when
// it verifies nothing any more. f runs under the state's lock, in the store's goroutine: it
// notes the number and returns. Call it once, before anything else runs.
func (s *State) OnKeyDeleted(f func(key uint64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onKeyDeleted = f
}

func (s *State) changed(u *user, currency uint32) {
	if s.onBalance != nil {
		s.onBalance(u.n, s.currencies[currency])
	}
}

// NextNs is 0: nothing in accounts happens by time alone (keys expire when looked at).
func (s *State) NextNs() int64 { return 0 }

// Due is nil.
func (s *State) Due(int64) []Command { return nil }

// LastNs is the time of the last record applied.
func (s *State) LastNs() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lastNs
}

// ReflectsSeq is the engine position in the last snapshot taken or read, not the one
// folded by now: the engine's log may drop only what a snapshot holds.
func (s *State) ReflectsSeq() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.snapshotPos
}

// EnginePos is the engine position folded so far.
func (s *State) EnginePos() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.enginePos
}

// Counts are the figures for metrics.
func (s *State) Counts() Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts
}
