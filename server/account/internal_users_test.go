package account_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/servertest"
)

const userMembers = "address avatarId dateCreated dealAskDiscountFraction dealBidDiscountFraction halted id " +
	"inviteCode inviterId isAmbassador level name nativeBalance nickname noTradeCommissions publicId " +
	"secondLevelPercent secondName stakingLevel unlimited"

func TestUsersHaveDefaultsAndCanBeChanged(t *testing.T) {
	h := servertest.NewExchange(t)
	u := h.MustInternal("POST", "/users", "{}")
	if got := servertest.KeysOf(u); got != userMembers {
		t.Errorf("members %s", got)
	}
	for k, want := range map[string]string{
		"nickname": "user-1", "name": "<nil>", "secondName": "<nil>", "level": "0",
		"stakingLevel": "R0", "isAmbassador": "false",
		"secondLevelPercent": "0.0", "unlimited": "false", "nativeBalance": "0.0",
		"inviterId": "<nil>", "avatarId": "simple",
		"noTradeCommissions": "false", "dealBidDiscountFraction": "0.0", "dealAskDiscountFraction": "0.0",
		"dateCreated": "2026-01-01T00:00:00.000Z",
	} {
		if got := fmt.Sprint(u[k]); got != want {
			t.Errorf("%s is %s, want %s", k, got, want)
		}
	}
	again := servertest.NewExchange(t).MustInternal("POST", "/users", "{}")
	if again["id"] != u["id"] || again["inviteCode"] != u["inviteCode"] || again["address"] != u["address"] {
		t.Error("the first user is not the same in two runs")
	}
	full := h.MustInternal("POST", "/users",
		`{"nickname":"Ада","name":"Ada","secondName":"L","level":30,"stakingLevel":"R8","isAmbassador":true,`+
			`"secondLevelPercent":20,"unlimited":true,"nativeBalance":"12.5"}`)
	for k, want := range map[string]string{
		"nickname": "Ада", "name": "Ada", "secondName": "L", "level": "30",
		"stakingLevel": "R8", "isAmbassador": "true",
		"secondLevelPercent": "20.0", "unlimited": "true", "nativeBalance": "12.5",
	} {
		if got := fmt.Sprint(full[k]); got != want {
			t.Errorf("%s is %s, want %s", k, got, want)
		}
	}
	id := u["id"].(string)
	p := h.MustInternal("PATCH", "/users/"+id,
		`{"nickname":"eve","name":"E","level":20,"stakingLevel":"R2","noTradeCommissions":true,`+
			`"dealBidDiscountFraction":0.5,"avatarId":"simple"}`)
	if p["nickname"] != "eve" || p["name"] != "E" || p["noTradeCommissions"] != true || p["balances"] != nil {
		t.Errorf("%v", p)
	}
	if p = h.MustInternal("PATCH", "/users/"+id, `{"name":null}`); p["name"] != nil || p["nickname"] != "eve" {
		t.Errorf("%v", p)
	}
	g := h.MustInternal("GET", "/users/"+id, "")
	whole := strings.NewReplacer("avatarId ", "avatarId balances ", "nickname ", "nickname noTradeCommissions ",
		"noTradeCommissions ", "").Replace(userMembers)
	if got := servertest.KeysOf(g); got != whole {
		t.Errorf("members %s", got)
	}
}

