package accounts

import (
	"crypto/ed25519"
	"fmt"
	"iter"
	"time"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/wire"
)

// Kind is the kind of a Command.
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
	SetHalt                    // User, Halted
	SetSwitch                  // User, Timeout, FiredNs
	Reseal                     // Reseal
)

// kindRow holds what the state does for one kind of command.
type kindRow struct {
	// check refuses what needs no state; nil: nothing.
	check func(cmd *Command) *refuse.Refusal
	// code encodes or decodes the members of the command but User.
	code func(w walker, cmd *Command)
	// do carries out a command that check has passed and whose user exists, and fills its answer. It refuses before it
	// changes anything.
	do func(s *State, nowNs int64, cmd *Command, res *Result) *refuse.Refusal

	noUser bool // the command names no user
}

// kinds has a row for each kind. A new command is a constant, a row and its members in Command; what it changes for
// good is also in snapshot.go.
var kinds = [...]kindRow{
	CreateUser: {
		check: (*Command).checkCreateUser, do: (*State).createUser, noUser: true,
		code: func(w walker, cmd *Command) {
			w.patch(&cmd.Profile)
			maybe(w, &cmd.Profile.Unlimited, w.Bool)
		},
	},
	PatchUser: {
		check: (*Command).checkPatchUser, do: (*State).patchUser,
		code: func(w walker, cmd *Command) {
			w.patch(&cmd.Profile)
			maybe(w, &cmd.Profile.AvatarID, w.text)
			maybe(w, &cmd.Profile.NoTradeCommissions, w.Bool)
			maybe(w, &cmd.Profile.DealBidDiscount, w.money)
			maybe(w, &cmd.Profile.DealAskDiscount, w.money)
		},
	},
	CreateKey: {
		check: (*Command).checkCreateKey, do: (*State).createKey,
		code: func(w walker, cmd *Command) {
			w.newKey(&cmd.Key)
			w.text(&cmd.SignedBy)
		},
	},
	DeleteKey: {
		check: (*Command).checkDeleteKey, do: (*State).deleteKey,
		code: func(w walker, cmd *Command) {
			w.text(&cmd.PublicKey)
			w.text(&cmd.SignedBy)
		},
	},
	Deposit:  {check: (*Command).checkAmount, do: (*State).deposit, code: walker.amount},
	Withdraw: {check: (*Command).checkAmount, do: (*State).withdraw, code: walker.amount},
	AddProfit: {
		check: (*Command).checkProfit, do: (*State).addProfit,
		code: func(w walker, cmd *Command) {
			w.amount(cmd)
			w.profit(&cmd.Profit)
		},
	},
	SetInviter: {
		check: (*Command).checkCode, do: (*State).setInviter,
		code: func(w walker, cmd *Command) { w.text(&cmd.Code) },
	},
	CreateLink: {
		check: (*Command).checkDiscount, do: (*State).createLink,
		code: func(w walker, cmd *Command) { w.money(&cmd.DiscountPercent) },
	},
	SetHalt: {do: (*State).setHalt, code: func(w walker, cmd *Command) { w.Bool(&cmd.Halted) }},
	SetSwitch: {
		check: (*Command).checkSwitch, do: (*State).setSwitch,
		code: func(w walker, cmd *Command) {
			w.I64((*int64)(&cmd.Timeout))
			w.I64(&cmd.FiredNs)
		},
	},
	Reseal: {check: (*Command).checkReseal, do: (*State).reseal, noUser: true, code: walker.resealed},
}

// known reports whether k is a kind of command. A record of another program may have an unknown kind.
func (k Kind) known() bool { return int(k) < len(kinds) && kinds[k].do != nil }

// row returns the row of a kind.
func (k Kind) row() *kindRow {
	if !k.known() {
		panic(fmt.Sprintf("BUG: accounts: command kind %d", k))
	}
	return &kinds[k]
}

// Command is one decoded request that changes accounts. User is the number of the account that it changes. It contains
// a secret (Key.Secret). What is random in it was drawn by the caller, so that its record decides alone.
type Command struct {
	Kind            Kind
	User            uint32
	Profile         ProfilePatch
	Key             auth.NewKey
	PublicKey       string
	SignedBy        string // CreateKey, DeleteKey: public key that signed the request; "": an operator
	Currency        string
	Amount          fixed.I128 // 10^-18
	Profit          accrual.Type
	Code            string
	DiscountPercent fixed.I128 // per cent, in 10^-18
	Halted          bool
	Timeout         time.Duration // SetSwitch: 0 turns the switch off
	FiredNs         int64         // SetSwitch: only if the switch is still set to this time; 0: always
	Reseal          []Resealed
}

// Check refuses what needs neither state nor time: texts, digits, ranges. The caller of AppendCommand has called it.
// That an avatar is in the catalogue is another check (Catalogue.Check), because a record outlives the catalogue.
func (cmd *Command) Check() *refuse.Refusal {
	if reject := cmd.checkPlain(); reject != nil {
		return reject
	}
	return cmd.check()
}

