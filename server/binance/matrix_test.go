package binance_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	gobinance "github.com/adshao/go-binance/v2"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/binance"
)

// signer is a user with one of the three schemes.
type signer struct {
	*user
	sign  func(text string) string
	other func(text string) string // the same scheme with another private key
}

// soundParams returns parameters with which a route does what it is for. No two calls share an order.
func (s *signer) soundParams(route, listenKey string) [][2]string {
	order := [][2]string{
		{"symbol", "BTCUSDT"},
		{"side", "BUY"},
		{"type", "LIMIT"},
		{"timeInForce", "GTC"},
		{"quantity", "1"},
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
	list := [][2]string{
		{"symbol", "BTCUSDT"},
		{"workingType", "LIMIT"},
		{"workingSide", "BUY"},
		{"workingTimeInForce", "GTC"},
		{"workingPrice", "90"},
		{"workingQuantity", "1"},
		{"pendingSide", "SELL"},
	}
	legs := func(above, below string) [][2]string {
		return [][2]string{
			{above + "Type", "LIMIT_MAKER"},
			{above + "Price", "120"},
			{below + "Type", "STOP_LOSS"},
			{below + "StopPrice", "80"},
		}
	}
	freshList := func() string {
		var l struct{ OrderListID int64 }
		pending := [][2]string{{"pendingType", "MARKET"}, {"pendingQuantity", "1"}}
		a := s.attempt(append(slices.Clone(list), pending...), false)
		_, body := s.send("POST", "/api/v3/orderList/oto?"+s.finish(a).query())
		if err := json.Unmarshal([]byte(body), &l); err != nil || l.OrderListID == 0 {
			s.r.t.Fatalf("%s %v", body, err)
		}
		return fmt.Sprint(l.OrderListID)
	}
	switch route {
	case "POST /api/v3/order", "POST /api/v3/order/test":
		return order
	case "POST /api/v3/order/oco":
		return append(symbol, [][2]string{
			{"side", "SELL"}, {"quantity", "1"}, {"price", "120"}, {"stopPrice", "80"},
		}...)
	case "POST /api/v3/orderList/oco":
		return append(legs("above", "below"), [][2]string{
			{"symbol", "BTCUSDT"}, {"side", "SELL"}, {"quantity", "1"},
		}...)
	case "POST /api/v3/orderList/oto":
		return append(list, [][2]string{{"pendingType", "MARKET"}, {"pendingQuantity", "1"}}...)
	case "POST /api/v3/orderList/opo":
		return append(list, [2]string{"pendingType", "MARKET"})
	case "POST /api/v3/orderList/otoco":
		return append(append(list, [2]string{"pendingQuantity", "1"}), legs("pendingAbove", "pendingBelow")...)
	case "POST /api/v3/orderList/opoco":
		return append(list, legs("pendingAbove", "pendingBelow")...)
	case "GET /api/v3/orderList":
		return [][2]string{{"orderListId", freshList()}}
	case "DELETE /api/v3/orderList":
		return append(symbol, [2]string{"orderListId", freshList()})
	case "GET /api/v3/openOrderList", "GET /api/v3/allOrderList":
		return nil
	case "GET /api/v3/myPreventedMatches", "GET /api/v3/order/amendments":
		return append(symbol, [2]string{"orderId", fresh()})
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
	case "GET /api/v3/openOrders", "GET /api/v3/allOrders", "GET /api/v3/myTrades", "GET /api/v3/myFilters",
		"GET /api/v3/myAllocations",
		"GET /api/v3/account/commission":
		return symbol
	case "GET /sapi/v1/accountSnapshot":
		return [][2]string{{"type", "SPOT"}}
	case "GET /api/v3/account", "POST /api/v3/userDataStream", "GET /sapi/v1/asset/tradeFee",
		"GET /sapi/v1/capital/config/getall", "GET /sapi/v1/margin/isolated/allPairs", "GET /sapi/v1/bnbBurn",
		"GET /api/v3/rateLimit/order", "GET /sapi/v1/account/apiRestrictions", "GET /sapi/v1/account/status",
		"GET /sapi/v1/account/apiTradingStatus", "GET /sapi/v1/account/info", "GET /sapi/v1/capital/deposit/hisrec",
		"GET /sapi/v1/capital/withdraw/history", "GET /sapi/v1/asset/assetDividend", "GET /sapi/v1/asset/dribblet",
		"GET /sapi/v1/asset/assetDetail", "POST /sapi/v3/asset/getUserAsset", "session.logon",
		"POST /sapi/v1/asset/get-funding-asset", "GET /sapi/v1/simple-earn/flexible/position",
		"GET /sapi/v1/simple-earn/locked/position",
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

// rsaKey makes an RSA key.
func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publicPEM returns the PEM of its public key.
func publicPEM(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
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
	ours, theirs := rsaKey(u.r.t), rsaKey(u.r.t)
	text, err := json.Marshal(publicPEM(u.r.t, ours))
	if err != nil {
		u.r.t.Fatal(err)
	}
	rsaName := u.r.Call("POST", "/users/"+u.id+"/apikeys", `{"name":"rsa","rsaPublicKey":`+string(text)+`}`)
	rsaSign := func(private *rsa.PrivateKey) func(string) string {
		return func(text string) string {
			digest := sha256.Sum256([]byte(text))
			signature, err := rsa.SignPKCS1v15(nil, private, crypto.SHA256, digest[:])
			if err != nil {
				u.r.t.Fatal(err)
			}
			return base64.StdEncoding.EncodeToString(signature)
		}
	}
	unknown := u.r.withKey("", u.APIKey, strings.Repeat("B", 64))
	return map[string]*signer{
		"HMAC":    {user: u, sign: u.sign, other: unknown.sign},
		"Ed25519": {user: u.r.withKey(u.id, key, ""), sign: with(private), other: with(stranger)},
		"RSA": {
			user: u.r.withKey(u.id, rsaName["publicKey"].(string), ""), sign: rsaSign(ours), other: rsaSign(theirs),
		},
	}
}

// matrix returns a user with both schemes on an exchange whose weights have no limit.
func matrix(t *testing.T, change ...func(*exchange.Options)) (*rig, map[string]*signer) {
	r := newRig(t, append(change, func(o *exchange.Options) { o.Rate.Allow = []string{"127.0.0.0/8"} })...)
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5,"minQuoteAmount":5}`)
	return r, r.user("anna").signers()
}

// everything returns all that a request could change.
func (r *rig) everything() string {
	var money []byte
	if err := r.Loop().Query(func() { money = r.Accounts().AppendSnapshot(nil) }); err != nil {
		r.t.Fatal(err)
	}
	return r.Hash() + hex.EncodeToString(money)
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
		send := func(route binance.Route, a *attempt) (int, string) {
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
						t.Errorf("%s, %s, %s, API %t: %d %s, want %d %s", scheme, name, v.name, api, got, body,
							status, want)
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
				if api && route.API == "" || !api && route.Path == "" ||
					name == "session.logon" && scheme != "Ed25519" {
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
	if len(routes) < 34 {
		t.Errorf("%d routes", len(routes))
	}
	t.Logf("%d routes and methods, %d requests", len(routes), requests)
}

// The digits of an HMAC signature may be capitals. Line ends in a signature are refused.
func TestSpellingsOfASignature(t *testing.T) {
	_, signers := matrix(t)
	for scheme, s := range signers {
		a := s.finish(s.attempt(s.soundParams("POST /api/v3/order", ""), false))
		sound := a.signature[0]
		for _, c := range []struct {
			spelling string
			good     bool
		}{
			{sound, true},
			{strings.ToUpper(sound), scheme == "HMAC"},
			{strings.ToUpper(sound[:40]) + sound[40:], scheme == "HMAC"},
			{sound + "\n", false},
			{sound[:30] + "\r" + sound[30:], false},
		} {
			a.signature = []string{c.spelling}
			status, body := s.send("POST", "/api/v3/order?"+a.query())
			if c.good && status != 200 || !c.good && (status != 400 || !strings.HasPrefix(body, `{"code":-1022,`)) {
				t.Errorf("%s, %q: %d %s", scheme, c.spelling, status, body)
			}
		}
		a = s.finish(s.attempt([][2]string{{"symbol", "BTCUSDT"}}, false))
		if status, body := s.send("DELETE", "/api/v3/openOrders?"+a.query()); status != 200 {
			t.Errorf("%s: %d %s", scheme, status, body)
		}
	}
}
