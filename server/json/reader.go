package json

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tickhive/tickhive/internal/refuse"
)

// RawMessage is the text of a value of any type.
type RawMessage = json.RawMessage

// Limits of a request body's shape. The listener limits its size in bytes.
const (
	// maxBodyDepth bounds the reader's stack. Requests of the contract nest at most 5 deep,
	// including free-form objects.
	maxBodyDepth = 32
	// maxFreeMembers limits the members of one free-form object, because the search for duplicates compares
	// every pair.
	maxFreeMembers = 256
	// maxWrong limits the errors of members that are recorded for one body.
	maxWrong = 64
)

// Error is an error in a request body; the answer is 400 INVALID_PARAM.
type Error struct {
	Field   string // path of the member, for example commands[3].place.price; empty: the body as a whole
	Message string // a sentence for the client
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Reader reads one JSON body strictly, in one pass, without building a tree: the caller opens objects and
// arrays and names the members that it knows. The reader refuses unknown and duplicate members, trailing data,
// invalid UTF-8, wrong types and too deep nesting. It returns decimals as text; they never pass through a
// float.
//
// Owner: one request. The byte slices that it returns alias the body.
//
// After a structural error (Err) every read returns zero and every loop ends, so that callers check
// once, in Finish. A member of the wrong type is recorded (Wrong) and reading continues, so that the
// caller can report the first wrong member in the order of its table.
type Reader struct {
	data   []byte
	pos    int
	Err    *Error
	Wrong  []Error
	frames []frame
	seen   [][]byte // keys read so far in each open object; frame.seen delimits them
}

// frame is an open object or array.
type frame struct {
	key   []byte // current member
	index int    // current element
	seen  int    // index in Reader.seen of this object's first key
	array bool
	begun bool // a member or an element was read
}

// Reset makes r read data from its beginning.
func (r *Reader) Reset(data []byte) {
	r.data, r.pos, r.Err = data, 0, nil
	r.Wrong, r.frames, r.seen = r.Wrong[:0], r.frames[:0], r.seen[:0]
}

// readers has readers whose memory a request reuses. The limits of a body's shape bound that memory.
var readers = sync.Pool{New: func() any { return new(Reader) }}

// Decode reads text by read, with a Reader that read must not keep.
func Decode(text []byte, read func(*Reader) *Error) *refuse.Refusal {
	r := readers.Get().(*Reader)
	r.Reset(text)
	var refusal *refuse.Refusal
	if err := read(r); err != nil {
		refusal = Refusal(err) // a copy: err may be memory of r
	}
	r.Reset(nil)
	readers.Put(r)
	return refusal
}

// Finish returns the first error; data after the value is one.
func (r *Reader) Finish() *Error {
	if r.Err == nil {
		if r.space(); r.pos < len(r.data) {
			r.syntax("something follows the JSON value")
		}
	}
	if r.Err != nil {
		return r.Err
	}
	if len(r.Wrong) > 0 {
		return &r.Wrong[0]
	}
	return nil
}

// Object opens an object. When the value is no object, it skips the value and returns false.
func (r *Reader) Object() bool {
	if r.Peek() != '{' {
		r.mistyped("must be an object.")
		return false
	}
	return r.open(false)
}

// Array opens an array. When the value is no array, it skips the value and returns false.
func (r *Reader) Array() bool {
	if r.Peek() != '[' {
		r.mistyped("must be an array.")
		return false
	}
	return r.open(true)
}

func (r *Reader) open(array bool) bool {
	if len(r.frames) == maxBodyDepth {
		r.Fail(fmt.Sprintf("must not nest deeper than %d.", maxBodyDepth))
		return false
	}
	r.pos++
	r.frames = append(r.frames, frame{seen: len(r.seen), array: array, index: -1})
	return true
}

func (r *Reader) close() {
	r.pos++
	last := len(r.frames) - 1
	r.seen = r.seen[:r.frames[last].seen]
	r.frames = r.frames[:last]
}

// Member moves to the next member of the innermost object and returns its name. ok is false when the object is
// closed or Err is set.
func (r *Reader) Member() (key []byte, ok bool) {
	c := r.Peek()
	if r.Err != nil {
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
		c = r.Peek()
	default:
		r.syntax("a comma or the end of the object is missing")
		return nil, false
	}
	if c != '"' {
		r.syntax("a member name is missing")
		return nil, false
	}
	if key, ok = r.quoted(); !ok {
		return nil, false
	}
	f.key = key
	if r.Peek() != ':' {
		r.syntax("a colon is missing")
		return nil, false
	}
	r.pos++
	for _, k := range r.seen[f.seen:] {
		if string(k) == string(key) {
			r.Fail("is given twice.")
			return nil, false
		}
	}
	r.seen = append(r.seen, key)
	return key, true
}

// Element moves to the next element of the innermost array. It returns false when the array is closed or Err is
// set.
func (r *Reader) Element() bool {
	c := r.Peek()
	if r.Err != nil {
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
		if r.Peek() == ']' {
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

// Unknown records that the current member is unknown.
func (r *Reader) Unknown() { r.Fail("is not a member of this request.") }

// Fail records a structural error at the current member and ends the reading: every later read returns zero.
func (r *Reader) Fail(rule string) {
	if r.Err == nil {
		r.Err = &Error{Field: r.path(), Message: "The member " + r.path() + " " + rule}
		if r.Err.Field == "" {
			r.Err.Message = "The body " + rule
		}
	}
}

// syntax records a JSON syntax error at the current byte.
func (r *Reader) syntax(what string) {
	if r.Err == nil {
		r.Err = &Error{Message: fmt.Sprintf("The body is not valid JSON: %s at byte %d.", what, r.pos)}
	}
}

// Bad records that the current member breaks a rule. Reading continues.
func (r *Reader) Bad(rule string) {
	if r.Err == nil && len(r.Wrong) < maxWrong {
		e := Error{Field: r.path(), Message: "The member " + r.path() + " " + rule}
		if e.Field == "" {
			e.Message = "The body " + rule
		}
		r.Wrong = append(r.Wrong, e)
	}
}

// mistyped records a wrong type like Bad, and skips the value.
func (r *Reader) mistyped(rule string) {
	if r.Err == nil {
		r.Bad(rule)
		r.skip()
	}
}

// path returns the path of the current member, for example commands[3].place.price.
func (r *Reader) path() string {
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

// Refusal converts an error of the Reader to a refusal.
func Refusal(e *Error) *refuse.Refusal {
	return &refuse.Refusal{Code: refuse.InvalidParam, Message: e.Message, Field: e.Field}
}

// Peek skips white space and returns the next byte, 0 at the end.
func (r *Reader) Peek() byte {
	if r.Err != nil {
		return 0
	}
	r.space()
	if r.pos >= len(r.data) {
		return 0
	}
	return r.data[r.pos]
}

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\n', '\r', '\t':
			r.pos++
		default:
			return
		}
	}
}

// Null skips a null and reports whether there was one.
func (r *Reader) Null() bool {
	return r.Peek() == 'n' && r.word("null")
}

func (r *Reader) word(w string) bool {
	if len(r.data)-r.pos >= len(w) && string(r.data[r.pos:r.pos+len(w)]) == w {
		r.pos += len(w)
		return true
	}
	r.syntax("an unknown word stands")
	return false
}

// quoted reads a JSON string; the caller has seen its quote. Without escapes the result
// aliases the body.
func (r *Reader) quoted() ([]byte, bool) {
	start := r.pos + 1
	ascii := true
	for i := start; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			s := r.data[start:i:i]
			r.pos = i + 1
			if !ascii && !utf8.Valid(s) {
				r.syntax("a string is not UTF-8")
				return nil, false
			}
			return s, true
		case c == '\\':
			return r.escaped(start, i)
		case c < 0x20:
			r.pos = i
			r.syntax("a string contains a control character")
			return nil, false
		case c >= 0x80:
			ascii = false
		}
	}
	r.pos = len(r.data)
	r.syntax("a string does not end")
	return nil, false
}

