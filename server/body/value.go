package body

import (
	"unicode/utf16"
	"unicode/utf8"
)

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
