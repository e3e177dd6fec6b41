package json

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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

func TestFreeFormObjectsAreKeptAsSent(t *testing.T) {
	read := func(body string) (string, *Error) {
		var r Reader
		var raw []byte
		r.Reset([]byte(body))
		if r.Object() {
			for key, ok := r.Member(); ok; key, ok = r.Member() {
				if string(key) == "metadata" {
					raw = r.raw(64)
				} else {
					r.Unknown()
				}
			}
		}
		return string(raw), r.Finish()
	}
	free := `{"a" : [1.50, {"b":null}], "ünï":"\u0041"}`
	if got, err := read(`{"metadata":` + free + `}`); err != nil || got != free {
		t.Errorf("%q %v", got, err)
	}
	for body, field := range map[string]string{
		`{"metadata":{"website":1,"website":2}}`:               "metadata.website",
		`{"metadata":{"a":[{"b":1,"b":2}]}}`:                   "metadata.a[0].b",
		`{"metadata":{"a":"` + strings.Repeat("x", 64) + `"}}`: "metadata",
		`{"metadata":"x"}`:                                     "metadata",
		`{"metadata":{"a":tru}}`:                               "",
		`{"metadata":{"a":01}}`:                                "",
	} {
		if _, err := read(body); err == nil || err.Field != field {
			t.Errorf("%s: %v, want field %q", body, err, field)
		}
	}
}

// FuzzSkip checks that the reader skips a free-form value exactly when it is valid JSON, except
// for what only this reader refuses: depth, duplicates, half surrogates, invalid UTF-8.
func FuzzSkip(f *testing.F) {
	f.Add([]byte(`{"a":[1,-0.5e+3,"\ud83d\ude00",true,false,null,{}]}`))
	f.Add([]byte(`[[],{},"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var r Reader
		r.Reset(body)
		r.skip()
		if err := r.Finish(); err == nil && !json.Valid(body) {
			t.Fatalf("taken: %q", body)
		} else if err != nil && json.Valid(body) && err.Field == "" && !strings.Contains(err.Message, "escape") &&
			!strings.Contains(err.Message, "UTF-8") && !strings.Contains(err.Message, "deeper") &&
			!strings.Contains(err.Message, "twice") {
			t.Fatalf("refused: %q: %v", body, err)
		}
	})
}
