package servertest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/tickhive/tickhive/internal/exchange"
)

// Keys holds a user with a key pair.
type Keys struct {
	Exchange        *Exchange
	ID              string
	Public, Private string
	Ed25519         ed25519.PrivateKey // in place of Private
	RSA             *rsa.PrivateKey    // in place of Private
}

// Call signs and sends a request and returns the answer.
func (k *Keys) Call(method, target, body string, header ...string) Answer {
	k.Exchange.T.Helper()
	return k.Exchange.Send(k.Exchange.Public, method, target, body, k.Sign(method, target, body, header...))
}

// SendLarge posts a signed body on its own connection and reads the answer while it sends:
// net/http may give up a request whose connection the server closes before the body's end.
func (k *Keys) SendLarge(target, body string) Answer {
	k.Exchange.T.Helper()
	text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n", target, len(body))
	for name, values := range k.Sign("POST", target, body) {
		text += name + ": " + values[0] + "\r\n"
	}
	return raw(k.Exchange.T, k.Exchange.Rig, "192.0.2.1", text+"\r\n"+body)
}

// Sign returns the headers of a signed request. more holds pairs of a header's name and value.
func (k *Keys) Sign(method, target, body string, more ...string) http.Header {
	ts := strconv.FormatInt(k.Exchange.Clock.NowNs()/1_000_000, 10)
	nonce := "n-" + strconv.FormatInt(k.Exchange.nonce.Add(1), 10)
	h := http.Header{
		"API-PublicKey": {k.Public}, "API-Timestamp": {ts}, "API-Nonce": {nonce},
		"API-Signature": {k.Signature(ts, nonce, method, target, body)},
	}
	if body != "" {
		h["Content-Type"] = []string{"application/json"}
	}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = []string{more[i+1]}
	}
	return h
}

// Signature returns the key's signature of a request.
func (k *Keys) Signature(ts, nonce, method, target, body string) string {
	if k.RSA != nil {
		digest := sha256.Sum256([]byte(signedText(ts, nonce, method, target, body)))
		signature, err := rsa.SignPKCS1v15(nil, k.RSA, crypto.SHA256, digest[:])
		if err != nil {
			panic(err)
		}
		return hex.EncodeToString(signature)
	}
	if k.Ed25519 == nil {
		return Signature(k.Private, ts, nonce, method, target, body)
	}
	return hex.EncodeToString(ed25519.Sign(k.Ed25519, []byte(signedText(ts, nonce, method, target, body))))
}

// Signature returns the HMAC signature of a request. It is a second implementation, so that the tests
// do not check the program against itself.
func Signature(private, ts, nonce, method, target, body string) string {
	mac := hmac.New(sha256.New, []byte(private))
	_, _ = mac.Write([]byte(signedText(ts, nonce, method, target, body)))
	return hex.EncodeToString(mac.Sum(nil))
}

func signedText(ts, nonce, method, target, body string) string {
	sum := sha256.Sum256([]byte(body))
	return ts + "\n" + nonce + "\n" + method + "\n" + target + "\n" + hex.EncodeToString(sum[:])
}

// OK signs and sends a request that must succeed.
func (k *Keys) OK(method, target, body string) Answer {
	k.Exchange.T.Helper()
	a := k.Call(method, target, body)
	if a.Status != 200 {
		k.Exchange.T.Fatalf("%s %s %s: %d %s", method, target, body, a.Status, a.Body)
	}
	return a
}

// Place places an order through the trading API and returns its id.
func (k *Keys) Place(body string) string {
	k.Exchange.T.Helper()
	var id string
	Parse(k.Exchange.T, k.OK("POST", "/api/orders", body).Body, &id)
	return id
}

// Balance returns "free held" of a currency.
func (k *Keys) Balance(currency string) string {
	k.Exchange.T.Helper()
	var w struct {
		Balances []struct {
			CurrencyCode      string
			Free, Held, Total json.Number
		}
	}
	Parse(k.Exchange.T, k.OK("GET", "/api/wallets/balances", "").Body, &w)
	for _, b := range w.Balances {
		if b.CurrencyCode == currency {
			return b.Free.String() + " " + b.Held.String()
		}
	}
	return "0.0 0.0"
}

// User creates a user with a key that may trade; body holds the members of POST /users.
func (e *Exchange) User(body string) *Keys {
	e.T.Helper()
	u := e.MustInternal("POST", "/users", "{"+body+"}")
	id := u["id"].(string)
	k := e.MustInternal("POST", "/users/"+id+"/apikeys", `{"name":"test"}`)
	return &Keys{Exchange: e, ID: id, Public: k["publicKey"].(string), Private: k["privateKey"].(string)}
}

// Deposit credits an amount to a user.
func (e *Exchange) Deposit(k *Keys, currency, amount string) {
	e.T.Helper()
	e.MustInternal("POST", "/users/"+k.ID+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%q}`, currency, amount))
}

// NewTradedExchange returns a test exchange with a pair and two funded users.
func NewTradedExchange(t testing.TB, change ...func(*exchange.Options)) (h *Exchange, a, b *Keys) {
	t.Helper()
	h = NewExchange(t, change...)
	h.MustInternal("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4,"makerFee":"0.001",`+
		`"takerFee":"0.002"}`)
	a, b = h.User(`"nickname":"alice"`), h.User(`"nickname":"bob"`)
	h.Deposit(a, "USDT", "1000")
	h.Deposit(a, "BTC", "10")
	h.Deposit(b, "USDT", "1000")
	h.Deposit(b, "BTC", "10")
	return h, a, b
}

// OrderMembers are the members of an order of the trading API, sorted.
const OrderMembers = "amount averagePrice clientOrderId currencyPairCode date dateChanged decrementedAmount " +
	"displayAmount endReason expireUnfilled fee feeCurrencyCode filledAmount filledQuoteAmount id initialAmount " +
	"initialQuoteAmount isBid isCanceled isMarket isTriggered listId postOnly preventedMatchId price quoteAmount " +
	"selfTradePrevention status stopPrice strategyId strategyType strictTrigger timeInForce trailingDelta " +
	"trailingTime type userId"
