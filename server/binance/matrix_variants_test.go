package binance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// attempt is one signed request, over HTTP or over a socket.
type attempt struct {
	key       string // "": not sent
	params    [][2]string
	signature []string
	signed    string // the text that was signed
	api       bool   // a request of the WebSocket API
}

// set changes a parameter, or adds it.
func (a *attempt) set(name, value string) {
	for i := range a.params {
		if a.params[i][0] == name {
			a.params[i][1] = value
			return
		}
	}
	a.params = append(a.params, [2]string{name, value})
}

func (a *attempt) drop(name string) {
	a.params = slices.DeleteFunc(a.params, func(p [2]string) bool { return p[0] == name })
}

// text returns the text that the sender signs.
func (a *attempt) text() string {
	params := slices.Clone(a.params)
	if a.api {
		if a.key != "" {
			params = append(params, [2]string{"apiKey", a.key})
		}
		slices.SortFunc(params, func(x, y [2]string) int { return strings.Compare(x[0], y[0]) })
	}
	parts := make([]string, 0, len(params))
	for _, p := range params {
		parts = append(parts, p[0]+"="+p[1])
	}
	return strings.Join(parts, "&")
}

// query returns the parameters and the signatures as a query.
func (a *attempt) query() string {
	q := a.text()
	for _, s := range a.signature {
		q += "&signature=" + url.QueryEscape(s)
	}
	return strings.TrimPrefix(q, "&")
}

// message returns the request of the WebSocket API.
func (a *attempt) message(method string) string {
	params := slices.Clone(a.params)
	if a.key != "" {
		params = append(params, [2]string{"apiKey", a.key})
	}
	for _, s := range a.signature {
		params = append(params, [2]string{"signature", s})
	}
	b := []byte(`{"id":1,"method":"` + method + `","params":{`)
	for i, p := range params {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(p[0])
		value, _ := json.Marshal(p[1])
		b = append(append(append(b, name...), ':'), value...)
	}
	return string(b) + "}}"
}

// variant changes an attempt before and after it is signed.
type variant struct {
	name          string
	before, after func(a *attempt)
	status, code  int
	only          string // "http": only there
}

