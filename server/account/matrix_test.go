package account_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

// brokenSigned returns the variants of a signed request that no route may accept, by name. send
// signs with the changed parts and sends the rest as it was.
func brokenSigned(k *servertest.Keys, method, target, body string) map[string]http.Header {
	now := k.Exchange.Clock.NowNs() / 1_000_000
	signed := func(ts, nonce, method, target, body string) http.Header {
		return http.Header{
			"API-PublicKey": {k.Public}, "API-Timestamp": {ts}, "API-Nonce": {nonce},
			"API-Signature": {k.Signature(ts, nonce, method, target, body)},
		}
	}
	good := func(more ...string) http.Header {
		h := signed(fmt.Sprint(now), uuid.NewString(), method, target, body)
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = []string{more[i+1]}
		}
		return h
	}
	without := func(name string) http.Header {
		h := good()
		delete(h, name)
		return h
	}
	at := func(ms int64, more ...string) http.Header {
		h := signed(fmt.Sprint(ms), uuid.NewString(), method, target, body)
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = []string{more[i+1]}
		}
		return h
	}
	other := func(change func(k *servertest.Keys)) http.Header {
		c := *k
		change(&c)
		ts, nonce := fmt.Sprint(now), uuid.NewString()
		return http.Header{
			"API-PublicKey": {c.Public}, "API-Timestamp": {ts}, "API-Nonce": {nonce},
			"API-Signature": {c.Signature(ts, nonce, method, target, body)},
		}
	}
	nonced := func(nonce string) http.Header { return signed(fmt.Sprint(now), nonce, method, target, body) }
	exact := func(h http.Header, name string) string { return h[name][0] } // the program sends it in this case
	authentic := exact(good(), "API-Signature")
	return map[string]http.Header{
		"no header":              {},
		"the key alone":          {"API-PublicKey": {k.Public}},
		"no timestamp":           without("API-Timestamp"),
		"no nonce":               without("API-Nonce"),
		"no signature":           without("API-Signature"),
		"an empty signature":     good("API-Signature", ""),
		"capital hex":            good("API-Signature", "A"+strings.ToUpper(authentic[1:])),
		"half a signature":       good("API-Signature", authentic[:len(authentic)/2]),
		"a doubled signature":    good("API-Signature", authentic+authentic),
		"another's signature":    good("API-Signature", strings.Repeat("0", len(authentic))),
		"too old":                at(now - 5001),
		"too new":                at(now + 5001),
		"a timestamp in seconds": at(now / 1000),
		"a signed timestamp":     signed("+"+fmt.Sprint(now)[1:], uuid.NewString(), method, target, body),
		"no window":              good("API-RecvWindow", "0"),
		"a negative window":      good("API-RecvWindow", "-1"),
		"too wide a window":      at(now-70_000, "API-RecvWindow", "99999"),
		"another body":           signed(fmt.Sprint(now), uuid.NewString(), method, target, body+" "),
		"another method":         signed(fmt.Sprint(now), uuid.NewString(), "PUT", target, body),
		"another path":           signed(fmt.Sprint(now), uuid.NewString(), method, target+"x", body),
		"a longer query":         signed(fmt.Sprint(now), uuid.NewString(), method, target+"?a=1", body),
		"an unknown key":         other(func(k *servertest.Keys) { k.Public = strings.Repeat("A", 38) }),
		"another private key": other(func(k *servertest.Keys) {
			k.Private = strings.Repeat("B", 64)
			if k.Ed25519 != nil {
				k.Ed25519 = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
			}
		}),
		"HMAC with the empty key": other(func(k *servertest.Keys) { k.Ed25519, k.Private = nil, "" }),
		"a nonce with a space":    nonced("a b"),
		"a long nonce":            nonced(strings.Repeat("a", 65)),
		"no nonce text":           nonced(""),
		"another nonce":           good("API-Nonce", "zzz"),
	}
}

// signedTarget fills the parameters of a route's path with values that exist.
func signedTarget(r *edge.Route, k *servertest.Keys, order string) string {
	if strings.HasPrefix(r.Path, "/api/orders") {
		return strings.NewReplacer("{id}", order, "{orderId}", order, "{currencyPairCode}", "BTC_USDT",
			"{clientOrderId}", "c-1", "{listId}", order).Replace(r.Path)
	}
	return strings.NewReplacer("{publicKey}", k.Public, "{tokenId}", "10001", "{inviter}", k.ID, "{id}", k.ID,
		"{orderId}", order).Replace(r.Path)
}

// Every route of the table that needs credentials refuses every broken variant, of either scheme,
// with 401, and nothing happens.
func TestBrokenSignaturesAre401OnEverySignedRoute(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t, func(o *exchange.Options) {
		o.Rate.Allow = []string{"192.0.2.0/24"}
	})
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = 1
	private := ed25519.NewKeyFromSeed(seed)
	public := base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	made := h.MustInternal("POST", "/users/"+a.ID+"/apikeys", `{"name":"ed","ed25519PublicKey":"`+public+`"}`)
	ed := &servertest.Keys{Exchange: h, ID: a.ID, Public: made["publicKey"].(string), Ed25519: private}
	order := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`)
	state := func() (text string) {
		h.Owned(func() { text = hex.EncodeToString(h.State.AppendSnapshot(nil)) })
		return text
	}
	before := state()
	routes, requests := 0, 0
	for _, r := range h.Running.Public().Routes() {
		if r.Auth != edge.AuthRequired {
			continue
		}
		routes++
		for scheme, k := range map[string]*servertest.Keys{"HMAC": a, "Ed25519": ed} {
			target, body := signedTarget(r, k, order), ""
			if strings.Contains(target, "{") {
				t.Fatalf("%s has a parameter that this test does not know", target)
			}
			if r.Body == edge.BodyJSON {
				body = `{"name":"x"}`
			}
			for name, header := range brokenSigned(k, r.Method, target, body) {
				requests++
				if body != "" {
					header["Content-Type"] = []string{"application/json"}
				}
				got := h.Send(h.Public, r.Method, target, body, header)
				if got.Status != 401 || got.Header.Get("Cache-Control") != "no-store" ||
					!strings.Contains(got.Body, `"UNAUTHORIZED"`) {
					t.Errorf("%s, %s: %s %s: %d %s", scheme, name, r.Method, target, got.Status, got.Body)
				}
			}
		}
	}
	if state() != before {
		t.Error("a refused request changed the accounts")
	}
	if a.OK("GET", "/api/apikeys", ""); routes < 25 {
		t.Errorf("%d signed routes", routes)
	}
	ed.OK("GET", "/api/apikeys", "")
	t.Logf("%d routes, %d requests", routes, requests)
}
