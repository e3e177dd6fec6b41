package accounts

import (
	"fmt"
	"time"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
)

// Kind is the kind of a Command and of its Record.
type Kind uint8

// The commands. The comment names the members of Command that are read.
const (
	CreateUser Kind = iota + 1 // Profile
	PatchUser                  // User, Profile
	CreateKey                  // User, Key, SignedBy
	DeleteKey                  // User, PublicKey, SignedBy
	Deposit                    // User, Currency, Amount
	Withdraw                   // User, Currency, Amount
	AddProfit                  // User, Profit, Currency, Amount
	SetInviter                 // User, Code
	CreateLink                 // User, DiscountPercent
	Configure                  // Config: the referral rates to use from now on
	SetHalt                    // User, Halted
	SetSwitch                  // User, Timeout, FiredNs
)

// kindRow holds what the state does for one kind of command.
type kindRow struct {
	// plan checks a command and fills the members of its record.
	plan func(s *State, cmd *Command, rec *Record) *refuse.Refusal
	// code encodes or decodes those members, in the order of the Record's fields.
	code func(w walker, rec *Record)
	// apply carries the record out.
	apply func(s *State, rec *Record, res *Result)

	noUser bool // the command need not name an existing user
	// locksFold: FoldEvents waits from the plan of such a record to its Apply. The fold reads data that the
	// record changes (inviters, ambassadors, rates), and the record names the engine position after which the
	// change applies.
	locksFold bool
	moves     bool // the record moves money into or out of the exchange
}

// kinds has a row for each kind. A new command is a constant, a row and its members in Command and
// Record; what it changes for good is also in snapshot.go.
var kinds = [...]kindRow{
	CreateUser: {
		plan: (*State).planCreateUser, apply: (*State).applyCreateUser, noUser: true,
		code: func(w walker, rec *Record) { w.profile(&rec.Profile) },
	},
	PatchUser: {
		plan: (*State).planPatchUser, apply: (*State).applyPatchUser, locksFold: true,
		code: func(w walker, rec *Record) { w.profile(&rec.Profile) },
	},
	CreateKey: {
		plan: (*State).planCreateKey, apply: (*State).applyCreateKey,
		code: func(w walker, rec *Record) { w.key(&rec.Key) },
	},
	DeleteKey: {
		plan: (*State).planDeleteKey, apply: (*State).applyDeleteKey,
		code: func(w walker, rec *Record) { w.text(&rec.PublicKey) },
	},
	Deposit: {plan: (*State).planDeposit, apply: (*State).applyDeposit, code: walker.amount, moves: true},
	Withdraw: {
		plan: (*State).planWithdraw, apply: (*State).applyWithdraw, moves: true,
		code: func(w walker, rec *Record) {
			w.amount(rec)
			w.money(&rec.Commission)
		},
	},
	AddProfit: {
		plan: (*State).planProfit, apply: (*State).applyProfit, moves: true,
		code: func(w walker, rec *Record) {
			w.amount(rec)
			w.profit(&rec.Profit)
		},
	},
	SetInviter: {
		plan: (*State).planSetInviter, apply: (*State).applySetInviter, locksFold: true,
		code: func(w walker, rec *Record) {
			w.U32(&rec.Inviter)
			w.Bool(&rec.HasRate)
			w.rate(&rec.Rate)
		},
	},
	CreateLink: {
		plan: (*State).planCreateLink, apply: (*State).applyCreateLink,
		code: func(w walker, rec *Record) {
			w.U64(&rec.LinkNumber)
			w.rate(&rec.Rate)
		},
	},
	Configure: {
		plan: (*State).planConfigure, apply: (*State).applyConfigure, noUser: true, locksFold: true,
		code: func(w walker, rec *Record) { w.config(&rec.Config) },
	},
	SetHalt: {
		plan: (*State).planHalt, apply: (*State).applyHalt,
		code: func(w walker, rec *Record) { w.Bool(&rec.Halted) },
	},
	SetSwitch: {
		plan: (*State).planSwitch, apply: (*State).applySwitch,
		code: func(w walker, rec *Record) { w.I64(&rec.DeadlineNs) },
	},
}

