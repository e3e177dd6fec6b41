package account_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/servertest"
)

// flip changes one bit of a text, keeping it printable and well-formed where it can.
func flip(s string, i int) string {
	b := []byte(s)
	b[i] ^= 1
	return string(b)
}

func TestEveryFlippedBitOfWhatIsSignedIs401(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	const target = "/api/orders"
	const body = `{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`
	for _, name := range []string{"API-PublicKey", "API-Timestamp", "API-Nonce", "API-Signature"} {
		signed := a.Sign("POST", target, body)
		value := signed[name][0]
		for i := range value {
			changed := signed.Clone()
			for k, v := range signed {
				changed[k] = v
			}
			changed[name] = []string{flip(value, i)}
			if got := h.Send(h.Public, "POST", target, body, changed); got.Status != 401 ||
				!strings.Contains(got.Body, "UNAUTHORIZED") {
				t.Fatalf("%s with byte %d changed: %d %s", name, i, got.Status, got.Body)
			}
		}
	}
	for i := range body {
		if got := h.Send(h.Public, "POST", target, flip(body, i), a.Sign("POST", target, body)); got.Status != 401 {
			t.Fatalf("body with byte %d changed: %d %s", i, got.Status, got.Body)
		}
	}
	query := "/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T"
	a.OK("GET", query, "")
	for _, other := range []string{
		"/api/affiliate/accruals?pageNumber=1&currencyCode=USDT",
		"/api/affiliate/accruals?currencyCode=US%44T&pageNumber=1",
		"/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T&",
		"/api/affiliate/accruals",
		"/api/affiliate/accruals?pageNumber=2&currencyCode=US%44T",
	} {
		h.CheckRefusal(other, h.Send(h.Public, "GET", other, "", a.Sign("GET", query, "")), 401,
			"UNAUTHORIZED", "API-Signature")
	}
	// A signature for one method is invalid for another.
	id := a.Place(body)
	h.CheckRefusal("GET for DELETE", h.Send(h.Public, "DELETE", "/api/orders/"+id, "",
		a.Sign("GET", "/api/orders/"+id, "")), 401, "UNAUTHORIZED", "API-Signature")
	if got := h.Send(h.Public, "HEAD", "/api/apikeys", "", a.Sign("GET", "/api/apikeys", "")); got.Status != 401 {
		t.Errorf("a GET signature for HEAD: %d", got.Status)
	}
	if got := a.Balance("USDT"); got != "990.0 10.0" {
		t.Errorf("a refused request traded: %s", got)
	}
}

func TestReplayedAndSkewedRequests(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	signed := a.Sign("GET", "/api/apikeys", "")
	if got := h.Send(h.Public, "GET", "/api/apikeys", "", signed); got.Status != 200 {
		t.Fatal(got.Body)
	}
	h.CheckRefusal("a replay", h.Send(h.Public, "GET", "/api/apikeys", "", signed), 401, "UNAUTHORIZED", "API-Nonce")
	now := int64(servertest.StartNs / 1_000_000)
	at := func(k *servertest.Keys, ts int64, nonce, window string) servertest.Answer {
		text := fmt.Sprint(ts)
		header := http.Header{
			"API-PublicKey": {k.Public}, "API-Timestamp": {text}, "API-Nonce": {nonce},
			"API-Signature": {servertest.Signature(k.Private, text, nonce, "GET", "/api/apikeys", "")},
		}
		if window != "" {
			header["API-RecvWindow"] = []string{window}
		}
		return h.Send(h.Public, "GET", "/api/apikeys", "", header)
	}
	for i, c := range []struct {
		off    int64
		window string
		ok     bool
	}{
		{0, "", true},
		{999, "", true},
		{1001, "", false},
		{-5000, "", true},
		{-5001, "", false},
		{-1, "1", true},
		{-2, "1", false},
		{999, "1", true},
		{1001, "60000", false},
		{-60_000, "60000", true},
		{-60_001, "60000", false},
	} {
		got := at(a, now+c.off, fmt.Sprintf("skew-%d", i), c.window)
		if c.ok != (got.Status == 200) {
			t.Errorf("%+v: %d %s", c, got.Status, got.Body)
		}
		if !c.ok {
			h.CheckRefusal("skew", got, 401, "UNAUTHORIZED", "API-Timestamp")
			if !strings.Contains(got.Body, fmt.Sprint(now)) || !strings.Contains(got.Body, fmt.Sprint(c.off)) {
				t.Errorf("the message does not tell time and difference: %s", got.Body)
			}
		}
	}
	for window, nonce := range map[string]string{"0": "w0", "60001": "w1", "x": "w2", "-1": "w3"} {
		h.CheckRefusal("window "+window, at(a, now, nonce, window), 401, "UNAUTHORIZED", "API-RecvWindow")
	}
	for _, nonce := range []string{"", "a b", strings.Repeat("n", 65), "ä"} {
		h.CheckRefusal("nonce "+nonce, at(a, now, nonce, ""), 401, "UNAUTHORIZED", "API-Nonce")
	}
	for _, ts := range []int64{now / 10, now * 10, -now} {
		h.CheckRefusal("timestamp", at(a, ts, "t", ""), 401, "UNAUTHORIZED", "API-Timestamp")
	}
	// Each key has its own nonces.
	if got := at(b, now, "skew-0", ""); got.Status != 200 {
		t.Error(got.Body)
	}
	unknown := *a
	unknown.Public = strings.Repeat("A", 38)
	wrong := *a
	wrong.Private = strings.Repeat("B", 64)
	x, y := at(&unknown, now, "u", ""), at(&wrong, now, "v", "")
	same := func(s string) string { return s[:strings.Index(s, `"requestId"`)] }
	if x.Status != 401 || y.Status != 401 || same(x.Body) != same(y.Body) {
		t.Errorf("an unknown key and a bad signature differ: %s, %s", x.Body, y.Body)
	}
}

