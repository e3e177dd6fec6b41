package account_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// demoAccount is the answer of POST /demo-accounts.
type demoAccount struct {
	Kind, UserID, PublicKey, PrivateKey string
	Funds                               []struct {
		CurrencyCode string
		Amount       json.Number
	}
}

func (a *demoAccount) amount(currency string) string {
	for _, f := range a.Funds {
		if f.CurrencyCode == currency {
			return f.Amount.String()
		}
	}
	return ""
}

// A demo account has money of about equal worth in each currency of a pair that takes deposits, and a key that trades.
// Another request makes another account; the funds of a key's user can be added again.
func TestADemoAccountTradesAtOnce(t *testing.T) {
	h := servertest.NewExchange(t)
	for _, pair := range []string{"BTC_USDT", "ETH_USDT"} {
		h.MustInternal("POST", "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":6}`)
	}
	h.MustInternal("PATCH", "/assets/ETH", `{"canDeposit":false}`)
	h.MustInternal("POST", "/assets", `{"symbol":"LONE"}`)
	for _, order := range []string{`"side":"buy","price":"50000"`, `"side":"sell","price":"50001"`} {
		h.MustInternal("POST", "/orders", `{"currencyPairCode":"BTC_USDT","type":"limit","amount":1,`+order+`}`)
	}

	make := func(body string) (a demoAccount) {
		t.Helper()
		answer := h.CallInternal("POST", "/demo-accounts", body)
		if answer.Status != 200 {
			t.Fatalf("%q: %d %s", body, answer.Status, answer.Body)
		}
		servertest.Parse(t, answer.Body, &a)
		return a
	}
	a, b := make("{}"), make("")
	if a.Kind != "tickhive-demo-key" || a.UserID == b.UserID || a.PublicKey == b.PublicKey {
		t.Errorf("%+v\n%+v", a, b)
	}
	if a.amount("USDT") != "100000.0" || a.amount("BTC") != "2.0" || a.amount("NATIVE") != "1000.0" ||
		a.amount("ETH") != "" || a.amount("LONE") != "" {
		t.Errorf("the funds are %+v", a.Funds)
	}
	key := servertest.Keys{Exchange: h, ID: a.UserID, Public: a.PublicKey, Private: a.PrivateKey}
	order := key.Call("POST", "/api/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","price":50001,"amount":0.5}`)
	if order.Status != 200 {
		t.Fatalf("an order: %d %s", order.Status, order.Body)
	}
	if free := key.Call("GET", "/api/wallets/balances", ""); !strings.Contains(free.Body, "74999.5") {
		t.Errorf("after the purchase: %s", free.Body)
	}
	more := h.MustInternal("POST", "/demo-accounts/funds", `{"publicKey":"`+a.PublicKey+`"}`)
	if more["userId"] != a.UserID {
		t.Errorf("the funds went to %v", more)
	}
	if free := key.Call("GET", "/api/wallets/balances", ""); !strings.Contains(free.Body, "174999.5") {
		t.Errorf("after the faucet: %s", free.Body)
	}
	other := servertest.Keys{Exchange: h, ID: b.UserID, Public: b.PublicKey, Private: b.PrivateKey}
	if free := other.Call("GET", "/api/wallets/balances", ""); !strings.Contains(free.Body, "100000.0") {
		t.Errorf("the other account has %s", free.Body)
	}
}

func TestWhatDemoAccountsRefuse(t *testing.T) {
	h := servertest.NewExchange(t)
	users := h.State.Shown().UserCount()
	for _, c := range []struct {
		path, body string
		status     int
		code       string
		field      string
	}{
		{"/demo-accounts", `{"nickname":"x"}`, 400, "INVALID_PARAM", "nickname"},
		{"/demo-accounts", `[]`, 400, "INVALID_PARAM", ""},
		{"/demo-accounts/funds", `{}`, 400, "INVALID_PARAM", "publicKey"},
		{"/demo-accounts/funds", ``, 400, "INVALID_PARAM", ""},
		{"/demo-accounts/funds", `{"publicKey":"unknown"}`, 404, "NOT_FOUND", "publicKey"},
	} {
		h.CheckRefusal(c.path+" "+c.body, h.CallInternal("POST", c.path, c.body), c.status, c.code, c.field)
	}
	if n := h.State.Shown().UserCount(); n != users {
		t.Errorf("%d users were made", n-users)
	}
}
