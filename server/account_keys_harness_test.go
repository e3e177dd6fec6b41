package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"tickhive/server"
)

// keys is a user with a key pair.
type keys struct {
	h               *house
	id              string
	public, private string
}

// call signs and sends a request and returns the answer.
func (k *keys) call(method, target, body string, header ...string) answer {
	k.h.t.Helper()
	return k.h.send(k.h.public, method, target, body, k.sign(method, target, body, header...))
}

// sendLarge posts a signed body on its own connection and reads the answer while it sends:
// net/http may give up a request whose connection the server closes before the body's end.
func (k *keys) sendLarge(target, body string) answer {
	k.h.t.Helper()
	text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n", target, len(body))
	for name, values := range k.sign("POST", target, body) {
		text += name + ": " + values[0] + "\r\n"
	}
	m := &market{t: k.h.t, ln: k.h.ln}
	return m.raw("192.0.2.1", text+"\r\n"+body)
}

// sign is the headers of a signed request; more headers come in pairs.
func (k *keys) sign(method, target, body string, more ...string) http.Header {
	ts := strconv.FormatInt(k.h.clk.NowNs()/1_000_000, 10)
	nonce := "n-" + strconv.FormatInt(k.h.nonce.Add(1), 10)
	h := http.Header{
		"API-PublicKey": {k.public}, "API-Timestamp": {ts}, "API-Nonce": {nonce},
		"API-Signature": {signature(k.private, ts, nonce, method, target, body)},
	}
	if body != "" {
		h["Content-Type"] = []string{"application/json"}
	}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = []string{more[i+1]}
	}
	return h
}

// signature is a second implementation, so that the tests do not check the program against
// itself.
func signature(private, ts, nonce, method, target, body string) string {
	sum := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, []byte(private))
	_, _ = mac.Write([]byte(ts + "\n" + nonce + "\n" + method + "\n" + target + "\n" + hex.EncodeToString(sum[:])))
	return hex.EncodeToString(mac.Sum(nil))
}

// ok is call for a request that must succeed.
func (k *keys) ok(method, target, body string) answer {
	k.h.t.Helper()
	a := k.call(method, target, body)
	if a.status != 200 {
		k.h.t.Fatalf("%s %s %s: %d %s", method, target, body, a.status, a.body)
	}
	return a
}

// place places an order through the trading API and returns its id.
func (k *keys) place(body string) string {
	k.h.t.Helper()
	var id string
	parse(k.h.t, k.ok("POST", "/api/orders", body).body, &id)
	return id
}

// balance returns "free held" of a currency.
func (k *keys) balance(currency string) string {
	k.h.t.Helper()
	var w struct {
		Balances []struct {
			CurrencyCode      string
			Free, Held, Total json.Number
		}
	}
	parse(k.h.t, k.ok("GET", "/api/wallets/balances", "").body, &w)
	for _, b := range w.Balances {
		if b.CurrencyCode == currency {
			return b.Free.String() + " " + b.Held.String()
		}
	}
	return "0.0 0.0"
}

// user creates a user with a key that may trade; body holds the members of POST /users.
func (h *house) user(body string) *keys {
	h.t.Helper()
	u := h.in("POST", "/users", "{"+body+"}")
	id := u["id"].(string)
	k := h.in("POST", "/users/"+id+"/apikeys", `{"name":"test"}`)
	return &keys{h, id, k["publicKey"].(string), k["privateKey"].(string)}
}

func (h *house) deposit(k *keys, currency, amount string) {
	h.t.Helper()
	h.in("POST", "/users/"+k.id+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%q}`, currency, amount))
}

// traded returns a test exchange with a pair and two funded users.
func traded(t testing.TB, change ...func(*server.AccountOptions)) (h *house, a, b *keys) {
	t.Helper()
	h = newHouse(t, change...)
	h.in("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4,"makerFee":"0.001","takerFee":"0.002"}`)
	a, b = h.user(`"nickname":"alice"`), h.user(`"nickname":"bob"`)
	h.deposit(a, "USDT", "1000")
	h.deposit(a, "BTC", "10")
	h.deposit(b, "USDT", "1000")
	h.deposit(b, "BTC", "10")
	return h, a, b
}

const orderMembers = "amount clientOrderId currencyPairCode date decrementedAmount id initialAmount isBid isCanceled isMarket price quoteAmount status userId"
