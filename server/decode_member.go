package server

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	json "github.com/goccy/go-json"
)

// string reads a string member of at most most code points. It returns nil for null and the
// empty string, which count as missing.
func (r *bodyReader) string(most int) []byte {
	if r.peek() != '"' {
		if !r.null() {
			r.mistyped("must be a string.")
		}
		return nil
	}
	s, ok := r.text()
	if !ok || len(s) == 0 {
		return nil
	}
	if len(s) > most && utf8.RuneCount(s) > most {
		r.bad(fmt.Sprintf("must have at most %d characters.", most))
		return nil
	}
	return s
}

// boolean reads a member that is true or false. null counts as missing: given is false.
func (r *bodyReader) boolean() (value, given bool) {
	switch r.peek() {
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	}
	if !r.null() {
		r.mistyped("must be true or false.")
	}
	return false, false
}

// integer reads a member that is a JSON integer from low to high.
func (r *bodyReader) integer(low, high int64) (value int64, given bool) {
	c := r.peek()
	if c != '-' && c-'0' > 9 {
		if !r.null() {
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
		r.bad(fmt.Sprintf("must be an integer from %d to %d.", low, high))
		return 0, false
	}
	return v, true
}

// decimal reads a decimal member, a number or a string, and returns its text, which has the
// form of docs/contract/market-data.md#decimals. It returns nil for null and "", which count as
// missing.
func (r *bodyReader) decimal() []byte {
	text, ok := []byte(nil), false
	switch c := r.peek(); {
	case c == '"':
		text, ok = r.text()
		if ok && len(text) == 0 {
			return nil
		}
	case c == '-' || c-'0' <= 9:
		text, ok = r.number()
	default:
		if !r.null() {
			r.mistyped("must be a decimal.")
		}
		return nil
	}
	if !ok {
		return nil
	}
	if !isDecimal(text) {
		r.bad("must be a decimal of at most 20 digits before and 18 after the point, without an exponent.")
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
func (r *bodyReader) raw(most int) []byte {
	if r.peek() != '{' {
		if !r.null() {
			r.mistyped("must be an object.")
		}
		return nil
	}
	start := r.pos
	r.skip()
	if r.err != nil {
		return nil
	}
	if r.pos-start > most {
		r.bad(fmt.Sprintf("must have at most %d bytes.", most))
		return nil
	}
	return r.data[start:r.pos:r.pos]
}

// require records a member that is missing from the object just closed as a wrong member,
// unless it was given.
func (r *bodyReader) require(member string, given bool) {
	if !given {
		r.rule(member, "is required.")
	}
}

// rule records that a member of the object just closed breaks a rule, unless the member is
// already recorded as wrong.
func (r *bodyReader) rule(member, rule string) {
	if r.err != nil || len(r.wrong) >= maxWrong {
		return
	}
	field := member
	if p := r.path(); p != "" {
		field = p + "." + member
	}
	if !r.isWrong(field) {
		r.wrong = append(r.wrong, bodyError{Field: field, Message: "The member " + field + " " + rule})
	}
}

// isWrong reports whether the member is recorded as wrong.
func (r *bodyReader) isWrong(field string) bool {
	for i := range r.wrong {
		if r.wrong[i].Field == field {
			return true
		}
	}
	return false
}

// inOrder returns the first error, with the wrong members and their elements in the order of
// a table instead of the order in which they were sent.
func (r *bodyReader) inOrder(members ...string) *bodyError {
	first := r.finish()
	if first == nil || r.err != nil {
		return first
	}
	for _, m := range members {
		for i := range r.wrong {
			if field := r.wrong[i].Field; field == m || strings.HasPrefix(field, m+"[") {
				return &r.wrong[i]
			}
		}
	}
	return first
}

func (r *bodyReader) flag() *bool {
	if v, given := r.boolean(); given {
		return &v
	}
	return nil
}

// anything reads a value of any type and returns it as sent.
func (r *bodyReader) anything() json.RawMessage {
	r.peek()
	start := r.pos
	r.skip()
	if r.err != nil {
		return nil
	}
	return json.RawMessage(r.data[start:r.pos:r.pos])
}
