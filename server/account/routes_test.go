package account_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

func TestAccountRoutesAreTheDescribedOnes(t *testing.T) {
	h := servertest.NewExchange(t)
	servertest.Undescribed(t, h.Running.Public().Routes())
}

// signedRoutes holds all routes that need credentials, each with a request that succeeds.
func signedRoutes(id string) [][3]string {
	const period = "?from=2026-01-01T00:00:00Z&to=2026-01-02T02:00:00%2B02:00"
	return [][3]string{
		{"GET", "/api/apikeys", ""},
		{"POST", "/api/apikeys", `{"name":"k"}`},
		{"GET", "/api/users/avatars/my", ""},
		{"GET", "/api/currencies/user/commissions", ""},
		{"GET", "/api/affiliate/inviters/search?query=a", ""},
		{"GET", "/api/affiliate/inviters/my", ""},
		{"GET", "/api/affiliate/inviters/" + id, ""},
		{"GET", "/api/affiliate/invite-code", ""},
		{"GET", "/api/affiliate/ambassadors/info", ""},
		{"GET", "/api/affiliate/" + id + "/user-info", ""},
		{"GET", "/api/affiliate/accruals", ""},
		{"GET", "/api/affiliate/accruals/summary", ""},
		{"GET", "/api/affiliate/accruals/filters", ""},
		{"GET", "/api/affiliate/accrual-groups", ""},
		{"GET", "/api/affiliate/accruals/breakdown" + period, ""},
		{"GET", "/api/affiliate/accruals/explain" + period, ""},
		{"GET", "/api/affiliate/total-accruals", ""},
		{"POST", "/api/orders", `{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":"1.5"}`},
		{"DELETE", "/api/orders?currencyPairCode=BTC_USDT", ""},
		{"GET", "/api/user/orders", ""},
		{"GET", "/api/user/deals", ""},
		{"GET", "/api/wallets/balances", ""},
	}
}

func TestSignedRoutesNeedCredentialsAndAnswerPrivately(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	readOnly := h.MustInternal("POST", "/users/"+a.ID+"/apikeys", `{"name":"ro","canTrade":false}`)
	reader := &servertest.Keys{
		Exchange: h, ID: a.ID, Public: readOnly["publicKey"].(string),
		Private: readOnly["privateKey"].(string),
	}
	for _, r := range signedRoutes(a.ID) {
		what := r[0] + " " + r[1]
		h.CheckRefusal(what, h.Send(h.Public, r[0], r[1], r[2], nil), 401, "UNAUTHORIZED", "API-PublicKey")
		got := reader.Call(r[0], r[1], r[2])
		if r[0] == "GET" {
			if got.Status != 200 {
				t.Errorf("%s with a reading key: %d %s", what, got.Status, got.Body)
			}
		} else {
			h.CheckRefusal(what+" with a reading key", got, 403, "FORBIDDEN", "")
		}
		got = a.Call(r[0], r[1], r[2])
		if got.Status != 200 {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("ETag") != "" ||
			got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v", what, got.Header)
		}
		if r[0] == "GET" {
			if head := a.Call("HEAD", r[1], ""); head.Status != 200 || head.Body != "" {
				t.Errorf("HEAD %s: %d %q", r[1], head.Status, head.Body)
			}
			if strings.Contains(got.Body, "decimals") {
				t.Errorf("%s: %s", what, got.Body)
			}
		}
	}
}

