package server_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tickhive/server/web"
)

func TestAccountRoutesAreTheDescribedOnes(t *testing.T) {
	h := newHouse(t)
	sameRoutes(t, h.srv.Routes(), web.PartMarket, web.PartAccounts)
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
	h, a, _ := traded(t)
	readOnly := h.in("POST", "/users/"+a.id+"/apikeys", `{"name":"ro","canTrade":false}`)
	reader := &keys{h, a.id, readOnly["publicKey"].(string), readOnly["privateKey"].(string)}
	for _, r := range signedRoutes(a.id) {
		what := r[0] + " " + r[1]
		h.wants(what, h.send(h.public, r[0], r[1], r[2], nil), 401, "UNAUTHORIZED", "API-PublicKey")
		got := reader.call(r[0], r[1], r[2])
		if r[0] == "GET" {
			if got.status != 200 {
				t.Errorf("%s with a reading key: %d %s", what, got.status, got.body)
			}
		} else {
			h.wants(what+" with a reading key", got, 403, "FORBIDDEN", "")
		}
		got = a.call(r[0], r[1], r[2])
		if got.status != 200 {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
		if got.header.Get("Cache-Control") != "no-store" || got.header.Get("ETag") != "" || got.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v", what, got.header)
		}
		if r[0] == "GET" {
			if head := a.call("HEAD", r[1], ""); head.status != 200 || head.body != "" {
				t.Errorf("HEAD %s: %d %q", r[1], head.status, head.body)
			}
			if strings.Contains(got.body, "decimals") {
				t.Errorf("%s: %s", what, got.body)
			}
		}
	}
}

