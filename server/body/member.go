package body

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	json "github.com/goccy/go-json"

	"tickhive/server/edge"
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

// raw reads a free-form object of at most most bytes and returns its text as sent.
func (r *Reader) raw(most int) []byte {
	if r.Peek() != '{' {
		if !r.Null() {
			r.mistyped("must be an object.")
		}
		return nil
	}
	start := r.pos
	r.skip()
	if r.Err != nil {
		return nil
	}
	if r.pos-start > most {
		r.Bad(fmt.Sprintf("must have at most %d bytes.", most))
		return nil
	}
	return r.data[start:r.pos:r.pos]
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
func (r *Reader) InOrder(members []edge.Field) *Error {
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
func (r *Reader) Anything() json.RawMessage {
	r.Peek()
	start := r.pos
	r.skip()
	if r.Err != nil {
		return nil
	}
	return json.RawMessage(r.data[start:r.pos:r.pos])
}