// known reports whether k is a kind of command. A record of another program may have an unknown kind.
func (k Kind) known() bool { return int(k) < len(kinds) && kinds[k].plan != nil }

// row returns the row of a kind.
func (k Kind) row() *kindRow {
	if !k.known() {
		panic(fmt.Sprintf("BUG: accounts: command kind %d", k))
	}
	return &kinds[k]
}

// Command is one decoded request that changes accounts. User is the number of the account that
// it changes.
type Command struct {
	Kind            Kind
	User            uint32
	Profile         ProfilePatch
	Key             auth.KeyRequest
	PublicKey       string
	SignedBy        string // CreateKey, DeleteKey: public key that signed the request; "": an operator
	Currency        string
	Amount          fixed.I128 // 10^-18
	Profit          accrual.Type
	Code            string
	DiscountPercent fixed.I128 // per cent, in 10^-18
	Config          Config
	Halted          bool
	Timeout         time.Duration // SetSwitch: 0 turns the switch off
	FiredNs         int64         // SetSwitch: only if the switch is still set to this time; 0: always
}

// Record is one accepted command with every decision of its plan, so that Apply gives the same result under
// another configuration. It contains secrets (Key.Secret).
type Record struct {
	Kind   Kind
	TimeNs int64 // time of the command, set by the store
	// EnginePos is the engine position that the state had folded when the record was
	// planned. Recovery folds up to it, and no further, before it applies the record,
	// because an accrual depends on the inviters at the time of the fee.
	EnginePos uint64
	User      uint32

	Profile    Profile        // CreateUser, PatchUser: the whole profile after the change
	Key        auth.KeyRecord // CreateKey
	PublicKey  string         // DeleteKey
	Currency   string         // Deposit, Withdraw, AddProfit
	Amount     fixed.I128     // Deposit, Withdraw, AddProfit
	Commission fixed.I128     // Withdraw: charged in addition to Amount
	Profit     accrual.Type   // AddProfit
	Inviter    uint32         // SetInviter
	HasRate    bool           // SetInviter: true for the code of a link, whose Rate becomes both discounts
	Rate       uint32         // CreateLink, SetInviter by a link: the discount that the link gives, 10^-8
	LinkNumber uint64         // CreateLink: number of the link, from 1 without gaps
	Config     Config         // Configure
	Halted     bool           // SetHalt
	DeadlineNs int64          // SetSwitch: when the switch fires; 0: it is off

	// setAside says that the plan has already changed the balance: it subtracted the money of a withdrawal, or
	// reserved room for a deposit or a profit. It is not encoded; a decoded record does not have it.
	setAside bool
}

// RestsOnEngine reports whether the record spends money that fills may have brought. Its
// answer must then wait until the engine's journal is durable up to EnginePos
// (docs/contract/storage.md#recovery).
func (r *Record) RestsOnEngine() bool { return r.Kind == Withdraw }

// Result is the answer to a command. It shares nothing with the state.
type Result struct {
	Kind       Kind
	User       UserView       // CreateUser, PatchUser, SetHalt
	Key        APIKeyView     // CreateKey
	Secret     auth.Secret    // CreateKey: shown once
	Balance    BalanceView    // Deposit, Withdraw
	Commission fixed.I128     // Withdraw
	Accruals   []PaidAccrual  // AddProfit
	Inviter    InviterView    // SetInviter
	Link       AmbassadorLink // CreateLink
	DeadlineNs int64          // SetSwitch
}

// OptionalName is a name in a request that may be missing, a text, or null (nil).
type OptionalName struct {
	Set   bool
	Value *string
}

// ProfilePatch holds the members of POST and PATCH /users that were sent
// (docs/contract/internal.md#users-and-money); nil: not sent.
type ProfilePatch struct {
	Nickname           *string
	Name               OptionalName
	SecondName         OptionalName
	Level              *int64
	StakingLevel       *string
	IsAmbassador       *bool
	SecondLevelPercent *fixed.I128 // per cent, in 10^-18
	Unlimited          *bool       // only in POST
	AvatarID           *string     // only in PATCH, as the next three
	NoTradeCommissions *bool
	DealBidDiscount    *fixed.I128 // fraction
	DealAskDiscount    *fixed.I128 // fraction
}
