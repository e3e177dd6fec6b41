package body

import (
	"cmp"
	"fmt"
	"slices"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// Member describes one member of a body that is decoded into a T, and reads it.
type Member[T any] struct {
	edge.Field
	read    func(r *Reader, v *T) (given bool)
	missing string // the rule that a body without this member breaks; empty: the member is optional
}

// Read returns a member that the function read decodes into v. read reports whether the member has a value;
// null and the empty string count as missing.
func Read[T any](name string, kind edge.Kind, read func(r *Reader, v *T) (given bool)) Member[T] {
	return Member[T]{Field: edge.Field{Name: name, Kind: kind}, read: read}
}

// Value returns a member that parse decodes. When the member has a value, set stores it.
func Value[T, V any](name string, kind edge.Kind, parse func(*Reader) (V, bool), set func(*T, V)) Member[T] {
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
	return Value(name, edge.KindText, func(r *Reader) (string, bool) {
		s := r.Text(most)
		return string(s), s != nil
	}, set)
}

// Decimal returns a member that is a decimal. The text that set receives aliases the body.
func Decimal[T any](name string, set func(*T, []byte)) Member[T] {
	return Read(name, edge.KindDecimal, func(r *Reader, v *T) bool {
		text := r.Decimal()
		set(v, text)
		return text != nil
	})
}

// Flag returns a member that is true or false.
func Flag[T any](name string, set func(*T, bool)) Member[T] {
	return Value(name, edge.KindBoolean, (*Reader).Boolean, set)
}

// Integer returns a member that is an integer from low to high.
func Integer[T any](name string, low, high int64, set func(*T, int64)) Member[T] {
	m := Value(name, edge.KindInteger, func(r *Reader) (int64, bool) { return r.Integer(low, high) }, set)
	m.Range = []int64{low, high}
	return m
}

// Choice returns a member that is one of words.
func Choice[T, V any](name string, words []Word[V], set func(*T, V)) Member[T] {
	m := Value(name, edge.KindWord, func(r *Reader) (V, bool) { return ReadWord(r, words) }, set)
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

// As returns m with the description d. The name of m stays, and d inherits kind, words and range unless it has
// its own. Required in d marks a member that the form accepts as missing but the domain refuses.
func (m Member[T]) As(d edge.Field) Member[T] {
	d.Name, d.Required, d.Kind = m.Name, d.Required || m.Required, cmp.Or(d.Kind, m.Kind)
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
	fields  []edge.Field
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
		panic(fmt.Sprintf("BUG: body: a form of %d members, at most %d", len(members), maxMembers))
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
func (f *Form[T]) Members() []edge.Field { return f.fields }

// Decode reads a body into v. Members that are not given keep their value in v. After an error, v is partly
// set.
func (f *Form[T]) Decode(text []byte, v *T) *refuse.Refusal {
	return decode(text, func(r *Reader) *Error {
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
		i := slices.IndexFunc(f.fields, func(m edge.Field) bool { return m.Name == string(key) })
		if i < 0 {
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
