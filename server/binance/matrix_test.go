package binance_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"

	"tickhive/internal/exchange"
	"tickhive/server/binance"
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

// signer is a user with one of the two schemes.
type signer struct {
	*user
	sign  func(text string) string
	other func(text string) string // the same scheme with another private key
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
		{name: "an unknown key", before: key(func(k string) string { return strings.Repeat("A", len(k)) }), code: -1022},
		{name: "half a key", before: key(func(k string) string { return k[:len(k)/2] }), code: -1022},
		{name: "a longer key", before: key(func(k string) string { return k + "A" }), code: -1022},
		{name: "no timestamp", before: func(a *attempt) { a.drop("timestamp") }, code: -1102},
		{name: "an empty timestamp", before: stamp(""), code: -1102},
		{name: "a timestamp of letters", before: stamp("now"), code: -1100},
		{name: "a negative timestamp", before: stamp(fmt.Sprint(-at)), code: -1100},
		{name: "a timestamp with a fraction", before: stamp(fmt.Sprint(at) + ".0"), code: -1100},
		{name: "a timestamp beyond 64 bits", before: stamp(strings.Repeat("9", 20)), code: -1100},
		{name: "a timestamp in seconds", before: ms(at / 1000), code: -1021},
		{name: "a timestamp in microseconds", before: ms(at * 1000), code: -1021},
		{name: "too old", before: ms(at - 60_001), code: -1021},
		{name: "too new", before: ms(at + 1000), code: -1021},
		{name: "too old for its window", before: func(a *attempt) {
			ms(at - 11)(a)
			window("10")(a)
		}, code: -1021},
		{name: "too wide a window", before: window("60001"), code: -1131},
		{name: "a window of letters", before: window("x"), code: -1100},
		{name: "a negative window", before: window("-1"), code: -1100},
		{name: "a timestamp twice", after: func(a *attempt) { a.params = append(a.params, [2]string{"timestamp", "1"}) },
			code: -1101},
		{name: "a signature twice", after: spelled(func(s string) []string { return []string{s, s} }), code: -1101},
		{name: "no signature", after: func(a *attempt) { a.signature = nil }, code: -1102},
		{name: "an empty signature", after: spelled(func(string) []string { return []string{""} }), code: -1102},
		{name: "half a signature", after: spelled(func(s string) []string { return []string{s[:len(s)/2]} }), code: -1022},
		{name: "a doubled signature", after: spelled(func(s string) []string { return []string{s + s} }), code: -1022},
		{name: "a signature with a line feed", after: spelled(func(s string) []string { return []string{s + "\n"} }),
			code: -1022},
		{name: "a signature with a space", after: spelled(func(s string) []string { return []string{" " + s} }),
			code: -1022},
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
		{name: "HMAC with the empty key", after: resigned(func(text string) string { return mac("", text) }), code: -1022},
		{name: "HMAC with the public key", after: resigned(func(text string) string { return mac(s.APIKey, text) }),
			code: -1022},
		{name: "the signature of nothing", after: resigned(func(string) string { return s.sign("") }), code: -1022},
		{name: "the signature of the native scheme", after: resigned(func(text string) string {
			return s.sign(fmt.Sprintf("%d\nn-1\nGET\n/?%s\n%x", at, text, sha256.Sum256(nil)))
		}), code: -1022},
		{name: "another time after signing", after: ms(at - 1), code: -1022},
		{name: "a wider window after signing", after: window("59999"), code: -1022},
		{name: "one parameter more after signing", after: func(a *attempt) { a.set("x", "1") }, code: -1022},
		{name: "another order after signing", after: func(a *attempt) { slices.Reverse(a.params) }, code: -1022,
			only: "http"},
		{name: "another encoding after signing", after: func(a *attempt) {
			a.drop("timestamp")
			a.params = append(a.params, [2]string{"%74imestamp", fmt.Sprint(at)})
		}, code: -1022, only: "http"},
	}
}