// escaped reads the rest of a string from its first backslash on and returns the decoded text.
func (r *Reader) escaped(start, i int) ([]byte, bool) {
	out := append([]byte(nil), r.data[start:i]...)
	for i < len(r.data) {
		c := r.data[i]
		switch {
		case c == '"':
			r.pos = i + 1
			if !utf8.Valid(out) {
				r.syntax("a string is not UTF-8")
				return nil, false
			}
			return out, true
		case c < 0x20:
			r.pos = i
			r.syntax("a string contains a control character")
			return nil, false
		case c != '\\':
			out = append(out, c)
			i++
		default:
			var n int
			if out, n = appendEscape(out, r.data[i:]); n == 0 {
				r.pos = i
				r.syntax("an escape sequence is wrong")
				return nil, false
			}
			i += n
		}
	}
	r.pos = len(r.data)
	r.syntax("a string does not end")
	return nil, false
}

var simpleEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// appendEscape decodes the escape sequence at the start of s, which is n bytes long, and appends its character.
// n is 0 when the sequence is invalid, for example half a surrogate pair.
func appendEscape(dst, s []byte) (out []byte, n int) {
	if len(s) < 2 {
		return dst, 0
	}
	if c := simpleEscapes[s[1]]; c != 0 {
		return append(dst, c), 2
	}
	u, ok := hex4(s)
	if !ok {
		return dst, 0
	}
	if !utf16.IsSurrogate(u) {
		return utf8.AppendRune(dst, u), 6
	}
	low, ok := hex4(s[6:])
	if !ok {
		return dst, 0
	}
	if full := utf16.DecodeRune(u, low); full != utf8.RuneError {
		return utf8.AppendRune(dst, full), 12
	}
	return dst, 0
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var u rune
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		u = u<<4 | rune(c)
	}
	return u, true
}