func TestBodiesAreTakenUnderTheFourMediaTypes(t *testing.T) {
	h, a, _ := traded(t)
	amb := h.user(`"isAmbassador":true`)
	for _, kind := range []string{"application/json", "application/json-patch+json", "text/json", "application/vnd.x+json", "application/json; charset=utf-8", "Application/JSON"} {
		for _, r := range [][2]string{
			{"/api/apikeys", `{"name":"k"}`},
			{"/api/affiliate/ambassadors/links", `{"discountPercent":5}`},
			{"/api/orders", `{"side":"sell","currencyPairCode":"BTC_USDT","amount":"0.001","price":500}`},
		} {
			k := amb
			if r[0] == "/api/orders" {
				k = a
			}
			if got := k.call("POST", r[0], r[1], "Content-Type", kind); got.status != 200 {
				t.Errorf("POST %s as %s: %d %s", r[0], kind, got.status, got.body)
			}
		}
	}
	for _, route := range []string{"/api/apikeys", "/api/affiliate/inviters/my", "/api/affiliate/ambassadors/links", "/api/orders"} {
		for _, kind := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded", "application/jsonx", "application/+json"} {
			h.wants(route, a.call("POST", route, `{}`, "Content-Type", kind), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
		}
		h.wants(route, a.call("POST", route, `{}`, "Content-Encoding", "gzip"), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
		// The server checks the media type before the credentials.
		h.wants(route, h.send(h.public, "POST", route, "{}", http.Header{"Content-Type": {"text/plain"}}), 415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type")
		for _, body := range []string{"", "[]", "{", `{"x":1}`, `{} {}`} {
			if got := a.call("POST", route, body); got.status != 400 {
				t.Errorf("POST %s %q: %d %s", route, body, got.status, got.body)
			}
		}
		if got := a.sendLarge(route, `{"x":"`+strings.Repeat("y", 64<<10)+`"}`); got.status != 413 {
			t.Errorf("POST %s with a large body: %d", route, got.status)
		}
	}
}

func TestAPIKeysLiveAndDie(t *testing.T) {
	h, a, b := traded(t)
	made := parseObject(t, a.ok("POST", "/api/apikeys", `{"name":"bot","canTrade":true,"canWithdraw":true,"ipWhitelist":["192.0.2.0/24","2001:db8::1"],"expiresAt":"2026-01-01T03:00:00+02:00"}`).body)
	if got := keysOf(made); got != "canTrade canWithdraw dateCreated expiresAt ipWhitelist isActive lastUsedAt name privateKey publicKey" {
		t.Errorf("members: %s", got)
	}
	if made["expiresAt"] != "2026-01-01T01:00:00.000Z" || made["dateCreated"] != "2026-01-01T00:00:00.000Z" || made["lastUsedAt"] != nil || made["isActive"] != true {
		t.Errorf("%v", made)
	}
	if len(made["publicKey"].(string)) != 38 || len(made["privateKey"].(string)) != 64 {
		t.Errorf("lengths: %v", made)
	}
	k := &keys{h, a.id, made["publicKey"].(string), made["privateKey"].(string)}
	k.ok("GET", "/api/apikeys", "")
	var list []map[string]any
	parse(t, a.ok("GET", "/api/apikeys", "").body, &list)
	if len(list) != 2 {
		t.Fatalf("%d keys", len(list))
	}
	for _, item := range list {
		if item["privateKey"] != nil || item["lastUsedAt"] != "2026-01-01T00:00:00.000Z" {
			t.Errorf("%v", item)
		}
	}
	// Another user's and an unknown key: 404, and nothing happens.
	h.wants("a foreign key", b.call("DELETE", "/api/apikeys/"+k.public, ""), 404, "NOT_FOUND", "publicKey")
	h.wants("an unknown key", b.call("DELETE", "/api/apikeys/nope", ""), 404, "NOT_FOUND", "publicKey")
	k.ok("GET", "/api/apikeys", "")
	// A wrong address: 403.
	other := clientOf(dialer(h, "198.51.100.7"))
	h.wants("another address", h.send(other, "GET", "/api/apikeys", "", k.sign("GET", "/api/apikeys", "")), 403, "FORBIDDEN", "")
	other.CloseIdleConnections()
	// Expiry: the bound itself is too late.
	h.clk.Set(startNs + 3600*secondNs - 1)
	k.ok("GET", "/api/apikeys", "")
	h.clk.Set(startNs + 3600*secondNs)
	h.wants("an expired key", k.call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-PublicKey")
	parse(t, a.ok("GET", "/api/apikeys", "").body, &list)
	if i := slices.IndexFunc(list, func(m map[string]any) bool { return m["publicKey"] == k.public }); i < 0 || list[i]["isActive"] != false {
		t.Errorf("%v", list)
	}
	if got := a.ok("DELETE", "/api/apikeys/"+k.public, ""); got.body != "{}" {
		t.Errorf("%s", got.body)
	}
	// A deleted key is invalid for the next request, also for its owner's.
	second := parseObject(t, a.ok("POST", "/api/apikeys", `{"name":"second","canTrade":true}`).body)
	s := &keys{h, a.id, second["publicKey"].(string), second["privateKey"].(string)}
	s.ok("DELETE", "/api/apikeys/"+s.public, "")
	h.wants("a deleted key", s.call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-Signature")
}

func TestAPIKeyRequestsThatAreRefused(t *testing.T) {
	h, a, _ := traded(t)
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
		h.wants(body, a.call("POST", "/api/apikeys", body), 400, "INVALID_PARAM", field)
	}
	for i := range 29 {
		a.ok("POST", "/api/apikeys", fmt.Sprintf(`{"name":"k%d"}`, i))
	}
	h.wants("the 31st key", a.call("POST", "/api/apikeys", `{"name":"k"}`), 409, "CONFLICT", "")
}

func dialer(h *house, ip string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return h.dial(ip) }
}

func TestAvatars(t *testing.T) {
	h, a, _ := traded(t)
	get := func(target string, header http.Header) answer { return h.send(h.public, "GET", target, "", header) }
	var list []struct{ ID, URL string }
	got := get("/api/users/avatars", nil)
	parse(t, got.body, &list)
	if len(list) < 2 || got.header.Get("Cache-Control") != "public, max-age=1" || got.header.Get("ETag") == "" {
		t.Fatalf("%d avatars, %v", len(list), got.header)
	}
	if !slices.ContainsFunc(list, func(v struct{ ID, URL string }) bool { return v.ID == "simple" }) {
		t.Error("no avatar simple")
	}
	for _, v := range list {
		if v.URL != "/api/users/avatars/"+v.ID+".svg" {
			t.Errorf("url %s of %s", v.URL, v.ID)
		}
		one := parseObject(t, get("/api/users/avatars/"+v.ID, nil).body)
		if one["id"] != v.ID || one["url"] != v.URL {
			t.Errorf("%v", one)
		}
		pic := get(v.URL, nil)
		if pic.status != 200 || pic.header.Get("Content-Type") != "image/svg+xml" || pic.header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(pic.body, "<svg") {
			t.Errorf("%s: %d %v", v.URL, pic.status, pic.header)
		}
		if again := get(v.URL, http.Header{"If-None-Match": {pic.header.Get("ETag")}}); again.status != 304 {
			t.Errorf("%s again: %d", v.URL, again.status)
		}
	}
	for _, id := range []string{"nope", "simple.png", "nope.svg", ".svg.svg"} {
		if got := get("/api/users/avatars/"+id, nil); got.status != 404 {
			t.Errorf("%s: %d", id, got.status)
		}
	}
	if mine := a.ok("GET", "/api/users/avatars/my", "").body; mine != `{"avatarId":"simple","url":"/api/users/avatars/simple.svg"}` {
		t.Error(mine)
	}
	h.in("PATCH", "/users/"+a.id, fmt.Sprintf(`{"avatarId":%q}`, list[0].ID))
	if mine := parseObject(t, a.ok("GET", "/api/users/avatars/my", "").body); mine["avatarId"] != list[0].ID {
		t.Error(mine)
	}
	a.ok("GET", "/api/users/avatars", "") // with credentials it verifies and is private
	h.wants("a bad signature on a public route", h.send(h.public, "GET", "/api/users/avatars", "",
		http.Header{"API-PublicKey": {a.public}}), 401, "UNAUTHORIZED", "API-Timestamp")
}

func TestUserCommissionsCarryTheDiscounts(t *testing.T) {
	h, a, _ := traded(t)
	h.in("PATCH", "/users/"+a.id, `{"dealBidDiscountFraction":0.25,"dealAskDiscountFraction":"0.5"}`)
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
		parse(t, a.ok("GET", "/api/currencies/user/commissions", "").body, &out)
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
	parse(t, h.send(h.public, "GET", "/api/currencies/commissions", "", nil).body, &defaults)
	if len(defaults) != len(v.Commissions) {
		t.Errorf("%d records, %d by default", len(v.Commissions), len(defaults))
	}
	if got := percent(defaults, "3_BTC_USDT_") + percent(v.Commissions, "3_BTC_USDT_") + percent(v.Commissions, "4_BTC_USDT_"); got != "0.0020.00150.001" {
		t.Error(got)
	}
	if v.UserNoTradeCommissions || v.DealBidDiscountFraction != "0.25" || v.DealAskDiscountFraction != "0.5" {
		t.Errorf("%+v", v)
	}
	h.in("PATCH", "/users/"+a.id, `{"noTradeCommissions":true}`)
	if v = read(); !v.UserNoTradeCommissions || percent(v.Commissions, "4_BTC_USDT_") != "0.0" {
		t.Errorf("%+v", v)
	}
}