// soundParams returns parameters with which a route does what it is for. Each call has an order of its own.
func (s *signer) soundParams(route, listenKey string) [][2]string {
	order := [][2]string{
		{"symbol", "BTCUSDT"}, {"side", "BUY"}, {"type", "LIMIT"}, {"timeInForce", "GTC"}, {"quantity", "1"},
		{"price", "90"},
	}
	fresh := func() string {
		var o struct{ OrderID int64 }
		_, body := s.post(order)
		if err := json.Unmarshal([]byte(body), &o); err != nil || o.OrderID == 0 {
			s.r.t.Fatalf("%s %v", body, err)
		}
		return fmt.Sprint(o.OrderID)
	}
	symbol := [][2]string{{"symbol", "BTCUSDT"}}
	switch route {
	case "POST /api/v3/order", "POST /api/v3/order/test":
		return order
	case "GET /api/v3/order", "DELETE /api/v3/order":
		return append(symbol, [2]string{"orderId", fresh()})
	case "POST /api/v3/order/cancelReplace":
		return append(order, [2]string{"cancelReplaceMode", "STOP_ON_FAILURE"}, [2]string{"cancelOrderId", fresh()})
	case "PUT /api/v3/order/amend/keepPriority":
		return append(symbol, [2]string{"orderId", fresh()}, [2]string{"newQty", "0.5"})
	case "PUT /api/v3/userDataStream", "DELETE /api/v3/userDataStream":
		return [][2]string{{"listenKey", listenKey}}
	case "DELETE /api/v3/openOrders":
		fresh() // without an open order it is -2011
		return symbol
	case "GET /api/v3/openOrders", "GET /api/v3/allOrders", "GET /api/v3/myTrades",
		"GET /api/v3/account/commission":
		return symbol
	case "GET /api/v3/account", "POST /api/v3/userDataStream", "GET /sapi/v1/asset/tradeFee",
		"GET /sapi/v1/capital/config/getall", "GET /sapi/v1/margin/isolated/allPairs", "session.logon",
		"userDataStream.subscribe.signature":
		return nil
	}
	s.r.t.Fatalf("%s: a route that this test does not know", route)
	return nil
}

// post sends a sound order.
func (s *signer) post(params [][2]string) (int, string) {
	a := s.attempt(params, false)
	return s.send("POST", "/api/v3/order?"+s.finish(a).query())
}

// attempt begins a sound request. Each one has another window, because the clock does not move.
func (s *signer) attempt(params [][2]string, api bool) *attempt {
	s.sent++
	return &attempt{key: s.APIKey, api: api, params: append(slices.Clone(params),
		[2]string{"recvWindow", fmt.Sprint(5000 + s.sent%50_000)},
		[2]string{"timestamp", fmt.Sprint(s.r.now().UnixMilli())})}
}

func (s *signer) finish(a *attempt) *attempt {
	a.signed = a.text()
	a.signature = []string{s.sign(a.signed)}
	return a
}

// signers returns the user with a key of each scheme.
func (u *user) signers() map[string]*signer {
	seed := make([]byte, ed25519.SeedSize)
	stranger := ed25519.NewKeyFromSeed(seed)
	seed[0] = 1
	private := ed25519.NewKeyFromSeed(seed)
	key := u.r.Call("POST", "/users/"+u.id+"/apikeys", `{"name":"ed","ed25519PublicKey":"`+
		base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))+`"}`)["publicKey"].(string)
	with := func(private ed25519.PrivateKey) func(string) string {
		return func(text string) string {
			return base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(text)))
		}
	}
	unknown := u.r.withKey("", u.APIKey, strings.Repeat("B", 64))
	return map[string]*signer{
		"HMAC":    {user: u, sign: u.sign, other: unknown.sign},
		"Ed25519": {user: u.r.withKey(u.id, key, ""), sign: with(private), other: with(stranger)},
	}
}

