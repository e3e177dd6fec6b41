package accounts

import (
	"crypto/ed25519"
	"fmt"
	"iter"
	"time"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/internal/fifo"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/internal/wire"
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

// RecordVersion is the version of the record format.
const RecordVersion = 2

// RulesVersion is the version of the rules by which records are applied. Each record has it: other rules would make
// other balances of the same records, so DecodeRecord refuses a record of any other version.
const RulesVersion = 5

// The schemes of keys.
const (
	schemeHMAC uint8 = iota
	schemeEd25519
)

// rulesShift is the position of the rules version in the first byte of a record, above the kind.
const rulesShift = 4

// maxText bounds a decoded text; the longest real one is a name of 64 code points.
const maxText = 4096

// Format of a record (varints as in encoding/binary; texts and lists preceded by their length;
// money as 16 bytes, little endian):
//
//	kind and rules u8 | timeNs varint | enginePos uvarint | user uvarint | the members of the kind
//
// The members follow in the order of the Record's fields.

// AppendRecord appends the encoding of a record. It holds secrets: the log's files are 0600.
func AppendRecord(dst []byte, rec *Record) []byte {
	w, copied := walker{wire.Writer(dst)}, *rec
	w.record(&copied)
	return w.Bytes()
}

// DecodeRecord decodes the bytes of AppendRecord. The record shares nothing with b.
func DecodeRecord(b []byte) (Record, error) {
	w, rec := walker{wire.Reader(b)}, Record{}
	if w.record(&rec); w.End() != nil {
		return Record{}, fmt.Errorf("accounts: record of kind %d: %w", rec.Kind, w.Err())
	}
	return rec, nil
}

// walker encodes or decodes records and the state; each method names the members once for both directions.
// Encoding also stores to each member (its own value), so members that other goroutines read must be copied
// first.
type walker struct{ *wire.Coder }

func (w walker) record(rec *Record) {
	first := uint8(rec.Kind) | RulesVersion<<rulesShift
	w.U8(&first, 1<<8-1)
	rec.Kind = Kind(first & (1<<rulesShift - 1))
	if rules := first >> rulesShift; rules != RulesVersion && w.Err() == nil {
		w.Fail("it has rules version %d, and this program reads %d alone", rules, RulesVersion)
	}
	w.I64(&rec.TimeNs)
	w.U64(&rec.EnginePos)
	w.U32(&rec.User)
	if !rec.Kind.known() {
		w.Fail("there is no kind %d", rec.Kind)
		return
	}
	rec.Kind.row().code(w, rec)
}

func (w walker) amount(rec *Record) {
	w.text(&rec.Currency)
	w.money(&rec.Amount)
}

func (w walker) profile(p *Profile) {
	w.text(&p.Nickname)
	w.optional(&p.Name)
	w.optional(&p.SecondName)
	w.U8(&p.Level, MaxLevel)
	w.staking(&p.Staking)
	w.Bool(&p.IsAmbassador)
	w.rate(&p.SecondLevel)
	w.Bool(&p.Unlimited)
	w.text(&p.AvatarID)
	w.Bool(&p.NoFees)
	w.rate(&p.BidDiscount)
	w.rate(&p.AskDiscount)
}

func (w walker) key(k *auth.KeyRecord) {
	w.text(&k.PublicKey)
	w.scheme(k)
	w.text(&k.Name)
	w.Bool(&k.CanTrade)
	w.Bool(&k.CanWithdraw)
	for i := range w.each(len(k.IPWhitelist)) {
		text := at(w, k.IPWhitelist, i)
		w.text(&text)
		if w.Reading() {
			if _, ok := auth.ParseNetwork(text); !ok {
				w.Fail("%q is no address or network", text)
			}
		}
		put(w, &k.IPWhitelist, text)
	}
	w.I64(&k.CreatedNs)
	w.I64(&k.ExpiresNs)
	w.Bool(&k.CanManageKeys)
	w.text(&k.CreatedBy)
}

// scheme encodes or decodes what verifies the signatures of a key.
func (w walker) scheme(k *auth.KeyRecord) {
	scheme, text := schemeHMAC, k.Secret.Reveal()
	if k.Ed25519 != nil {
		scheme, text = schemeEd25519, string(k.Ed25519)
	}
	w.U8(&scheme, schemeEd25519)
	w.text(&text)
	switch {
	case !w.Reading():
	case scheme == schemeHMAC:
		k.Secret = auth.NewSecret(text)
	case len(text) != ed25519.PublicKeySize:
		w.Fail("an Ed25519 public key of %d bytes", len(text))
	default:
		k.Ed25519 = []byte(text)
	}
}

func (w walker) config(c *Config) {
	for i := range w.each(len(c.Levels)) {
		rate := at(w, c.Levels, i)
		w.rate(&rate)
		put(w, &c.Levels, rate)
	}
	for i := range c.Staking {
		w.rate(&c.Staking[i])
	}
	w.rate(&c.BonusShare)
	if err := c.Validate(); w.Reading() && err != nil {
		w.Fail("%w", err)
	}
}

func (w walker) text(v *string) { w.Text(v, maxText) }

func (w walker) staking(v *uint8) { w.U8(v, StakingLevels-1) }

func (w walker) profit(v *accrual.Type) { w.U8((*uint8)(v), 1<<8-1) }

// rate encodes or decodes a rate in 10^-8, at most RateOne.
func (w walker) rate(v *uint32) {
	if w.U32(v); *v > RateOne {
		w.Fail("a rate of %d", *v)
		*v = 0
	}
}

func (w walker) optional(v **string) {
	has := *v != nil
	if w.Bool(&has); !has {
		return
	}
	if !w.Reading() {
		text := **v
		w.text(&text)
		return
	}
	text := ""
	w.text(&text)
	*v = &text
}

func (w walker) money(v *fixed.I128) {
	hi := uint64(v.Hi)
	w.Fixed64(&hi)
	w.Fixed64(&v.Lo)
	v.Hi = int64(hi)
}

// each encodes the length of a list and yields the index of each item until an error.
func (w walker) each(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range w.Len(n) {
			if w.Err() != nil || !yield(i) {
				return
			}
		}
	}
}

// at returns a copy of the item to encode, or a zero value to decode into.
func at[T any](w walker, list []T, i int) (item T) {
	if !w.Reading() {
		item = list[i]
	}
	return item
}

// put appends a decoded item.
func put[T any](w walker, list *[]T, item T) {
	if w.Reading() && w.Err() == nil {
		*list = append(*list, item)
	}
}

// oldest and push are at and put for a queue.
func oldest[T any](w walker, q *fifo.Queue[T], i int) (item T) {
	if !w.Reading() {
		item = *q.At(i)
	}
	return item
}

func push[T any](w walker, q *fifo.Queue[T], item T) {
	if w.Reading() && w.Err() == nil {
		q.Push(item)
	}
}

func invalid(field, format string, args ...any) *refuse.Refusal {
	return refuse.Param(field, format, args...)
}

func forbidden(field, format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Forbidden, field, format, args...)
}

func notFound(field, format string, args ...any) *refuse.Refusal {
	return refuse.Missing(field, format, args...)
}

func conflict(field, format string, args ...any) *refuse.Refusal {
	return refuse.New(refuse.Conflict, field, format, args...)
}

func insufficient(currency string) *refuse.Refusal {
	return refuse.New(refuse.InsufficientFunds, "", "The free balance of %s does not cover it.", currency)
}
