package server

import (
	"fmt"
	"strconv"

	"tickhive/internal/refuse"
)

// Limits of a request body's shape. The listener limits its size in bytes.
const (
	// maxBodyDepth bounds the reader's stack. Requests of the contract nest at most 5 deep,
	// including free-form objects.
	maxBodyDepth = 32
	// maxFreeMembers limits one free-form object, because duplicates are searched pairwise.
	maxFreeMembers = 256
	// maxWrong limits the recorded wrong members of one body.
	maxWrong = 64
)

// bodyError is a broken body: the answer is 400 INVALID_PARAM.
type bodyError struct {
	Field   string // as in commands[3].place.price; empty: the body as a whole
	Message string // a sentence
}

func (e *bodyError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// bodyReader reads one JSON body strictly, in one pass, without building a tree: the
// caller opens objects and arrays and names the members that it knows. The reader refuses
// unknown and duplicate members, trailing data, invalid UTF-8, wrong types and too deep
// nesting. It returns decimals as text; they never pass through a float.
//
// Owner: one request. The byte slices that it returns alias the body.
//
// After a structural error (err) every read returns zero and every loop ends, so that
// callers check once, in finish. A member of the wrong type is recorded (wrong) and reading
// continues, so that the caller can report the first wrong member in the order of its table.
type bodyReader struct {
	data   []byte
	pos    int
	err    *bodyError
	wrong  []bodyError
	frames []bodyFrame
	seen   [][]byte // keys of the open objects, one run per frame
}

// bodyFrame is an open object or array.
type bodyFrame struct {
	key   []byte // current member
	index int    // current element
	seen  int    // where this object's keys start in bodyReader.seen
	array bool
	begun bool // a member or element was read
}

func (r *bodyReader) reset(data []byte) {
	r.data, r.pos, r.err = data, 0, nil
	r.wrong, r.frames, r.seen = r.wrong[:0], r.frames[:0], r.seen[:0]
}

// finish checks that no data follows and returns the first error.
func (r *bodyReader) finish() *bodyError {
	if r.err == nil {
		if r.space(); r.pos < len(r.data) {
			r.syntax("something follows the JSON value")
		}
	}
	if r.err != nil {
		return r.err
	}
	if len(r.wrong) > 0 {
		return &r.wrong[0]
	}
	return nil
}

// object opens an object. When the value is not an object, it skips the value and returns
// false.
func (r *bodyReader) object() bool {
	if r.peek() != '{' {
		r.mistyped("must be an object.")
		return false
	}
	return r.open(false)
}

// array opens an array, like object.
func (r *bodyReader) array() bool {
	if r.peek() != '[' {
		r.mistyped("must be an array.")
		return false
	}
	return r.open(true)
}

func (r *bodyReader) open(array bool) bool {
	if len(r.frames) == maxBodyDepth {
		r.fail(fmt.Sprintf("must not nest deeper than %d.", maxBodyDepth))
		return false
	}
	r.pos++
	r.frames = append(r.frames, bodyFrame{seen: len(r.seen), array: array, index: -1})
	return true
}

func (r *bodyReader) close() {
	r.pos++
	last := len(r.frames) - 1
	r.seen = r.seen[:r.frames[last].seen]
	r.frames = r.frames[:last]
}

// member moves to the next member of the innermost object; key is its name. When it returns
// false, the object is closed or err is set.
func (r *bodyReader) member() (key []byte, ok bool) {
	c := r.peek()
	if r.err != nil {
		return nil, false
	}
	f := &r.frames[len(r.frames)-1]
	switch {
	case c == '}':
		r.close()
		return nil, false
	case !f.begun:
		f.begun = true
	case c == ',':
		r.pos++
		c = r.peek()
	default:
		r.syntax("a comma or the end of the object is missing")
		return nil, false
	}
	if c != '"' {
		r.syntax("a member name is missing")
		return nil, false
	}
	if key, ok = r.text(); !ok {
		return nil, false
	}
	f.key = key
	if r.peek() != ':' {
		r.syntax("a colon is missing")
		return nil, false
	}
	r.pos++
	for _, k := range r.seen[f.seen:] {
		if string(k) == string(key) {
			r.fail("is given twice.")
			return nil, false
		}
	}
	r.seen = append(r.seen, key)
	return key, true
}

// element moves to the next element of the innermost array. When it returns false, the array
// is closed or err is set.
func (r *bodyReader) element() bool {
	c := r.peek()
	if r.err != nil {
		return false
	}
	f := &r.frames[len(r.frames)-1]
	switch {
	case c == ']' && !f.begun:
		r.close()
		return false
	case !f.begun:
		f.begun = true
	case c == ']':
		r.close()
		return false
	case c == ',':
		r.pos++
		if r.peek() == ']' {
			r.syntax("an element is missing")
			return false
		}
	default:
		r.syntax("a comma or the end of the array is missing")
		return false
	}
	f.index++
	return true
}

// unknown refuses the current member.
func (r *bodyReader) unknown() { r.fail("is not a member of this request.") }

// fail records a structural error at the current member.
func (r *bodyReader) fail(rule string) {
	if r.err == nil {
		r.err = &bodyError{Field: r.path(), Message: "The member " + r.path() + " " + rule}
		if r.err.Field == "" {
			r.err.Message = "The body " + rule
		}
	}
}

// syntax records a JSON syntax error at the current byte.
func (r *bodyReader) syntax(what string) {
	if r.err == nil {
		r.err = &bodyError{Message: fmt.Sprintf("The body is not valid JSON: %s at byte %d.", what, r.pos)}
	}
}

// bad records that the current member breaks a rule; reading continues.
func (r *bodyReader) bad(rule string) {
	if r.err == nil && len(r.wrong) < maxWrong {
		e := bodyError{Field: r.path(), Message: "The member " + r.path() + " " + rule}
		if e.Field == "" {
			e.Message = "The body " + rule
		}
		r.wrong = append(r.wrong, e)
	}
}

// mistyped records a wrong type as bad does, and skips the value.
func (r *bodyReader) mistyped(rule string) {
	if r.err == nil {
		r.bad(rule)
		r.skip()
	}
}

// path returns the path of the current member, for example commands[3].place.price.
func (r *bodyReader) path() string {
	var b []byte
	for i := range r.frames {
		f := &r.frames[i]
		switch {
		case f.array && f.index >= 0:
			b = append(strconv.AppendInt(append(b, '['), int64(f.index), 10), ']')
		case !f.array && f.key != nil:
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, f.key[:min(len(f.key), 128)]...)
		}
	}
	return string(b)
}

// badBody converts the error of the strict body reader to a refusal.
func badBody(e *bodyError) *refuse.Refusal {
	return &refuse.Refusal{Code: refuse.InvalidParam, Message: e.Message, Field: e.Field}
}
