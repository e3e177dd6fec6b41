package json

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tickhive/tickhive/internal/refuse"
)

// Text reads a string member of at most most code points. It returns nil for null and the
// empty string, which count as missing.
func (r *Reader) Text(most int) []byte {
	if r.Peek() != '"' {
		if !r.Null() {
			r.mistyped("must be a string.")
		}
		return nil
	}
	s, ok := r.quoted()
	if !ok || len(s) == 0 {
		return nil
	}
	if len(s) > most && utf8.RuneCount(s) > most {
		r.Bad(fmt.Sprintf("must have at most %d characters.", most))
		return nil
	}
	return s
}

// Boolean reads a member that is true or false. null counts as missing: given is false.
func (r *Reader) Boolean() (value, given bool) {
	switch r.Peek() {
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	}
	if !r.Null() {
		r.mistyped("must be true or false.")
	}
	return false, false
}

// Integer reads a member that is a JSON integer from low to high.
func (r *Reader) Integer(low, high int64) (value int64, given bool) {
	c := r.Peek()
	if c != '-' && c-'0' > 9 {
		if !r.Null() {
			r.mistyped("must be an integer.")
		}
		return 0, false
	}
	text, ok := r.number()
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || v < low || v > high {
		r.Bad(fmt.Sprintf("must be an integer from %d to %d.", low, high))
		return 0, false
	}
	return v, true
}

// Decimal reads a decimal member, a number or a string, and returns its text, which has the
// form of docs/contract/market-data.md#decimals. It returns nil for null and "", which count as
// missing.
func (r *Reader) Decimal() []byte {
	text, ok := []byte(nil), false
	switch c := r.Peek(); {
	case c == '"':
		text, ok = r.quoted()
		if ok && len(text) == 0 {
			return nil
		}
	case c == '-' || c-'0' <= 9:
		text, ok = r.number()
	default:
		if !r.Null() {
			r.mistyped("must be a decimal.")
		}
		return nil
	}
	if !ok {
		return nil
	}
	if !isDecimal(text) {
		r.Bad("must be a decimal of at most 20 digits before and 18 after the point, without an exponent.")
		return nil
	}
	return text
}