// variants returns what no signed route may accept, with the code of the other exchange.
func (s *signer) variants() []variant {
	at := s.r.now().UnixMilli()
	stamp := func(text string) func(*attempt) { return func(a *attempt) { a.set("timestamp", text) } }
	window := func(text string) func(*attempt) { return func(a *attempt) { a.set("recvWindow", text) } }
	ms := func(v int64) func(*attempt) { return stamp(fmt.Sprint(v)) }
	key := func(change func(string) string) func(*attempt) { return func(a *attempt) { a.key = change(a.key) } }
	spelled := func(change func(signature string) []string) func(*attempt) {
		return func(a *attempt) { a.signature = change(a.signature[0]) }
	}
	one := func(change func(signature string) string) func(*attempt) {
		return spelled(func(s string) []string { return []string{change(s)} })
	}
	resigned := func(sign func(text string) string) func(*attempt) {
		return func(a *attempt) { a.signature = []string{sign(a.signed)} }
	}
	mac := func(secret, text string) string {
		m := hmac.New(sha256.New, []byte(secret))
		_, _ = m.Write([]byte(text))
		return hex.EncodeToString(m.Sum(nil))
	}
	return []variant{
		{name: "no key", before: key(func(string) string { return "" }), status: 401, code: -2014},
		{
			name: "an unknown key", before: key(func(string) string { return strings.Repeat("A", 38) }), status: 401,
			code: -2015,
		},
		{name: "half a key", before: key(func(k string) string { return k[:len(k)/2] }), status: 401, code: -2015},
		{name: "a longer key", before: key(func(k string) string { return k + "A" }), status: 401, code: -2015},
		{name: "no timestamp", before: func(a *attempt) { a.drop("timestamp") }, code: -1102},
		{name: "an empty timestamp", before: stamp(""), code: -1102},
		{name: "a timestamp of letters", before: stamp("now"), code: -1100},
		{name: "a negative timestamp", before: stamp(fmt.Sprint(-at)), code: -1100},
		{name: "a timestamp with a fraction", before: stamp(fmt.Sprint(at) + ".0"), code: -1100},
		{name: "a timestamp beyond 64 bits", before: stamp(strings.Repeat("9", 20)), code: -1100},
		{name: "a timestamp in seconds", before: ms(at / 1000), code: -1021},
		{name: "too old in microseconds", before: ms((at-60_000)*1000 - 1), code: -1021},
		{name: "too new in microseconds", before: ms((at + 1000) * 1000), code: -1021},
		{name: "too old for a window of microseconds", before: func(a *attempt) {
			ms(at*1000 - 5_347)(a)
			window("5.346")(a)
		}, code: -1021},
		{name: "too old", before: ms(at - 60_001), code: -1021},
		{name: "too new", before: ms(at + 1000), code: -1021},
		{name: "too old for its window", before: func(a *attempt) {
			ms(at - 11)(a)
			window("10")(a)
		}, code: -1021},
		{name: "too wide a window", before: window("60001"), code: -1131},
		{name: "a window of 60 s and 1 us", before: window("60000.001"), code: -1131},
		{name: "a window with four decimals", before: window("5000.0001"), code: -1100},
		{name: "a window of letters", before: window("x"), code: -1100},
		{name: "a negative window", before: window("-1"), code: -1100},
		{name: "a timestamp twice", after: func(a *attempt) {
			a.params = append(a.params, [2]string{"timestamp", "1"})
		}, code: -1101},
		{name: "a signature twice", after: spelled(func(s string) []string { return []string{s, s} }), code: -1101},
		{name: "no signature", after: func(a *attempt) { a.signature = nil }, code: -1102},
		{name: "an empty signature", after: one(func(string) string { return "" }), code: -1102},
		{name: "half a signature", after: one(func(s string) string { return s[:len(s)/2] }), code: -1022},
		{name: "a doubled signature", after: one(func(s string) string { return s + s }), code: -1022},
		{
			name: "a signature with a line feed", after: one(func(s string) string { return s + "\n" }),
			code: -1022,
		},
		{
			name: "a signature with a space", after: one(func(s string) string { return " " + s }),
			code: -1022,
		},
		{name: "a signature of zeros", after: spelled(func(s string) []string {
			return []string{strings.Repeat("0", len(s))}
		}), code: -1022},
		{name: "a changed digit", after: spelled(func(s string) []string {
			first := "A"
			if s[0] == 'A' || s[0] == 'a' {
				first = "B"
			}
			return []string{first + s[1:]}
		}), code: -1022},
		{name: "the other encoding", after: spelled(func(s string) []string {
			if b, err := hex.DecodeString(s); err == nil {
				return []string{base64.StdEncoding.EncodeToString(b)}
			}
			b, _ := base64.StdEncoding.DecodeString(s)
			return []string{hex.EncodeToString(b)}
		}), code: -1022},
		{name: "another private key", after: resigned(s.other), code: -1022},
		{name: "HMAC with the empty key", after: resigned(func(t string) string { return mac("", t) }), code: -1022},
		{
			name: "HMAC with the public key", after: resigned(func(text string) string { return mac(s.APIKey, text) }),
			code: -1022,
		},
		{name: "the signature of nothing", after: resigned(func(string) string { return s.sign("") }), code: -1022},
		{name: "the signature of the native scheme", after: resigned(func(text string) string {
			return s.sign(fmt.Sprintf("%d\nn-1\nGET\n/?%s\n%x", at, text, sha256.Sum256(nil)))
		}), code: -1022},
		{name: "another time after signing", after: ms(at - 1), code: -1022},
		{name: "a wider window after signing", after: window("59999"), code: -1022},
		{name: "one parameter more after signing", after: func(a *attempt) { a.set("x", "1") }, code: -1022},
		{
			name: "another order after signing", after: func(a *attempt) { slices.Reverse(a.params) }, code: -1022,
			only: "http",
		},
		{name: "another encoding after signing", after: func(a *attempt) {
			a.drop("timestamp")
			a.params = append(a.params, [2]string{"%74imestamp", fmt.Sprint(at)})
		}, code: -1022, only: "http"},
	}
}