// matrix returns a user with both schemes on an exchange whose weights have no limit.
func matrix(t *testing.T) (*rig, map[string]*signer) {
	r := newRig(t, func(o *exchange.Options) { o.Public.Rate.Allow = []string{"127.0.0.0/8"} })
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5,"minQuoteAmount":5}`)
	return r, r.user("anna").signers()
}

// everything returns all that a request could change.
func (r *rig) everything() string {
	return r.Hash() + hex.EncodeToString(r.Accounts().AppendSnapshot(nil))
}

// Every route and every method that takes a signature refuses every broken one, of either scheme, with the other
// exchange's code, and nothing happens; the sound request is carried out.
func TestBrokenSignaturesAreRefusedOnEverySignedRoute(t *testing.T) {
	r, signers := matrix(t)
	routes, requests := binance.SignedRoutes(), 0
	for scheme, s := range signers {
		listenKey := func() string {
			var k struct{ ListenKey string }
			_, body := s.send("POST", "/api/v3/userDataStream")
			if err := json.Unmarshal([]byte(body), &k); err != nil {
				t.Fatal(body)
			}
			return k.ListenKey
		}
		socket := r.socket("/ws-api/v3?returnRateLimits=false")
		send := func(route binance.SignedRoute, a *attempt) (int, string) {
			requests++
			if a.api {
				text := socket.ask(a.message(route.API))
				var got apiAnswer
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Fatal(text)
				}
				_, detail, _ := strings.Cut(text, `"error":`)
				return got.Status, detail
			}
			u := *s.user
			u.Client = &gobinance.Client{APIKey: a.key}
			return u.send(route.Method, route.Path+"?"+a.query())
		}
		for _, route := range routes {
			name := route.Method + " " + route.Path
			if route.Path == "" {
				name = route.API
			}
			params := s.soundParams(name, listenKey())
			before := r.everything()
			for _, api := range []bool{false, true} {
				if api && route.API == "" || !api && route.Path == "" {
					continue
				}
				for _, v := range s.variants() {
					if v.only == "http" && api || route.Keyed && v.name == "no signature" {
						continue
					}
					a := s.attempt(params, api)
					if v.before != nil {
						v.before(a)
					}
					if s.finish(a); v.after != nil {
						v.after(a)
					}
					status := v.status
					if status == 0 {
						status = 400
					}
					want := fmt.Sprintf(`{"code":%d,"msg":"`, v.code)
					if got, body := send(route, a); got != status || !strings.HasPrefix(body, want) {
						t.Errorf("%s, %s, %s, API %t: %d %s, want %d %s", scheme, name, v.name, api, got, body, status, want)
					}
				}
			}
			if r.everything() != before {
				t.Errorf("%s, %s: a refused request changed something", scheme, name)
			}
			if listenKey() == "" {
				t.Error("the listen key is gone")
			}
			for _, api := range []bool{true, false} {
				if api && route.API == "" || !api && route.Path == "" || api && name == "session.logon" && scheme == "HMAC" {
					continue
				}
				a := s.finish(s.attempt(s.soundParams(name, listenKey()), api))
				if status, body := send(route, a); status != 200 {
					t.Errorf("%s, %s, API %t: %d %s, want 200", scheme, name, api, status, body)
				}
				if name == "session.logon" { // the other methods are asked without a session
					socket = r.socket("/ws-api/v3?returnRateLimits=false")
				}
			}
		}
	}
	if len(routes) < 20 {
		t.Errorf("%d routes", len(routes))
	}
	t.Logf("%d routes and methods, %d requests", len(routes), requests)
}

// A change is refused the second time however its signature is spelled.
func TestAnotherSpellingOfASignatureIsARepeat(t *testing.T) {
	_, signers := matrix(t)
	for scheme, s := range signers {
		a := s.finish(s.attempt(s.soundParams("POST /api/v3/order", ""), false))
		sound := a.signature[0]
		for i, spelling := range []string{
			sound, sound, strings.ToUpper(sound), strings.ToUpper(sound[:40]) + sound[40:],
			sound + "\n", sound[:30] + "\r" + sound[30:],
		} {
			a.signature = []string{spelling}
			status, body := s.send("POST", "/api/v3/order?"+a.query())
			if i == 0 && status != 200 || i > 0 && (status != 400 || !strings.HasPrefix(body, `{"code":-1022,`)) {
				t.Errorf("%s, spelling %d: %d %s", scheme, i, status, body)
			}
		}
		if _, body := s.send("GET", "/api/v3/openOrders?"+s.finish(s.attempt(nil, false)).query()); strings.Count(body,
			`"orderId"`) != 1 {
			t.Errorf("%s: %s", scheme, body)
		}
		a = s.finish(s.attempt([][2]string{{"symbol", "BTCUSDT"}}, false))
		if status, body := s.send("DELETE", "/api/v3/openOrders?"+a.query()); status != 200 {
			t.Errorf("%s: %d %s", scheme, status, body)
		}
	}
	s := signers["HMAC"] // the other exchange takes capital digits
	a := s.finish(s.attempt(nil, false))
	a.signature[0] = strings.ToUpper(a.signature[0])
	if status, body := s.send("GET", "/api/v3/account?"+a.query()); status != 200 {
		t.Errorf("capital digits: %d %s", status, body)
	}
}