// number reads a JSON number and returns its text; for any other value it sets err and
// returns false.
func (r *Reader) number() ([]byte, bool) {
	start := r.pos
	i := start
	if i < len(r.data) && r.data[i] == '-' {
		i++
	}
	whole := i
	i = r.digits(i)
	ok := i > whole && (r.data[whole] != '0' || i == whole+1)
	if ok && i < len(r.data) && r.data[i] == '.' {
		frac := i + 1
		i = r.digits(frac)
		ok = i > frac
	}
	if ok && i < len(r.data) && r.data[i]|0x20 == 'e' {
		i++
		if i < len(r.data) && (r.data[i] == '+' || r.data[i] == '-') {
			i++
		}
		exp := i
		i = r.digits(i)
		ok = i > exp
	}
	r.pos = i
	if !ok {
		r.syntax("a value is wrong")
		return nil, false
	}
	return r.data[start:i:i], true
}

func (r *Reader) digits(i int) int {
	for i < len(r.data) && r.data[i]-'0' <= 9 {
		i++
	}
	return i
}

// skip skips one value of any type. It checks the syntax, but not the names of members.
func (r *Reader) skip() {
	switch c := r.Peek(); {
	case r.Err != nil:
	case c == '"':
		r.quoted()
	case c == 't':
		r.word("true")
	case c == 'f':
		r.word("false")
	case c == 'n':
		r.word("null")
	case c == '{':
		if !r.open(false) {
			return
		}
		for {
			if _, ok := r.Member(); !ok {
				return
			}
			if f := r.frames[len(r.frames)-1]; len(r.seen)-f.seen > maxFreeMembers {
				r.Fail("has too many neighbours: an object has at most 256 members.")
				return
			}
			r.skip()
		}
	case c == '[':
		if !r.open(true) {
			return
		}
		for r.Element() {
			r.skip()
		}
	default:
		r.number()
	}
}