// A proxy and the exchange could read different copies of a repeated header. The server refuses
// every credential header that occurs twice, even with equal values.
func TestACredentialHeaderThatOccursTwiceIs401(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	for _, target := range []string{"/api/apikeys", "/api/deals?currencyPairCode=BTC_USDT"} {
		for _, name := range []string{
			"API-PublicKey", "API-Timestamp", "API-Nonce",
			"API-Signature", "API-RecvWindow",
		} {
			signed := func(change func(http.Header, string)) servertest.Answer {
				header := a.Sign("GET", target, "", "API-RecvWindow", "5000")
				change(header, header[name][0])
				return h.Send(h.Public, "GET", target, "", header)
			}
			once := signed(func(http.Header, string) {})
			if once.Status != 200 {
				t.Fatalf("%s of %s once: %d %s", name, target, once.Status, once.Body)
			}
			for what, second := range map[string]string{
				"equal": "", "empty": " ", "other": "x",
				"in small letters": strings.ToLower(name),
			} {
				h.CheckRefusal(what+" "+name+" of "+target, signed(func(header http.Header, sent string) {
					switch {
					case second == "":
						header[name] = []string{sent, sent}
					case what == "in small letters":
						header[second] = []string{sent}
					default:
						header[name] = []string{strings.TrimSpace(second), sent}
					}
				}), 401, "UNAUTHORIZED", name)
			}
		}
	}
	// Without a key there are no credentials, and a public document needs none.
	header := http.Header{"API-Nonce": {"a", "b"}}
	if got := h.Send(h.Public, "GET", "/api/currencies", "", header); got.Status != 200 {
		t.Errorf("no credentials: %d %s", got.Status, got.Body)
	}
}

func TestTheLegacySchemeIsOffUnlessAskedFor(t *testing.T) {
	legacy := func(k *servertest.Keys, method, url, target, sent, body string) servertest.Answer {
		mac := hmac.New(sha256.New, []byte(k.Private))
		_, _ = mac.Write([]byte(k.Public + url + target + body))
		header := http.Header{"API-PublicKey": {k.Public}, "API-Signature": {hex.EncodeToString(mac.Sum(nil))}}
		if sent != "" {
			header["Content-Type"] = []string{"application/json"}
		}
		return k.Exchange.Send(k.Exchange.Public, method, target, sent, header)
	}
	h, a, _ := servertest.NewTradedExchange(t)
	h.CheckRefusal("off", legacy(a, "GET", "http://test", "/api/apikeys", "", ""), 401, "UNAUTHORIZED", "API-Timestamp")
	h, a, _ = servertest.NewTradedExchange(t, func(o *exchange.Options) {
		o.Auth.Legacy, o.Auth.PublicURL = true, "http://test"
	})
	for range 2 { // no replay protection
		if got := legacy(a, "GET", "http://test", "/api/user/orders?status=all", "", ""); got.Status != 200 {
			t.Fatal(got.Body)
		}
	}
	const body = "{\"side\": \"buy\",\n \"currencyPairCode\":\"BTC_USDT\", \"amount\":1, \"price\": 10}"
	const tight = `{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":10}`
	for _, signed := range []string{tight, body} {
		h.CheckRefusal("POST", legacy(a, "POST", "http://test", "/api/orders", body, signed), 401,
			"UNAUTHORIZED", "API-Timestamp")
	}
	h.CheckRefusal("another host", legacy(a, "GET", "http://other", "/api/apikeys", "", ""), 401,
		"UNAUTHORIZED", "API-Signature")
	h.CheckRefusal("DELETE", legacy(a, "DELETE", "http://test", "/api/orders/1", "", ""), 401,
		"UNAUTHORIZED", "API-Timestamp")
	a.OK("GET", "/api/apikeys", "")
	_, a, _ = servertest.NewTradedExchange(t, func(o *exchange.Options) {
		o.Auth.Legacy,
			o.Auth.PublicURL = true, "https://api.example"
	})
	if got := legacy(a, "GET", "https://api.example", "/api/apikeys", "", ""); got.Status != 200 {
		t.Error(got.Body)
	}
}

