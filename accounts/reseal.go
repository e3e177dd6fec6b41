package accounts

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// SealedField names a field that may be sealed.
type SealedField uint8

// The fields. Those of a key come behind those of a user.
const (
	FieldName SealedField = iota + 1
	FieldSecondName
	FieldKeySecret
	FieldKeyName
	FieldKeyWhitelist
)

// purposes holds the purpose for which each field is sealed.
var purposes = [...]string{
	FieldName: seal.UserName, FieldSecondName: seal.UserSecond,
	FieldKeySecret: seal.KeySecret, FieldKeyName: seal.KeyName, FieldKeyWhitelist: seal.KeyNetwork,
}

func (f SealedField) ofKey() bool { return f >= FieldKeySecret }

// MaxReseal bounds the fields of a Reseal command: a record of at most 300 kB, usually of 9 kB.
const MaxReseal = 64

// TextSum identifies a sealed text: the first 16 bytes of its SHA-256. A record with the text itself would keep in the
// log what it replaces.
type TextSum [2]uint64

func sumOfText(text string) TextSum {
	h := sha256.Sum256([]byte(text))
	return TextSum{binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])}
}

// Resealed replaces a sealed field of a user or of one of its keys by the same plain text, sealed again.
type Resealed struct {
	User      uint32
	Field     SealedField
	PublicKey string  // of a key's field
	Was       TextSum // of the text that it replaces: a field that has changed meanwhile stays
	Text      string
}

func (w walker) resealed(cmd *Command) {
	for i := range w.each(len(cmd.Reseal)) {
		r := at(w, cmd.Reseal, i)
		w.U32(&r.User)
		if w.U8((*uint8)(&r.Field), uint8(len(purposes)-1)); r.Field.ofKey() {
			w.text(&r.PublicKey)
		}
		w.Fixed64(&r.Was[0])
		w.Fixed64(&r.Was[1])
		w.text(&r.Text)
		put(w, &cmd.Reseal, r)
	}
}

func (cmd *Command) checkReseal() *refuse.Refusal {
	if n := len(cmd.Reseal); n < 1 || n > MaxReseal {
		return invalid("", "A command seals 1 to %d fields again.", MaxReseal)
	}
	for i := range cmd.Reseal {
		r := &cmd.Reseal[i]
		switch {
		case r.Field == 0 || int(r.Field) >= len(purposes):
			return invalid("", "There is no sealed field %d.", r.Field)
		case r.Field.ofKey() && !auth.WellFormed(r.PublicKey):
			return noKey()
		case !seal.Sealed(r.Text) || len(r.Text) > maxText:
			return invalid("", "The text of a field that is sealed again must be sealed, at most %d bytes.", maxText)
		}
	}
	return nil
}

// reseal replaces the fields that are still the ones that were sealed again. It opens none of them.
func (s *State) reseal(_ int64, cmd *Command, res *Result) *refuse.Refusal {
	for i := range cmd.Reseal {
		if r := &cmd.Reseal[i]; r.Field.ofKey() && s.resealKey(r) || !r.Field.ofKey() && s.resealUser(r) {
			res.Resealed++
		}
	}
	return nil
}

func (s *State) resealUser(r *Resealed) bool {
	u := s.dir.user(r.User)
	if u == nil || !r.replaces(u.profile.sealedField(r.Field)) {
		return false
	}
	p, text := s.dir.edit(u), r.Text
	if r.Field == FieldName {
		p.profile.Name = &text
	} else {
		p.profile.SecondName = &text
	}
	return true
}

func (s *State) resealKey(r *Resealed) bool {
	k := s.keys.Find(r.PublicKey)
	if k == nil || k.User() != r.User {
		return false
	}
	rec := k.Record()
	if !r.replaces(sealedField(&rec, r.Field)) {
		return false
	}
	switch r.Field {
	case FieldKeySecret:
		rec.Secret = auth.NewSecret(r.Text)
	case FieldKeyName:
		rec.Name = r.Text
	default:
		rec.IPWhitelist = []string{r.Text}
	}
	p := s.dir.edit(s.dir.mustFind(r.User))
	next := s.keys.Reseal(k, rec)
	p.keys = slices.Clone(p.keys)
	p.keys[slices.Index(p.keys, k)] = next
	s.keyChanged(next, false)
	return true
}

// replaces reports whether a text is the one that was sealed again.
func (r *Resealed) replaces(text string) bool { return seal.Sealed(text) && sumOfText(text) == r.Was }

// sealedField returns a field of a user, empty if it has none.
func (p *Profile) sealedField(f SealedField) string {
	name := p.Name
	if f == FieldSecondName {
		name = p.SecondName
	}
	if name == nil {
		return ""
	}
	return *name
}

// sealedField returns a field of a key, empty if it has none or if it is plain.
func sealedField(rec *auth.KeyRecord, f SealedField) string {
	switch {
	case f == FieldKeySecret:
		return rec.Secret.Reveal()
	case f == FieldKeyName:
		return rec.Name
	case len(rec.IPWhitelist) == 1:
		return rec.IPWhitelist[0]
	}
	return ""
}

// Former is a walk over the users, for the fields that a former key of a ring has sealed.
//
// Owner: one goroutine.
type Former struct {
	v     *Shown
	ring  *seal.Key
	next  uint32 // user that is looked at next
	found []Resealed
	wrong error
}

// Former returns a walk that begins with the first user.
func (v *Shown) Former(ring *seal.Key) *Former { return &Former{v: v, ring: ring} }

// Next looks at the next users, at most so many, and returns the fields to seal again, at most MaxReseal. A user with
// more is looked at again by the next call, which must see those changed. done is true when every user was looked at.
// The error names a field that the ring does not open.
func (w *Former) Next(users int) (found []Resealed, done bool, err error) {
	w.found, w.wrong = nil, nil
	for ; users > 0 && w.wrong == nil; users-- {
		a := w.v.account(w.next)
		if a == nil {
			return w.found, true, nil
		}
		w.person(a.person)
		if len(w.found) >= MaxReseal {
			return w.found[:MaxReseal], false, w.wrong
		}
		w.next++
	}
	return w.found, false, w.wrong
}

// person adds the fields of a user and of its keys.
func (w *Former) person(p *person) {
	for f := FieldName; f <= FieldSecondName; f++ {
		w.field(Resealed{User: p.n, Field: f}, p.profile.sealedField(f))
	}
	for _, k := range p.keys {
		rec := k.Record()
		for f := FieldKeySecret; f <= FieldKeyWhitelist; f++ {
			w.field(Resealed{User: p.n, Field: f, PublicKey: rec.PublicKey}, sealedField(&rec, f))
		}
	}
}

func (w *Former) field(r Resealed, text string) {
	if !w.ring.Outdated(text) {
		return
	}
	plain, err := w.ring.OpenText(text, purposes[r.Field])
	if err != nil {
		w.wrong = errors.Join(w.wrong, fmt.Errorf("accounts: a field of user %s: %w", UserID(r.User), err))
		return
	}
	r.Was, r.Text = sumOfText(text), w.ring.SealText(plain, purposes[r.Field])
	w.found = append(w.found, r)
}