// check is Check of a command whose fields may be sealed: it was checked before.
func (cmd *Command) check() *refuse.Refusal {
	if check := cmd.Kind.row().check; check != nil {
		return check(cmd)
	}
	return nil
}

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
	Resealed   int            // Reseal: number of fields that were replaced
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

// The schemes of keys.
const (
	schemeHMAC uint8 = iota
	schemeEd25519
	schemeRSA
)

// maxText bounds a decoded text; the longest real one is a name of 64 code points.
const maxText = 4096

// Format of a command (varints as in encoding/binary; texts and lists preceded by their length; money as 16 bytes,
// little endian; what may be missing preceded by a byte, 0 or 1):
//
//	kind u8, not 0 | user uvarint, unless the kind names none | the members of the kind
//
// The members follow in the order of the rows of kinds. Equal commands have equal bytes.

// AppendCommand appends the encoding of a command that Check has passed, and that may be sealed then.
func AppendCommand(dst []byte, cmd *Command) []byte {
	if reject := cmd.check(); reject != nil {
		panic("BUG: accounts: a command for the log that Check refuses: " + reject.Error())
	}
	w, copied := walker{wire.Writer(dst)}, *cmd
	w.command(&copied)
	return w.Bytes()
}

// DecodeCommand decodes the bytes of AppendCommand. The command shares nothing with b.
func DecodeCommand(b []byte) (Command, error) {
	w, cmd := walker{wire.Reader(b)}, Command{}
	if w.command(&cmd); w.End() == nil {
		if reject := cmd.check(); reject != nil {
			w.Fail("%w", reject)
		}
	}
	if w.Err() != nil {
		return Command{}, fmt.Errorf("accounts: command of kind %d: %w", cmd.Kind, w.Err())
	}
	return cmd, nil
}

// walker encodes or decodes commands and the state; each method names the members once for both directions.
// Encoding also stores to each member (its own value), so members that other goroutines read must be copied
// first.
type walker struct{ *wire.Coder }

func (w walker) command(cmd *Command) {
	if w.U8((*uint8)(&cmd.Kind), 1<<8-1); !cmd.Kind.known() {
		w.Fail("there is no kind %d", cmd.Kind)
		return
	}
	if !cmd.Kind.row().noUser {
		w.U32(&cmd.User)
	}
	cmd.Kind.row().code(w, cmd)
}

func (w walker) amount(cmd *Command) {
	w.text(&cmd.Currency)
	w.money(&cmd.Amount)
}

// patch encodes or decodes the members that POST and PATCH have in common.
func (w walker) patch(p *ProfilePatch) {
	maybe(w, &p.Nickname, w.text)
	for _, name := range []*OptionalName{&p.Name, &p.SecondName} {
		if w.Bool(&name.Set); name.Set {
			maybe(w, &name.Value, w.text)
		}
	}
	maybe(w, &p.Level, w.I64)
	maybe(w, &p.StakingLevel, w.text)
	maybe(w, &p.IsAmbassador, w.Bool)
	maybe(w, &p.SecondLevelPercent, w.money)
}

func (w walker) profile(p *Profile) {
	w.text(&p.Nickname)
	maybe(w, &p.Name, w.text)
	maybe(w, &p.SecondName, w.text)
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

func (w walker) newKey(k *auth.NewKey) {
	w.text(&k.PublicKey)
	w.scheme(k)
	w.text(&k.Name)
	w.Bool(&k.CanTrade)
	w.Bool(&k.CanWithdraw)
	for i := range w.each(len(k.IPWhitelist)) {
		text := at(w, k.IPWhitelist, i)
		w.text(&text)
		if w.Reading() {
			if _, ok := auth.ParseNetwork(text); !ok && !seal.Sealed(text) {
				w.Fail("%q is no address or network", text)
			}
		}
		put(w, &k.IPWhitelist, text)
	}
	w.I64(&k.ExpiresNs)
	w.Bool(&k.CanManageKeys)
}

// scheme encodes or decodes what verifies the signatures of a key.
func (w walker) scheme(k *auth.NewKey) {
	scheme, text := schemeHMAC, k.Secret.Reveal()
	if k.Ed25519 != nil {
		scheme, text = schemeEd25519, string(k.Ed25519)
	} else if k.RSA != nil {
		scheme, text = schemeRSA, string(k.RSA)
	}
	w.U8(&scheme, schemeRSA)
	w.text(&text)
	switch {
	case !w.Reading():
	case scheme == schemeHMAC:
		k.Secret = auth.NewSecret(text)
	case scheme == schemeRSA:
		k.RSA = []byte(text) // which Check parses
	case len(text) != ed25519.PublicKeySize:
		w.Fail("an Ed25519 public key of %d bytes", len(text))
	default:
		k.Ed25519 = []byte(text)
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

// maybe encodes or decodes a value that may be missing.
func maybe[T any](w walker, v **T, code func(*T)) {
	has := *v != nil
	if w.Bool(&has); !has {
		return
	}
	var value T
	if !w.Reading() {
		value = **v
	}
	if code(&value); w.Reading() {
		*v = &value
	}
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
