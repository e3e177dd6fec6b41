package accounts

import (
	"crypto/ed25519"
	"fmt"
	"iter"

	"tickhive/accounts/accrual"
	"tickhive/accounts/auth"
	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

// RecordVersion is the version of the record format.
const RecordVersion = 2

// RulesVersion is the version of the rules by which records are applied. Each record has it: other rules would make
// other balances of the same records, so DecodeRecord refuses a record of any other version.
const RulesVersion = 4

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