func TestBodiesAreTakenUnderTheFourMediaTypes(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	amb := h.User(`"isAmbassador":true`)
	for _, kind := range []string{
		"application/json", "application/json-patch+json", "text/json",
		"application/vnd.x+json", "application/json; charset=utf-8", "Application/JSON",
	} {
		for _, r := range [][2]string{
			{"/api/apikeys", `{"name":"k"}`},
			{"/api/affiliate/ambassadors/links", `{"discountPercent":5}`},
			{"/api/orders", `{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.001","price":500}`},
		} {
			k := amb
			if r[0] == "/api/orders" {
				k = a
			}
			if got := k.Call("POST", r[0], r[1], "Content-Type", kind); got.Status != 200 {
				t.Errorf("POST %s as %s: %d %s", r[0], kind, got.Status, got.Body)
			}
		}
	}
	for _, route := range []string{
		"/api/apikeys", "/api/affiliate/inviters/my",
		"/api/affiliate/ambassadors/links", "/api/orders",
	} {
		for _, kind := range []string{
			"text/plain", "application/xml", "application/x-www-form-urlencoded",
			"application/jsonx", "application/+json",
		} {
			h.CheckRefusal(route, a.Call("POST", route, `{}`, "Content-Type", kind), 415,
				"UNSUPPORTED_MEDIA_TYPE", "Content-Type")
		}
		h.CheckRefusal(route, a.Call("POST", route, `{}`, "Content-Encoding", "gzip"), 415,
			"UNSUPPORTED_MEDIA_TYPE", "Content-Type")
		// The server checks the media type before the credentials.
		h.CheckRefusal(route, h.Send(h.Public, "POST", route, "{}", http.Header{"Content-Type": {"text/plain"}}), 415,
			"UNSUPPORTED_MEDIA_TYPE", "Content-Type")
		for _, body := range []string{"", "[]", "{", `{"x":1}`, `{} {}`} {
			if got := a.Call("POST", route, body); got.Status != 400 {
				t.Errorf("POST %s %q: %d %s", route, body, got.Status, got.Body)
			}
		}
		if got := a.SendLarge(route, `{"x":"`+strings.Repeat("y", 64<<10)+`"}`); got.Status != 413 {
			t.Errorf("POST %s with a large body: %d", route, got.Status)
		}
	}
}

