package account_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// makeKey makes a key and returns it with the whole answer.
func makeKey(by *servertest.Keys, body string) (*servertest.Keys, map[string]any) {
	by.Exchange.T.Helper()
	made := servertest.ParseObject(by.Exchange.T, by.OK("POST", "/api/apikeys", body).Body)
	return &servertest.Keys{
		Exchange: by.Exchange, ID: by.ID, Public: made["publicKey"].(string), Private: made["privateKey"].(string),
	}, made
}

// operatorKey makes a key of a user through the internal API.
func operatorKey(of *servertest.Keys, body string) *servertest.Keys {
	of.Exchange.T.Helper()
	made := of.Exchange.MustInternal("POST", "/users/"+of.ID+"/apikeys", body)
	if made["canManageKeys"] != true || made["createdBy"] != nil {
		of.Exchange.T.Errorf("a key of the operator: %v", made)
	}
	return &servertest.Keys{
		Exchange: of.Exchange, ID: of.ID, Public: made["publicKey"].(string), Private: made["privateKey"].(string),
	}
}

func TestAKeyIsNeverStrongerThanTheKeyThatMadeIt(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	bound := operatorKey(a, `{"name":"bound","ipWhitelist":["192.0.2.0/24"],"expiresAt":"2026-01-01T01:00:00Z"}`)
	for body, field := range map[string]string{
		`{"name":"x","canTrade":true,"expiresAt":"2026-01-01T01:00:00Z"}`:                                "ipWhitelist",
		`{"name":"x","ipWhitelist":["0.0.0.0/0"],"expiresAt":"2026-01-01T01:00:00Z"}`:                    "ipWhitelist",
		`{"name":"x","ipWhitelist":["192.0.2.1"]}`:                                                       "expiresAt",
		`{"name":"x","ipWhitelist":["192.0.2.1"],"expiresAt":"2026-01-01T01:00:01Z"}`:                    "expiresAt",
		`{"name":"x","canWithdraw":true,"ipWhitelist":["192.0.2.1"],"expiresAt":"2026-01-01T01:00:00Z"}`: "canWithdraw",
	} {
		h.CheckRefusal(body, bound.Call("POST", "/api/apikeys", body), 403, "FORBIDDEN", field)
	}
	for _, wide := range []string{`["0.0.0.0/0"]`, `["10.0.0.1","::/0"]`, `["0.0.0.0/1","128.0.0.0/1"]`} {
		body := `{"name":"x","canWithdraw":true,"ipWhitelist":` + wide + `}`
		got := h.CallInternal("POST", "/users/"+a.ID+"/apikeys", body)
		if got.Status != 400 {
			t.Errorf("the operator's key with canWithdraw for %s: %d %s", wide, got.Status, got.Body)
		}
	}
	child, made := makeKey(bound,
		`{"name":"x","canTrade":true,"ipWhitelist":["192.0.2.1"],"expiresAt":"2026-01-01T00:59:00Z"}`)
	if made["canManageKeys"] != false || made["createdBy"] != bound.Public {
		t.Errorf("a child key: %v", made)
	}
	for _, body := range []string{`{"name":"x"}`, `{"name":"x","canTrade":true}`} {
		h.CheckRefusal("a child makes a key", child.Call("POST", "/api/apikeys", body), 403, "FORBIDDEN",
			"canManageKeys")
	}
}