// Random commands of several users over the whole path: after each command the totals are
// unchanged, and no funded balance is below zero.
func TestRandomRequestsKeepTheTotals(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	h, a, b := servertest.NewTradedExchange(t)
	users := []*servertest.Keys{a, b, h.User(`"unlimited":true`), h.User(`"stakingLevel":"R3"`)}
	h.Deposit(users[3], "USDT", "50000")
	invite := servertest.ParseObject(t, a.OK("GET", "/api/affiliate/invite-code", "").Body)["inviteCode"]
	b.OK("POST", "/api/affiliate/inviters/my", fmt.Sprintf(`{"inviteCode":%q}`, invite))
	deposited := func() string {
		var rows []map[string]any
		servertest.Parse(t, h.CallInternal("GET", "/totals", "").Body, &rows)
		var out []string
		for _, row := range rows {
			out = append(out, fmt.Sprint(row["currencyCode"], row["deposited"], row["withdrawn"]))
		}
		return strings.Join(out, " ")
	}
	before := deposited()
	n := 1500
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		n = 200_000
	}
	for i := range n {
		k := users[r.IntN(len(users))]
		price, amount := fmt.Sprintf("%d.%02d", 90+r.IntN(20), r.IntN(100)), fmt.Sprintf("0.%04d", 1+r.IntN(9999))
		side := []string{"buy", "sell"}[r.IntN(2)]
		stp := []string{"none", "cancel_taker", "cancel_maker", "cancel_both", "decrement"}[r.IntN(5)]
		order := fmt.Sprintf(`"side":%q,"currencyPairCode":"BTC_USDT","selfTradePrevention":%q`, side, stp)
		switch r.IntN(9) {
		case 0, 1, 2:
			k.Call("POST", "/api/orders", fmt.Sprintf(`{%s,"amount":%s,"price":%s,"timeInForce":%q}`, order, amount,
				price, []string{"gtc", "gtc", "ioc", "fok"}[r.IntN(4)]))
		case 3:
			k.Call("POST", "/api/orders", fmt.Sprintf(`{%s,"isMarket":true,"amount":%s}`, order, amount))
		case 4:
			k.Call("POST", "/api/orders",
				fmt.Sprintf(`{"side":"buy","currencyPairCode":"BTC_USDT","isMarket":true,"quoteAmount":%s}`, price))
		case 5:
			k.Call("POST", "/api/orders", fmt.Sprintf(`{%s,"amount":%s,"price":%s,"stopPrice":%d}`, order,
				amount, price, 90+r.IntN(20)))
		case 6:
			k.Call("DELETE", fmt.Sprintf("/api/orders/%d", 1+r.IntN(i+1)), "")
		case 7:
			h.CallInternal("PATCH", fmt.Sprintf("/orders/%d", 1+r.IntN(i+1)),
				fmt.Sprintf(`{"price":%s,"amount":%s}`, price, amount))
		default:
			h.CallInternal("POST", "/orders/batch", fmt.Sprintf(
				`{"commands":[{"cancel":{"orderId":%d}},{"place":{"accountId":%q,"currencyPairCode":"BTC_USDT",`+
					`"side":%q,"type":"limit","price":%s,"amount":%s}},{"replace":{"orderId":%d,"amount":%s}}]}`,
				1+r.IntN(i+1), k.ID, side, price, amount, 1+r.IntN(i+1), amount))
		}
		if h.CheckTotals(); t.Failed() {
			t.Fatalf("after %d requests", i+1)
		}
	}
	if got := deposited(); got != before {
		t.Errorf("deposits and withdrawals changed: %s, before %s", got, before)
	}
	for _, k := range users {
		k.OK("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "")
		for _, c := range []string{"BTC", "USDT"} {
			if got := k.Balance(c); !strings.HasSuffix(got, " 0.0") {
				t.Errorf("something is held without an order: %s %s", c, got)
			}
		}
	}
}