func TestAPIKeysLiveAndDie(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	made := servertest.ParseObject(t,
		operatorKey(a, `{"name":"top","canWithdraw":true,"ipWhitelist":["192.0.2.0/24","2001:db8::/32"]}`).
			OK("POST", "/api/apikeys", `{"name":"bot","canTrade":true,"canWithdraw":true,"ipWhitelist":`+
				`["192.0.2.0/24","2001:db8::1"],"expiresAt":"2026-01-01T03:00:00+02:00"}`).Body)
	if got := servertest.KeysOf(made); got != "canManageKeys canTrade canWithdraw createdBy dateCreated "+
		"ed25519PublicKey expiresAt ipWhitelist isActive lastUsedAt name privateKey publicKey rsaPublicKey" {
		t.Errorf("members: %s", got)
	}
	if made["expiresAt"] != "2026-01-01T01:00:00.000Z" || made["dateCreated"] != "2026-01-01T00:00:00.000Z" ||
		made["lastUsedAt"] != nil || made["isActive"] != true {
		t.Errorf("%v", made)
	}
	if len(made["publicKey"].(string)) != 38 || len(made["privateKey"].(string)) != 64 {
		t.Errorf("lengths: %v", made)
	}
	k := &servertest.Keys{
		Exchange: h, ID: a.ID, Public: made["publicKey"].(string),
		Private: made["privateKey"].(string),
	}
	k.OK("GET", "/api/apikeys", "")
	var list []map[string]any
	servertest.Parse(t, a.OK("GET", "/api/apikeys", "").Body, &list)
	if len(list) != 3 {
		t.Fatalf("%d keys", len(list))
	}
	for _, item := range list {
		if item["privateKey"] != nil || item["lastUsedAt"] != "2026-01-01T00:00:00.000Z" {
			t.Errorf("%v", item)
		}
	}
	// Another user's and an unknown key: 404, and nothing happens.
	h.CheckRefusal("a foreign key", b.Call("DELETE", "/api/apikeys/"+k.Public, ""), 404, "NOT_FOUND", "publicKey")
	h.CheckRefusal("an unknown key", b.Call("DELETE", "/api/apikeys/nope", ""), 404, "NOT_FOUND", "publicKey")
	k.OK("GET", "/api/apikeys", "")
	// A wrong address: 403.
	other := servertest.ClientOf(dialer(h, "198.51.100.7"))
	h.CheckRefusal("another address", h.Send(other, "GET", "/api/apikeys", "", k.Sign("GET", "/api/apikeys", "")), 403,
		"FORBIDDEN", "")
	other.CloseIdleConnections()
	// Expiry: the bound itself is too late.
	h.Clock.Set(servertest.StartNs + 3600*servertest.SecondNs - 1)
	k.OK("GET", "/api/apikeys", "")
	h.Clock.Set(servertest.StartNs + 3600*servertest.SecondNs)
	h.CheckRefusal("an expired key", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-PublicKey")
	servertest.Parse(t, a.OK("GET", "/api/apikeys", "").Body, &list)
	if i := slices.IndexFunc(list, func(m map[string]any) bool { return m["publicKey"] == k.Public }); i < 0 ||
		list[i]["isActive"] != false {
		t.Errorf("%v", list)
	}
	if got := a.OK("DELETE", "/api/apikeys/"+k.Public, ""); got.Body != "{}" {
		t.Errorf("%s", got.Body)
	}
	// A deleted key is invalid for the next request, also for its owner's.
	second := servertest.ParseObject(t, a.OK("POST", "/api/apikeys", `{"name":"second"}`).Body)
	s := &servertest.Keys{
		Exchange: h, ID: a.ID, Public: second["publicKey"].(string),
		Private: second["privateKey"].(string),
	}
	s.OK("DELETE", "/api/apikeys/"+s.Public, "")
	h.CheckRefusal("a deleted key", s.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-Signature")
}

func TestAPIKeyRequestsThatAreRefused(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	for body, field := range map[string]string{
		`{}`: "name", `{"name":""}`: "name", `{"name":null}`: "name", `{"name":5}`: "name",
		`{"name":"` + strings.Repeat("x", 65) + `"}`:                                       "name",
		`{"name":"a\u0001b"}`:                                                              "name",
		`{"name":"x","canTrade":"yes"}`:                                                    "canTrade",
		`{"name":"x","canWithdraw":true}`:                                                  "canWithdraw",
		`{"name":"x","canWithdraw":true,"ipWhitelist":[]}`:                                 "canWithdraw",
		`{"name":"x","ipWhitelist":["nope"]}`:                                              "ipWhitelist[0]",
		`{"name":"x","ipWhitelist":["10.0.0.1","10.0.0.0/33"]}`:                            "ipWhitelist[1]",
		`{"name":"x","ipWhitelist":["",5]}`:                                                "ipWhitelist[1]",
		`{"name":"x","ipWhitelist":["10.0.0.1","` + strings.Repeat("1", 65) + `"]}`:        "ipWhitelist[1]",
		`{"name":"x","expiresAt":"tomorrow","ipWhitelist":[5]}`:                            "ipWhitelist[0]",
		`{"name":"x","ipWhitelist":"10.0.0.1"}`:                                            "ipWhitelist",
		`{"name":"x","ipWhitelist":[` + strings.Repeat(`"10.0.0.1",`, 20) + `"10.0.0.1"]}`: "ipWhitelist",
		`{"name":"x","expiresAt":"2025-12-31T23:59:59Z"}`:                                  "expiresAt",
		`{"name":"x","expiresAt":"tomorrow"}`:                                              "expiresAt",
		`{"name":"x","unknown":1}`:                                                         "unknown",
		`{"name":"x","name":"y"}`:                                                          "name",
	} {
		h.CheckRefusal(body, a.Call("POST", "/api/apikeys", body), 400, "INVALID_PARAM", field)
	}
	for i := range 29 {
		a.OK("POST", "/api/apikeys", fmt.Sprintf(`{"name":"k%d"}`, i))
	}
	h.CheckRefusal("the 31st key", a.Call("POST", "/api/apikeys", `{"name":"k"}`), 409, "CONFLICT", "")
}

func dialer(h *servertest.Exchange, ip string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return h.Dial(ip) }
}

func TestAvatars(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	get := func(target string, header http.Header) servertest.Answer {
		return h.Send(h.Public, "GET", target, "", header)
	}
	var list []struct{ ID, URL string }
	got := get("/api/users/avatars", nil)
	servertest.Parse(t, got.Body, &list)
	if len(list) < 2 || got.Header.Get("Cache-Control") != "public, max-age=1" || got.Header.Get("ETag") == "" {
		t.Fatalf("%d avatars, %v", len(list), got.Header)
	}
	if !slices.ContainsFunc(list, func(v struct{ ID, URL string }) bool { return v.ID == "simple" }) {
		t.Error("no avatar simple")
	}
	for _, v := range list {
		if v.URL != "/api/users/avatars/"+v.ID+".svg" {
			t.Errorf("url %s of %s", v.URL, v.ID)
		}
		one := servertest.ParseObject(t, get("/api/users/avatars/"+v.ID, nil).Body)
		if one["id"] != v.ID || one["url"] != v.URL {
			t.Errorf("%v", one)
		}
		pic := get(v.URL, nil)
		if pic.Status != 200 || pic.Header.Get("Content-Type") != "image/svg+xml" ||
			pic.Header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(pic.Body, "<svg") {
			t.Errorf("%s: %d %v", v.URL, pic.Status, pic.Header)
		}
		if again := get(v.URL, http.Header{"If-None-Match": {pic.Header.Get("ETag")}}); again.Status != 304 {
			t.Errorf("%s again: %d", v.URL, again.Status)
		}
	}
	for _, id := range []string{"nope", "simple.png", "nope.svg", ".svg.svg"} {
		if got := get("/api/users/avatars/"+id, nil); got.Status != 404 {
			t.Errorf("%s: %d", id, got.Status)
		}
	}
	if mine := a.OK("GET", "/api/users/avatars/my", "").Body; mine != `{"avatarId":"simple",`+
		`"url":"/api/users/avatars/simple.svg"}` {
		t.Error(mine)
	}
	h.MustInternal("PATCH", "/users/"+a.ID, fmt.Sprintf(`{"avatarId":%q}`, list[0].ID))
	if mine := servertest.ParseObject(t,
		a.OK("GET", "/api/users/avatars/my", "").Body); mine["avatarId"] != list[0].ID {
		t.Error(mine)
	}
	a.OK("GET", "/api/users/avatars", "") // with credentials it verifies and is private
	h.CheckRefusal("a bad signature on a public route", h.Send(h.Public, "GET", "/api/users/avatars", "",
		http.Header{"API-PublicKey": {a.Public}}), 401, "UNAUTHORIZED", "API-Timestamp")
}

func TestUserCommissionsCarryTheDiscounts(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	h.MustInternal("PATCH", "/users/"+a.ID, `{"dealBidDiscountFraction":0.25,"dealAskDiscountFraction":"0.5"}`)
	type record struct {
		HashCode string      `json:"hashCode"`
		Percent  json.Number `json:"percent"`
	}
	read := func() (out struct {
		Commissions             []record
		UserNoTradeCommissions  bool
		DealBidDiscountFraction json.Number
		DealAskDiscountFraction json.Number
	},
	) {
		servertest.Parse(t, a.OK("GET", "/api/currencies/user/commissions", "").Body, &out)
		return out
	}
	percent := func(list []record, hash string) string {
		for _, r := range list {
			if r.HashCode == hash {
				return r.Percent.String()
			}
		}
		return "missing"
	}
	v := read()
	var defaults []record
	servertest.Parse(t, h.Send(h.Public, "GET", "/api/currencies/commissions", "", nil).Body, &defaults)
	if len(defaults) != len(v.Commissions) {
		t.Errorf("%d records, %d by default", len(v.Commissions), len(defaults))
	}
	if got := percent(defaults, "3_BTC_USDT_") + percent(v.Commissions, "3_BTC_USDT_") +
		percent(v.Commissions, "4_BTC_USDT_"); got != "0.0020.00150.001" {
		t.Error(got)
	}
	if v.UserNoTradeCommissions || v.DealBidDiscountFraction != "0.25" || v.DealAskDiscountFraction != "0.5" {
		t.Errorf("%+v", v)
	}
	h.MustInternal("PATCH", "/users/"+a.ID, `{"noTradeCommissions":true}`)
	if v = read(); !v.UserNoTradeCommissions || percent(v.Commissions, "4_BTC_USDT_") != "0.0" {
		t.Errorf("%+v", v)
	}
}