func TestKeysEndWithTheKeyThatMadeThem(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	parent := operatorKey(a, `{"name":"parent"}`)
	child, _ := makeKey(parent, `{"name":"child","canTrade":true,"canManageKeys":true}`)
	reader, _ := makeKey(parent, `{"name":"reader"}`)
	grandchild, _ := makeKey(child, `{"name":"grandchild","canTrade":true}`)
	// Without canManageKeys, or without canTrade, a key lists the keys and deletes only itself.
	for k, field := range map[*servertest.Keys]string{grandchild: "canManageKeys", reader: ""} {
		k.OK("GET", "/api/apikeys", "")
		for _, other := range []string{a.Public, child.Public} {
			h.CheckRefusal("deleting another", k.Call("DELETE", "/api/apikeys/"+other, ""), 403, "FORBIDDEN", field)
		}
	}
	h.CheckRefusal("what is no key", grandchild.Call("DELETE", "/api/apikeys/nope", ""), 404, "NOT_FOUND", "publicKey")
	again, _ := makeKey(child, `{"name":"again","canTrade":true}`)
	reader.OK("DELETE", "/api/apikeys/"+reader.Public, "")
	again.OK("DELETE", "/api/apikeys/"+again.Public, "")
	for _, k := range []*servertest.Keys{reader, again} {
		h.CheckRefusal("after it deleted itself", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED",
			"API-Signature")
	}
	child.OK("GET", "/api/apikeys", "")
	a.OK("DELETE", "/api/apikeys/"+parent.Public, "")
	for _, k := range []*servertest.Keys{parent, child, grandchild} {
		h.CheckRefusal("after the parent's end", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED",
			"API-Signature")
	}
	var left []map[string]any
	servertest.Parse(t, a.OK("GET", "/api/apikeys", "").Body, &left)
	if len(left) != 1 || left[0]["publicKey"] != a.Public || left[0]["createdBy"] != nil {
		t.Errorf("left: %v", left)
	}
}