// isDecimal reports whether s has the form -?[0-9]{1,20}(\.[0-9]{1,18})?.
func isDecimal(s []byte) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	i := 0
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	if i == 0 || i > 20 {
		return false
	}
	if i == len(s) {
		return true
	}
	frac := s[i+1:]
	if s[i] != '.' || len(frac) == 0 || len(frac) > 18 {
		return false
	}
	for _, c := range frac {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// DecimalSign returns the sign of a valid decimal: -1, 0 or 1.
func DecimalSign(text []byte) int {
	if !bytes.ContainsAny(text, "123456789") {
		return 0
	}
	if text[0] == '-' {
		return -1
	}
	return 1
}

// Require records an error for a required member of the object just closed, unless the member was given.
func (r *Reader) Require(member string, given bool) {
	if !given {
		r.Rule(member, "is required.")
	}
}

// Rule records that a member of the object just closed breaks a rule, unless the member already has an error.
func (r *Reader) Rule(member, rule string) {
	if r.Err != nil || len(r.Wrong) >= maxWrong {
		return
	}
	field := member
	if p := r.path(); p != "" {
		field = p + "." + member
	}
	if !r.isWrong(field) {
		r.Wrong = append(r.Wrong, Error{Field: field, Message: "The member " + field + " " + rule})
	}
}

// isWrong reports whether the member already has an error.
func (r *Reader) isWrong(field string) bool {
	for i := range r.Wrong {
		if r.Wrong[i].Field == field {
			return true
		}
	}
	return false
}

// InOrder returns the first error in the order of a table of members, instead of the order in which the client
// sent them.
func (r *Reader) InOrder(members []Field) *Error {
	first := r.Finish()
	if first == nil || r.Err != nil {
		return first
	}
	for m := range members {
		for i := range r.Wrong {
			name, _, _ := strings.Cut(r.Wrong[i].Field, "[")
			if name == members[m].Name {
				return &r.Wrong[i]
			}
		}
	}
	return first
}

// Anything reads a value of any type and returns its bytes.
func (r *Reader) Anything() RawMessage {
	r.Peek()
	start := r.pos
	r.skip()
	if r.Err != nil {
		return nil
	}
	return RawMessage(r.data[start:r.pos:r.pos])
}

// Word pairs one value of an enumeration with its text on the wire.
type Word[T any] struct {
	Text  string
	Value T
}

// WordsOf returns the words of values whose String is their text on the wire.
func WordsOf[T interface{ String() string }](values ...T) []Word[T] {
	out := make([]Word[T], len(values))
	for i, v := range values {
		out[i] = Word[T]{v.String(), v}
	}
	return out
}

// readWord reads a member that is one of words; null and "" count as missing.
func readWord[T any](r *Reader, words []Word[T]) (value T, given bool) {
	if r.Peek() != '"' {
		if !r.Null() {
			r.mistyped("must be a string: " + listWords(words) + ".")
		}
		return value, false
	}
	s, ok := r.quoted()
	if !ok || len(s) == 0 {
		return value, false
	}
	for i := range words {
		if words[i].Text == string(s) {
			return words[i].Value, true
		}
	}
	r.Bad("must be one of " + listWords(words) + ".")
	return value, false
}

// textsOf returns the texts of words.
func textsOf[T any](words []Word[T]) []string {
	texts := make([]string, len(words))
	for i := range words {
		texts[i] = words[i].Text
	}
	return texts
}

func listWords[T any](words []Word[T]) string { return strings.Join(textsOf(words), ", ") }

// UUID reads a member that is a UUID in its text form; null and "" count as missing.
func (r *Reader) UUID() (id [16]byte, given bool) {
	s := r.Text(36)
	if s == nil {
		return id, false
	}
	id, ok := ParseUUID(s)
	if !ok {
		r.Bad("must be a UUID of the form 00000000-0000-0000-0000-000000000000.")
	}
	return id, ok
}

// ParseUUID reads 8-4-4-4-12 hexadecimal digits of either case.
func ParseUUID[T []byte | string](s T) (id [16]byte, ok bool) {
	if len(s) != 36 {
		return id, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return id, false
			}
			continue
		}
		c := s[i]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return id, false
		}
		id[n/2] = id[n/2]<<4 | c
		n++
	}
	return id, true
}

// Member describes one member of a body that is decoded into a T, and reads it.
type Member[T any] struct {
	Field
	read    func(r *Reader, v *T) (given bool)
	missing string // the rule that a body without this member breaks; empty: the member is optional
}

// Read returns a member that the function read decodes into v. read reports whether the member has a value;
// null and the empty string count as missing.
func Read[T any](name string, kind Kind, read func(r *Reader, v *T) (given bool)) Member[T] {
	return Member[T]{Field: Field{Name: name, Kind: kind}, read: read}
}

// Value returns a member that parse decodes. When the member has a value, set stores it.
func Value[T, V any](name string, kind Kind, parse func(*Reader) (V, bool), set func(*T, V)) Member[T] {
	return Read(name, kind, func(r *Reader, v *T) bool {
		x, given := parse(r)
		if given {
			set(v, x)
		}
		return given
	})
}

// Text returns a member that is a string of at most most characters.
func Text[T any](name string, most int, set func(*T, string)) Member[T] {
	return Value(name, KindText, func(r *Reader) (string, bool) {
		s := r.Text(most)
		return string(s), s != nil
	}, set)
}

// Decimal returns a member that is a decimal. The text that set receives aliases the body.
func Decimal[T any](name string, set func(*T, []byte)) Member[T] {
	return Read(name, KindDecimal, func(r *Reader, v *T) bool {
		text := r.Decimal()
		set(v, text)
		return text != nil
	})
}

// Flag returns a member that is true or false.
func Flag[T any](name string, set func(*T, bool)) Member[T] {
	return Value(name, KindBoolean, (*Reader).Boolean, set)
}