func TestUserRequestsThatAreRefused(t *testing.T) {
	h := servertest.NewExchange(t)
	id := h.MustInternal("POST", "/users", `{"nickname":"taken"}`)["id"].(string)
	h.MustInternal("POST", "/users", "{}")
	for body, field := range map[string]string{
		`{"nickname":"x"}`: "nickname", `{"nickname":"` + strings.Repeat("x", 33) +
			`"}`: "nickname", `{"level":31}`: "level", `{"level":-1}`: "level",
		`{"level":1.5}`: "level", `{"stakingLevel":"R9"}`: "stakingLevel", `{"isAmbassador":1}`: "isAmbassador",
		`{"secondLevelPercent":21}`:  "secondLevelPercent",
		`{"secondLevelPercent":"x"}`: "secondLevelPercent", `{"x":1}`: "x",
	} {
		h.CheckRefusal("POST "+body, h.CallInternal("POST", "/users", body), 400, "INVALID_PARAM", field)
		h.CheckRefusal("PATCH "+body, h.CallInternal("PATCH", "/users/"+id, body), 400, "INVALID_PARAM", field)
	}
	for body, field := range map[string]string{
		`{"nativeBalance":-1}`: "nativeBalance", `{"avatarId":"simple"}`: "avatarId",
		`{"noTradeCommissions":true}`: "noTradeCommissions",
	} {
		h.CheckRefusal("POST "+body, h.CallInternal("POST", "/users", body), 400, "INVALID_PARAM", field)
	}
	for body, field := range map[string]string{
		`{"unlimited":true}`: "unlimited", `{"nativeBalance":1}`: "nativeBalance", `{"avatarId":"nope"}`: "avatarId",
		`{"dealBidDiscountFraction":0.51}`: "dealBidDiscountFraction",
		`{"dealAskDiscountFraction":-0.1}`: "dealAskDiscountFraction",
	} {
		h.CheckRefusal("PATCH "+body, h.CallInternal("PATCH", "/users/"+id, body), 400, "INVALID_PARAM", field)
	}
	h.CheckRefusal("a nickname twice", h.CallInternal("POST", "/users", `{"nickname":"taken"}`),
		409, "CONFLICT", "nickname")
	for _, id := range []string{
		"nope", "00000000-0000-0000-0000-000000000000",
		"11111111-1111-1111-1111-111111111111",
	} {
		h.CheckRefusal(id, h.CallInternal("GET", "/users/"+id, ""), 404, "NOT_FOUND", "id")
		h.CheckRefusal(id, h.CallInternal("PATCH", "/users/"+id, "{}"), 404, "NOT_FOUND", "id")
		h.CheckRefusal(id, h.CallInternal("POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":1}`), 404,
			"NOT_FOUND", "id")
		h.CheckRefusal(id, h.CallInternal("POST", "/users/"+id+"/apikeys", `{"name":"x"}`), 404, "NOT_FOUND", "id")
	}
	h.CheckRefusal("an order of an unknown account",
		h.CallInternal("POST", "/orders",
			`{"accountId":"11111111-1111-1111-1111-111111111111","currencyPairCode":"BTC_USDT","side":"buy",`+
				`"type":"limit","price":1,"amount":1}`),
		404, "NOT_FOUND", "currencyPairCode")
	h.MustInternal("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4}`)
	h.CheckRefusal("an order of an unknown account",
		h.CallInternal("POST", "/orders",
			`{"accountId":"11111111-1111-1111-1111-111111111111","currencyPairCode":"BTC_USDT","side":"buy",`+
				`"type":"limit","price":1,"amount":1}`),
		404, "NOT_FOUND", "accountId")
}

// usersOf returns the nicknames of a list of users and the cursor of the next page.
func usersOf(h *servertest.Exchange, query string) (names, next string) {
	h.T.Helper()
	a := h.CallInternal("GET", "/users"+query, "")
	var list []map[string]any
	servertest.Parse(h.T, a.Body, &list)
	for _, u := range list {
		if servertest.KeysOf(u) != userMembers {
			h.T.Errorf("members %s", servertest.KeysOf(u))
		}
		names += " " + u["nickname"].(string)
	}
	return strings.TrimSpace(names), a.Header.Get("X-Next-Cursor")
}

// The list of users is the newest first, and goes on where a page has ended while users come. A search finds users by
// what an operator has in hand.
func TestUsersAreListedAndFound(t *testing.T) {
	h := servertest.NewExchange(t)
	if names, next := usersOf(h, ""); names != "" || next != "" {
		t.Errorf("%q %q without a user", names, next)
	}
	ids := map[string]map[string]any{}
	for _, body := range []string{
		`{"nickname":"ann"}`, `{"nickname":"Bob","name":"Robert","secondName":"Oak"}`, `{"nickname":"cyd"}`,
		`{"nickname":"anton"}`,
	} {
		u := h.MustInternal("POST", "/users", body)
		ids[u["nickname"].(string)] = u
	}
	names, next := usersOf(h, "?pageSize=2")
	if names != "anton cyd" || next != "3" {
		t.Errorf("the first page: %q %q", names, next)
	}
	h.MustInternal("POST", "/users", `{"nickname":"dan"}`)
	if names, next = usersOf(h, "?pageSize=2&cursor="+next); names != "Bob ann" || next != "" {
		t.Errorf("the second page: %q %q", names, next)
	}
	bob := ids["Bob"]
	key := h.MustInternal("POST", "/users/"+bob["id"].(string)+"/apikeys", `{"name":"one"}`)["publicKey"].(string)
	for query, want := range map[string]string{
		"": "dan anton cyd Bob ann", "AN": "anton ann", "bo": "Bob", "rob": "Bob", "oak": "Bob", "zed": "", "on": "",
		strings.ToUpper(bob["id"].(string)[:9]): "Bob", bob["publicId"].(string): "Bob",
		bob["inviteCode"].(string): "Bob", key[:12]: "Bob", key: "Bob", key + "0": "", "exchange": "",
	} {
		if names, _ := usersOf(h, "?search="+query); names != want {
			t.Errorf("%q finds %q, want %q", query, names, want)
		}
	}
	for query, want := range map[string]string{
		"?pageNumber=2&pageSize=2": "cyd Bob", "?pageNumber=3&pageSize=2": "ann",
		"?search=an&pageSize=1&cursor=4": "ann", "?pageNumber=9223372036854775807&pageSize=100": "",
		"?cursor=9223372036854775807": "dan anton cyd Bob ann",
	} {
		if names, _ := usersOf(h, query); names != want {
			t.Errorf("%s: %q, want %q", query, names, want)
		}
	}
	for query, field := range map[string]string{
		"search=" + strings.Repeat("x", 65): "search", "pageSize=101": "pageSize", "pageNumber=0": "pageNumber",
		"cursor=x": "cursor", "cursor=2&pageNumber=1": "cursor",
	} {
		h.CheckRefusal(query, h.CallInternal("GET", "/users?"+query, ""), 400, "INVALID_PARAM", field)
	}
}

// An operator sees the keys of a user without their secrets, and ends one with the keys that it made.
func TestKeysOfAUserAreListedAndDeleted(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	parent := operatorKey(a, `{"name":"parent"}`)
	child, _ := makeKey(parent, `{"name":"child","canTrade":true}`)
	keys := func() (names string) {
		answer := h.CallInternal("GET", "/users/"+a.ID+"/apikeys", "")
		var list []map[string]any
		servertest.Parse(t, answer.Body, &list)
		for _, k := range list {
			names += " " + k["name"].(string)
		}
		if strings.Contains(answer.Body, parent.Private) || strings.Contains(answer.Body, "privateKey") {
			t.Error("a secret is in the list of keys")
		}
		return names
	}
	if got := keys(); !strings.Contains(got, " parent") || !strings.Contains(got, " child") {
		t.Errorf("keys%s", got)
	}
	path := "/users/" + a.ID + "/apikeys/" + parent.Public
	for _, other := range []string{"/users/" + b.ID + "/apikeys/" + parent.Public, "/users/" + a.ID + "/apikeys/nope"} {
		h.CheckRefusal(other, h.CallInternal("DELETE", other, ""), 404, "NOT_FOUND", "publicKey")
	}
	h.MustInternal("DELETE", path, "")
	h.CheckRefusal("twice", h.CallInternal("DELETE", path, ""), 404, "NOT_FOUND", "publicKey")
	if got := keys(); strings.Contains(got, "parent") || strings.Contains(got, "child") {
		t.Errorf("keys%s", got)
	}
	for _, k := range []*servertest.Keys{parent, child} {
		h.CheckRefusal("a deleted key", k.Call("GET", "/api/apikeys", ""), 401, "UNAUTHORIZED", "API-Signature")
	}
	if !strings.Contains(h.Log.String(), `event="key deleted" by=operator`) {
		t.Errorf("no line of the security log: %s", h.Log.String())
	}
	for _, id := range []string{"nope", "11111111-1111-1111-1111-111111111111"} {
		h.CheckRefusal(id, h.CallInternal("GET", "/users/"+id+"/apikeys", ""), 404, "NOT_FOUND", "id")
		h.CheckRefusal(id, h.CallInternal("DELETE", "/users/"+id+"/apikeys/"+a.Public, ""), 404, "NOT_FOUND", "id")
	}
}

// closedLedger holds NATIVE and refuses deposits of it.
type closedLedger struct{ account.Ledger }

func (closedLedger) HasCurrency(code string) bool           { return code == "NATIVE" }
func (closedLedger) Balances(string) []accounts.BalanceView { return nil }
func (closedLedger) Seq() uint64                            { return 0 }

func (closedLedger) Deposit(string, string, account.Money) (accounts.BalanceView, *refuse.Refusal) {
	return accounts.BalanceView{}, refuse.Later(5, "The ledger is closed; nothing was changed.")
}

// A user whose native balance is refused exists nevertheless. The answer reports this, names the
// user and explains how to deposit the balance.
func TestRefusalOfTheNativeBalanceNamesTheUserThatWasMade(t *testing.T) {
	h := servertest.NewExchange(t, func(o *exchange.Options) {
		o.Hooks.Account = func(a *account.Options) { a.Ledger = closedLedger{} }
	})
	a := h.CallInternal("POST", "/users", `{"nickname":"ada","nativeBalance":5}`)
	h.CheckRefusal("a closed ledger", a, 503, "UNAVAILABLE", "nativeBalance")
	made, ok := h.State.Shown().User(1)
	if !ok || made.Nickname != "ada" {
		t.Fatal("the user does not exist")
	}
	for _, part := range []string{made.ID, "POST /internal/v1/users/" + made.ID + "/deposits", "The ledger is closed"} {
		if !strings.Contains(a.Body, part) {
			t.Errorf("%q is not in %s", part, a.Body)
		}
	}
	if a = h.CallInternal("POST", "/users/"+made.ID+"/deposits",
		`{"currencyCode":"NATIVE","amount":5}`); strings.Contains(a.Body, "was made") {
		t.Errorf("a deposit: %s", a.Body)
	}
	h.MustInternal("GET", "/users/"+made.ID, "")
}

func TestDepositsWithdrawalsAndTotals(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	got := h.MustInternal("POST", "/users/"+a.ID+"/deposits", `{"currencyCode":"USDT","amount":"0.00000001"}`)
	if servertest.KeysOf(got) != "currencyCode free held total" ||
		fmt.Sprint(got["free"]) != "1000.00000001" {
		t.Errorf("%v", got)
	}
	got = h.MustInternal("POST", "/users/"+a.ID+"/withdrawals", `{"currencyCode":"USDT","amount":100}`)
	if servertest.KeysOf(got) != "commission currencyCode free held total" ||
		fmt.Sprint(got["commission"], " ", got["free"]) != "0.1 899.90000001" {
		t.Errorf("%v", got)
	}
	a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":800}`)
	h.CheckRefusal("held money", h.CallInternal("POST", "/users/"+a.ID+"/withdrawals",
		`{"currencyCode":"USDT","amount":100}`), 400, "INSUFFICIENT_FUNDS", "")
	b.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":800}`)
	for _, verb := range []string{"deposits", "withdrawals"} {
		for body, field := range map[string]string{
			`{}`: "currencyCode", `{"currencyCode":"usdt",` +
				`"amount":1}`: "currencyCode", `{"currencyCode":"USDT"}`: "amount",
			`{"currencyCode":"USDT","amount":0}`: "amount", `{"currencyCode":"USDT","amount":-1}`: "amount",
			`{"currencyCode":"USDT","amount":"1e5"}`: "amount", `{"currencyCode":"USDT","amount":1,"x":2}`: "x",
			`{"currencyCode":"USDT","amount":"0.0000000000000000001"}`: "amount",
			`{"currencyCode":"USDT","amount":"0.000000001"}`:           "amount", // USDT has 8 digits
		} {
			h.CheckRefusal(verb+body, h.CallInternal("POST", "/users/"+a.ID+"/"+verb, body),
				400, "INVALID_PARAM", field)
		}
		h.CheckRefusal(verb, h.CallInternal("POST", "/users/"+a.ID+"/"+verb, `{"currencyCode":"NONE","amount":1}`), 404,
			"NOT_FOUND", "currencyCode")
	}
	h.MustInternal("PATCH", "/assets/USDT", `{"canDeposit":false,"canWithdraw":false}`)
	h.CheckRefusal("closed", h.CallInternal("POST", "/users/"+a.ID+"/deposits", `{"currencyCode":"USDT","amount":1}`),
		409, "CONFLICT", "")
	h.CheckRefusal("closed", h.CallInternal("POST", "/users/"+a.ID+"/withdrawals",
		`{"currencyCode":"USDT","amount":1}`), 409, "CONFLICT", "")
	for _, code := range []string{"NATIVE", "USBI"} {
		h.Deposit(a, code, "7")
		if got := a.Balance(code); got != "7.0 0.0" {
			t.Errorf("%s: %s", code, got)
		}
	}
	var totals []map[string]any
	servertest.Parse(t, h.CallInternal("GET", "/totals", "").Body, &totals)
	if len(totals) != 4 || totals[3]["currencyCode"] != "USDT" {
		t.Fatalf("%v", totals)
	}
	// 800 traded: the taker, who sold, paid 1.6, the withdrawal 0.1. The maker paid in BTC.
	if got := fmt.Sprint(totals[3]["fees"], " ", totals[3]["deposited"], " ", totals[3]["withdrawn"], " ",
		totals[3]["held"]); got != "1.7 2000.00000001 100.0 0.0" {
		t.Errorf("%s", got)
	}
}

func TestProfitsAreSharedUpwards(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	code := servertest.ParseObject(t, a.OK("GET", "/api/affiliate/invite-code", "").Body)["inviteCode"].(string)
	b.OK("POST", "/api/affiliate/inviters/my", fmt.Sprintf(`{"inviteCode":%q}`, code))
	h.MustInternal("PATCH", "/users/"+a.ID, `{"stakingLevel":"R8"}`)
	for body, want := range map[string]string{
		`{"profitType":100,"currencyCode":"USDT","amount":10}`:               "2.0",
		`{"profitType":"CurrencyListing","currencyCode":"USDT","amount":10}`: "2.0",
		`{"profitType":50,"currencyCode":"USDT","amount":10}`:                "2.0",
		`{"profitType":2,"currencyCode":"USDT","amount":10}`:                 "2.0",
	} {
		got := h.MustInternal("POST", "/users/"+b.ID+"/profits", body)["accruals"].([]any)
		if len(got) != 1 {
			t.Fatalf("%s: %v", body, got)
		}
		one := got[0].(map[string]any)
		if servertest.KeysOf(one) != "amount currencyCode level userId" || one["userId"] != a.ID ||
			fmt.Sprint(one["amount"]) != want || fmt.Sprint(one["level"]) != "1" {
			t.Errorf("%s: %v", body, one)
		}
	}
	for body, field := range map[string]string{
		`{"currencyCode":"USDT","amount":1}`: "profitType", `{"profitType":3,"currencyCode":"USDT",` +
			`"amount":1}`: "profitType",
		`{"profitType":1,"currencyCode":"USDT","amount":1}`: "profitType", `{"profitType":"x","currencyCode":"USDT",` +
			`"amount":1}`: "profitType",
		`{"profitType":100,"amount":1}`: "currencyCode", `{"profitType":100,"currencyCode":"USDT",` +
			`"amount":0}`: "amount",
	} {
		h.CheckRefusal(body, h.CallInternal("POST", "/users/"+b.ID+"/profits", body), 400, "INVALID_PARAM", field)
	}
}

// A batch is applied in order: a later command may use money that an earlier one frees, and
// commands of one account may depend on each other.
func TestABatchSpendsWhatItFrees(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	first := a.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":9,"price":100}`)
	batch := fmt.Sprintf(`{"commands":[{"cancel":{"orderId":%s}},
		{"place":{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":9}},
		{"replace":{"orderId":2,"amount":5}},{"replace":{"orderId":2,"price":110}},
		{"place":{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":4}},
		{"place":{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":4}}]}`,
		first, a.ID, a.ID, a.ID)
	results := h.MustInternal("POST", "/orders/batch", batch)["results"].([]any)
	var got []string
	for _, r := range results {
		m := r.(map[string]any)
		got = append(got, fmt.Sprint(m["status"], " ", m["rejectReason"]))
	}
	want := "[Canceled <nil> Created <nil> Created <nil> Created <nil> Created <nil> Rejected insufficient_funds]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	// 5 x 110 and 4 x 100.
	if got := a.Balance("USDT"); got != "50.0 950.0" {
		t.Error(got)
	}
	h.CheckRefusal("a replace beyond the money", h.CallInternal("PATCH", "/orders/2", `{"amount":50}`), 400,
		"INSUFFICIENT_FUNDS", "amount")
	if got := a.Balance("USDT"); got != "50.0 950.0" {
		t.Error(got)
	}
	h.CheckTotals()
}

func TestAccountAnswersKeepSecretsToThemselves(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	a.OK("GET", "/api/apikeys", "")
	b.Call("POST", "/api/orders", `{"nonsense":`)
	h.Send(h.Public, "GET", "/api/apikeys", "", http.Header{"API-PublicKey": {a.Public}, "API-Signature": {a.Private}})
	headers := a.Sign("GET", "/api/apikeys", "")
	h.Send(h.Public, "GET", "/api/apikeys?x", "", headers)
	sent := ""
	for name, v := range headers {
		if strings.HasSuffix(name, "Signature") {
			sent = v[0]
		}
	}
	if !strings.Contains(h.Log.String(), "path=/api/apikeys status=200") {
		t.Fatalf("no access lines to look through: %s", h.Log.String())
	}
	text := h.Log.String() + a.OK("GET", "/api/apikeys", "").Body + h.CallInternal("GET", "/users/"+a.ID, "").Body
	for _, secret := range []string{a.Private, b.Private, sent} {
		if len(secret) != 64 || strings.Contains(text, secret) {
			t.Fatal("a secret is in a log or an answer")
		}
	}
}