// A key that another key made deletes itself and what is below it, nothing beside or above it. A key of the operator
// deletes every key of its user, and none of another one.
func TestAKeyDeletesOnlyWhatIsBelowIt(t *testing.T) {
	h, root, stranger := servertest.NewTradedExchange(t)
	const manages = `,"canTrade":true,"canManageKeys":true}`
	parent := operatorKey(root, `{"name":"parent"}`)
	child, _ := makeKey(parent, `{"name":"child"`+manages)
	sibling, _ := makeKey(parent, `{"name":"sibling"`+manages)
	nephew, _ := makeKey(sibling, `{"name":"nephew"}`)
	cousin, _ := makeKey(root, `{"name":"cousin"}`)
	grandchild, _ := makeKey(child, `{"name":"grandchild"`+manages)
	last, _ := makeKey(grandchild, `{"name":"last"}`)
	remove := func(by, k *servertest.Keys) servertest.Answer {
		return by.Call("DELETE", "/api/apikeys/"+k.Public, "")
	}
	for name, k := range map[string]*servertest.Keys{
		"root": root, "parent": parent, "sibling": sibling, "nephew": nephew, "cousin": cousin,
	} {
		h.CheckRefusal("a child deletes its "+name, remove(child, k), 403, "FORBIDDEN", "publicKey")
		h.CheckRefusal("a grandchild deletes its "+name, remove(grandchild, k), 403, "FORBIDDEN", "publicKey")
		k.OK("GET", "/api/apikeys", "")
	}
	h.CheckRefusal("a grandchild deletes its maker", remove(grandchild, child), 403, "FORBIDDEN", "publicKey")
	for by, other := range map[*servertest.Keys]*servertest.Keys{child: stranger, root: stranger, stranger: nephew} {
		h.CheckRefusal("another user's key", remove(by, other), 404, "NOT_FOUND", "publicKey")
		other.OK("GET", "/api/apikeys", "")
	}
	child.OK("DELETE", "/api/apikeys/"+last.Public, "") // below a key below it
	child.OK("DELETE", "/api/apikeys/"+grandchild.Public, "")
	child.OK("DELETE", "/api/apikeys/"+child.Public, "")
	parent.OK("DELETE", "/api/apikeys/"+cousin.Public, "")
	root.OK("DELETE", "/api/apikeys/"+parent.Public, "")
	for _, k := range []*servertest.Keys{last, grandchild, child, cousin, parent, sibling, nephew} {
		h.CheckRefusal("a deleted key", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-Signature")
	}
	root.OK("GET", "/api/apikeys", "")
}

// A key ends at the latest when the key that made it expires.
func TestAKeyDoesNotOutliveTheExpiryOfItsMaker(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	parent := operatorKey(a, `{"name":"parent","expiresAt":"2026-01-01T01:00:00Z"}`)
	const ends = `,"expiresAt":"2026-01-01T01:00:00Z"}`
	child, _ := makeKey(parent, `{"name":"child","canTrade":true,"canManageKeys":true`+ends)
	grandchild, _ := makeKey(child, `{"name":"grandchild"`+ends)
	family := []*servertest.Keys{parent, child, grandchild}
	for _, k := range family {
		k.OK("GET", "/api/apikeys", "")
	}
	h.MustInternal("POST", "/clock", `{"advance":"2h"}`)
	for _, k := range family {
		if got := k.Call("GET", "/api/apikeys", ""); got.Status != 401 {
			t.Errorf("after the expiry: %d %s", got.Status, got.Body)
		}
	}
	a.OK("GET", "/api/apikeys", "")
}

func TestRSAKeysSignForTheirUser(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	form := func(more string) string {
		return `{"name":"rsa","canTrade":true,"rsaPublicKey":` + strconv.Quote(text) + more + `}`
	}
	made := servertest.ParseObject(t, a.OK("POST", "/api/apikeys", form("")).Body)
	if _, shown := made["privateKey"]; shown || made["rsaPublicKey"] != text || made["ed25519PublicKey"] != nil {
		t.Errorf("the answer: %v", made)
	}
	k := &servertest.Keys{Exchange: h, ID: a.ID, Public: made["publicKey"].(string), RSA: private}
	k.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`)
	if got := a.Balance("USDT"); got != "990.0 10.0" {
		t.Errorf("after the order: %s", got)
	}
	for body, says := range map[string]string{
		`{"name":"x","rsaPublicKey":""}`:                                           "label PUBLIC KEY",
		`{"name":"x","rsaPublicKey":5}`:                                            "must be a string",
		`{"name":"x","rsaPublicKey":"` + text[:26] + `"}`:                          "one PEM block",
		form(`,"ed25519PublicKey":"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="`): "not both",
	} {
		got := a.Call("POST", "/api/apikeys", body)
		if h.CheckRefusal(body, got, 400, "INVALID_PARAM", "rsaPublicKey"); !strings.Contains(string(got.Body), says) {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
	h.CheckRefusal("in use", b.Call("POST", "/api/apikeys", form("")), 409, "CONFLICT", "rsaPublicKey")
	a.OK("DELETE", "/api/apikeys/"+k.Public, "")
	h.CheckRefusal("a deleted key", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-Signature")
}

func TestEd25519KeysSignForTheirUser(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(public)
	made := servertest.ParseObject(t, a.OK("POST", "/api/apikeys",
		`{"name":"ed","canTrade":true,"ed25519PublicKey":"`+text+`"}`).Body)
	if _, shown := made["privateKey"]; shown || made["ed25519PublicKey"] != text {
		t.Errorf("the answer: %v", made)
	}
	k := &servertest.Keys{Exchange: h, ID: a.ID, Public: made["publicKey"].(string), Ed25519: private}
	k.OK("GET", "/api/wallets/balances", "")
	k.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`)
	if got := a.Balance("USDT"); got != "990.0 10.0" {
		t.Errorf("after the order: %s", got)
	}
	for body, field := range map[string]string{
		`{"name":"x","ed25519PublicKey":""}`:                                             "ed25519PublicKey",
		`{"name":"x","ed25519PublicKey":5}`:                                              "ed25519PublicKey",
		`{"name":"x","ed25519PublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}`: "ed25519PublicKey",
	} {
		h.CheckRefusal(body, a.Call("POST", "/api/apikeys", body), 400, "INVALID_PARAM", field)
	}
	again := `{"name":"x","ed25519PublicKey":"` + text + `"}`
	h.CheckRefusal("in use", b.Call("POST", "/api/apikeys", again), 409, "CONFLICT", "ed25519PublicKey")
	captured := k.Sign("GET", "/api/apikeys", "")
	a.OK("DELETE", "/api/apikeys/"+k.Public, "")
	h.CheckRefusal("a deleted key", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-Signature")
	h.Clock.Set(h.Clock.NowNs() + 1_000_000)
	next := servertest.ParseObject(t, a.OK("POST", "/api/apikeys", again).Body)
	captured["API-PublicKey"] = []string{next["publicKey"].(string)}
	h.CheckRefusal("a request for the key before", h.Send(h.Public, "GET", "/api/apikeys", "", captured), 401,
		"UNAUTHORIZED", "API-Timestamp")
}