// Integer returns a member that is an integer from low to high.
func Integer[T any](name string, low, high int64, set func(*T, int64)) Member[T] {
	m := Value(name, KindInteger, func(r *Reader) (int64, bool) { return r.Integer(low, high) }, set)
	m.Range = []int64{low, high}
	return m
}

// Choice returns a member that is one of words.
func Choice[T, V any](name string, words []Word[V], set func(*T, V)) Member[T] {
	m := Value(name, KindWord, func(r *Reader) (V, bool) { return readWord(r, words) }, set)
	m.Words = textsOf(words)
	return m
}

// Need returns m as a member that the body must have.
func (m Member[T]) Need() Member[T] { return m.Else("is required.") }

// Else returns m as a member that the body must have. If it is missing, the error is "The member NAME RULE".
func (m Member[T]) Else(rule string) Member[T] {
	m.Required, m.missing = true, rule
	return m
}

// As returns m with the description d. The name of m stays, and d inherits kind, words, pattern and range unless it has
// its own. Required in d marks a member that the form accepts as missing but the domain refuses.
func (m Member[T]) As(d Field) Member[T] {
	d.Name, d.Required, d.Kind = m.Name, d.Required || m.Required, cmp.Or(d.Kind, m.Kind)
	d.Pattern = cmp.Or(d.Pattern, m.Pattern)
	if d.Words == nil {
		d.Words = m.Words
	}
	if d.Range == nil {
		d.Range = m.Range
	}
	m.Field = d
	return m
}

// Form holds the members of a body that is decoded into a T, in the order of the contract's table. Errors are
// reported in this order. A Form is immutable.
type Form[T any] struct {
	members []Member[T]
	fields  []Field
	rules   []rule[T]
}

// rule is a condition on several members; breaking it is an error of the named member.
type rule[T any] struct {
	name, text string
	holds      func(*T) bool
}

// maxMembers is the number of members that Fill can track: the bits of a uint64.
const maxMembers = 64

// Of returns the form of these members, at most maxMembers.
func Of[T any](members ...Member[T]) *Form[T] {
	if len(members) > maxMembers {
		panic(fmt.Sprintf("BUG: json: a form of %d members, at most %d", len(members), maxMembers))
	}
	f := &Form[T]{members: members}
	for i := range members {
		f.fields = append(f.fields, members[i].Field)
	}
	return f
}

// Rule adds a condition on several members, checked when every member is valid on its own. Breaking it is an
// error of the named member: "The member NAME TEXT".
func (f *Form[T]) Rule(name, text string, holds func(*T) bool) *Form[T] {
	f.rules = append(f.rules, rule[T]{name, text, holds})
	return f
}

// Members returns the descriptions of the members in the order of the contract.
func (f *Form[T]) Members() []Field { return f.fields }

// Decode reads a body into v. Members that are not given keep their value in v. After an error, v is partly
// set.
func (f *Form[T]) Decode(text []byte, v *T) *refuse.Refusal {
	return Decode(text, func(r *Reader) *Error {
		f.Fill(r, v)
		return r.InOrder(f.fields)
	})
}

// Fill reads an object into v and records every wrong member in r.
func (f *Form[T]) Fill(r *Reader, v *T) {
	if !r.Object() {
		return
	}
	var given uint64
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		i := 0
		for i < len(f.members) && f.members[i].Name != string(key) {
			i++
		}
		if i == len(f.members) {
			r.Unknown()
		} else if f.members[i].read(r, v) {
			given |= 1 << i
		}
	}
	for i := range f.members {
		if m := &f.members[i]; m.missing != "" && given>>i&1 == 0 {
			r.Rule(m.Name, m.missing)
		}
	}
	for _, m := range f.rules {
		if r.Err == nil && len(r.Wrong) == 0 && !m.holds(v) {
			r.Rule(m.name, m.text)
		}
	}
}

// Sent reports whether a request has a body that is not only white space.
func Sent(text []byte) bool {
	var r Reader
	r.Reset(text)
	return r.Peek() != 0
}
