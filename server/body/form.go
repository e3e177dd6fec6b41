package body

import "tickhive/internal/refuse"

// Member is one member of the body of a T: its name and how it is read into a T.
type Member[T any] struct {
	name     string
	read     func(r *Reader, v *T) (given bool)
	required bool
}

// Required returns m as a member that the body must have.
func (m Member[T]) Required() Member[T] {
	m.required = true
	return m
}

// Read returns a member that read stores in v. It reports whether the member has a value: null
// and the empty string count as missing.
func Read[T any](name string, read func(r *Reader, v *T) (given bool)) Member[T] {
	return Member[T]{name: name, read: read}
}

// Value returns a member that parse reads and set stores, if it was given.
func Value[T, V any](name string, parse func(*Reader) (V, bool), set func(*T, V)) Member[T] {
	return Read(name, func(r *Reader, v *T) bool {
		x, given := parse(r)
		if given {
			set(v, x)
		}
		return given
	})
}

// Text returns a member that is a string of at most most characters.
func Text[T any](name string, most int, set func(*T, string)) Member[T] {
	return Value(name, func(r *Reader) (string, bool) {
		s := r.Text(most)
		return string(s), s != nil
	}, set)
}

// Flag returns a member that is true or false.
func Flag[T any](name string, set func(*T, bool)) Member[T] {
	return Value(name, (*Reader).Boolean, set)
}

// Integer returns a member that is an integer from low to high.
func Integer[T any](name string, low, high int64, set func(*T, int64)) Member[T] {
	return Value(name, func(r *Reader) (int64, bool) { return r.Integer(low, high) }, set)
}

// Choice returns a member that is one of words.
func Choice[T, V any](name string, words []Word[V], set func(*T, V)) Member[T] {
	return Value(name, func(r *Reader) (V, bool) { return ReadWord(r, words) }, set)
}

// Form holds the members of the body of a T. Their order is the order of the contract's table,
// in which wrong members are reported. A Form is immutable.
type Form[T any] struct {
	members []Member[T]
	names   []string
	rules   []rule[T]
}

// rule is a rule between members; its breach is an error of the named member.
type rule[T any] struct {
	name, text string
	holds      func(*T) bool
}

// Of returns the form of these members.
func Of[T any](members ...Member[T]) *Form[T] {
	f := &Form[T]{members: members, names: make([]string, len(members))}
	for i := range members {
		f.names[i] = members[i].name
	}
	return f
}

// Rule adds a rule between members. It is checked when no member is wrong, and its breach is an
// error of the named member: "The member name text".
func (f *Form[T]) Rule(name, text string, holds func(*T) bool) *Form[T] {
	f.rules = append(f.rules, rule[T]{name, text, holds})
	return f
}

// Members returns the names of the members in the order of the contract.
func (f *Form[T]) Members() []string { return f.names }

// Decode reads a body into v, which holds the defaults of members that are not given. After an
// error, v is partly set.
func (f *Form[T]) Decode(text []byte, v *T) *refuse.Refusal {
	var r Reader
	r.Reset(text)
	f.Fill(&r, v)
	if err := r.InOrder(f.names...); err != nil {
		return Refusal(err)
	}
	return nil
}

// Sent reports whether a request has a body.
func Sent(text []byte) bool {
	var r Reader
	r.Reset(text)
	return r.Peek() != 0
}

// Fill reads an object into v and records what is wrong in r.
func (f *Form[T]) Fill(r *Reader, v *T) {
	if !r.Object() {
		return
	}
	var given uint64
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		if i := f.index(key); i < 0 {
			r.Unknown()
		} else if f.members[i].read(r, v) {
			given |= 1 << i
		}
	}
	for i := range f.members {
		if m := &f.members[i]; m.required {
			r.Require(m.name, given>>i&1 != 0)
		}
	}
	for i := range f.rules {
		if m := &f.rules[i]; r.Err == nil && len(r.Wrong) == 0 && !m.holds(v) {
			r.Rule(m.name, m.text)
		}
	}
}

// index returns the place of a member, -1 for an unknown one.
func (f *Form[T]) index(key []byte) int {
	for i := range f.names {
		if f.names[i] == string(key) {
			return i
		}
	}
	return -1
}
