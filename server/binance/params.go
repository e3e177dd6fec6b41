package binance

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// maxParams bounds the parameters of a request.
const maxParams = 64

// param is one parameter of the query or of the form in the body.
type param struct {
	name, value string
	read        bool
}

// call is one request, over HTTP or over a socket. It belongs to the request's goroutine.
type call struct {
	f         *Facade
	from      peer
	Principal *edge.Principal // nil: no credentials
	params    []param
	skewNs    int64 // what a fault rule adds to the time that it answers
	quiet     bool  // the answer has no rateLimits
	used      int64 // the weight of the address in this minute, its own included
}

// peer names the sender of a call.
type peer struct {
	addr      netip.Addr
	unlimited bool // its weight has no limit
}

// readParams reads the parameters of forms: the query, then the body.
func (q *call) readParams(texts ...[]byte) *failure {
	for _, text := range texts {
		for pair := range bytes.SplitSeq(text, []byte{'&'}) {
			if len(pair) == 0 {
				continue
			}
			if len(q.params) == maxParams {
				return fail(codeTooManyParams, "Too many parameters; expected '%d' and received more.", maxParams)
			}
			name, value, _ := strings.Cut(string(pair), "=")
			name, nameErr := url.QueryUnescape(name)
			value, valueErr := url.QueryUnescape(value)
			if nameErr != nil || valueErr != nil {
				return fail(codeIllegalChars, "Illegal characters found in a parameter.")
			}
			if q.sent(name) {
				return twice(name)
			}
			q.params = append(q.params, param{name: name, value: value})
		}
	}
	return nil
}

// text returns the value of a parameter; given is false for a missing or empty one.
func (q *call) text(name string) (value string, given bool) {
	for i := range q.params {
		if p := &q.params[i]; p.name == name {
			p.read = true
			return p.value, p.value != ""
		}
	}
	return "", false
}

// sent reports whether a parameter was sent, and leaves it unread.
func (q *call) sent(name string) bool {
	for i := range q.params {
		if q.params[i].name == name {
			return true
		}
	}
	return false
}

// required returns the value of a parameter, or refuses a request without it.
func (q *call) required(name string) (string, *failure) {
	if v, given := q.text(name); given {
		return v, nil
	}
	return "", missing(name)
}

// number returns a whole number that is not negative, or def when it is missing.
func (q *call) number(name string, def int64) (int64, *failure) {
	text, given := q.text(name)
	if !given {
		return def, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || strings.Trim(text, "0123456789") != "" {
		return 0, illegal(name, "^[0-9]{1,20}$")
	}
	return v, nil
}

// limit returns the parameter limit from 1 up; larger values than most count as most.
func (q *call) limit(def, most int64) (int, *failure) {
	v, err := q.number("limit", def)
	if err == nil && v == 0 {
		err = invalid("limit")
	}
	return int(min(v, most)), err
}

// word returns one of words, the first one when the parameter is missing.
func (q *call) word(name string, words ...string) (string, *failure) {
	text, given := q.text(name)
	if !given {
		return words[0], nil
	}
	for _, w := range words {
		if text == w {
			return w, nil
		}
	}
	return "", invalid(name)
}

// unread refuses parameters that no handler has read.
func (q *call) unread() *failure {
	n := 0
	for i := range q.params {
		if q.params[i].read {
			n++
		}
	}
	if n == len(q.params) {
		return nil
	}
	return fail(codeUnreadParams, "Not all sent parameters were read; read '%d' parameter(s) but was sent '%d'.",
		n, len(q.params))
}

// maxSymbol is the length of the longest symbol, the code of a pair.
const maxSymbol = engine.MaxPairCode

// pair returns the view of the required parameter symbol.
func (q *call) pair() (*marketdata.View, *failure) {
	text, err := q.required("symbol")
	if err != nil {
		return nil, err
	}
	return q.f.lookup(q.f.opt.Board.Load(), text)
}

// lookup returns the view of a symbol in root.
func (f *Facade) lookup(root *marketdata.Root, symbol string) (*marketdata.View, *failure) {
	for i := range len(symbol) {
		if b := symbol[i]; b-'0' > 9 && b-'A' > 25 && b != '_' || len(symbol) > maxSymbol {
			return nil, illegal("symbol", "^[A-Z0-9-_.]{1,20}$")
		}
	}
	if v := f.symbolsOf(root).view(root, symbol); v != nil {
		return v, nil
	}
	return nil, fail(codeBadSymbol, "Invalid symbol.")
}

// views returns the pairs of the parameters symbol or symbols; given is false without both, and all pairs are
// returned. maxSymbols bounds the list.
func (q *call) views(maxSymbols int) (list []*marketdata.View, root *marketdata.Root, given bool, err *failure) {
	root = q.f.opt.Board.Load()
	one, hasOne := q.text("symbol")
	text, hasMany := q.text("symbols")
	switch {
	case hasOne && hasMany:
		return nil, nil, false, fail(codeOptionalParams, "Combination of optional parameters invalid.")
	case hasOne:
		v, err := q.f.lookup(root, one)
		return []*marketdata.View{v}, root, true, err
	case !hasMany:
		for _, id := range root.Sorted() {
			list = append(list, root.View(id))
		}
		return list, root, false, nil
	}
	var names []string
	if json.Unmarshal([]byte(text), &names) != nil || len(names) == 0 || len(names) > maxSymbols {
		return nil, nil, false, illegal("symbols", `^\[("[A-Z0-9-_.]{1,20}"(,"[A-Z0-9-_.]{1,20}"){0,}){0,1}\]$`)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return nil, nil, false, fail(codeTooManyParams, "Duplicate values for parameter 'symbols' detected.")
		}
		seen[name] = true
		v, err := q.f.lookup(root, name)
		if err != nil {
			return nil, nil, false, err
		}
		list = append(list, v)
	}
	return list, root, true, nil
}
