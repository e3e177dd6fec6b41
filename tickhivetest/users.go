package tickhivetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tickhive/tickhive/client"
)

// User is a user of the exchange with a key that trades.
type User struct {
	ID         string
	PublicKey  string
	PrivateKey string // secret of the key; Binance's interface takes the same pair

	x *Exchange
}

// fundedUser returns a new user with the funds of `tickhive demo-key`.
func (x *Exchange) fundedUser() *User {
	x.t.Helper()
	k, err := x.running.Load().FundedKey()
	if err != nil {
		x.t.Fatalf("tickhivetest: %v", err)
	}
	u := &User{k.User, k.Public, k.Private.Reveal(), x}
	if x.play != nil {
		for currency := range strings.SplitSeq(x.play.pair, "_") {
			u.Deposit("10000", currency)
		}
	}
	return u
}

// NewUser adds a user with a key and with money, each amount with its currency: x.NewUser("1000 USDT", "0.5 BTC").
func (x *Exchange) NewUser(money ...string) *User {
	x.t.Helper()
	u := &User{x: x}
	var user struct{ ID string }
	x.call(http.MethodPost, "/users", map[string]any{}, &user)
	u.ID = user.ID
	x.call(http.MethodPost, "/users/"+u.ID+"/apikeys", map[string]any{"name": "test"}, u)
	for _, m := range money {
		amount, currency, ok := strings.Cut(m, " ")
		if !ok {
			x.t.Fatalf("tickhivetest: NewUser: %q must have the form AMOUNT CURRENCY, for example \"1000 USDT\"", m)
		}
		u.Deposit(amount, currency)
	}
	return u
}

// Deposit adds money to the user's balance.
func (u *User) Deposit(amount, currency string) {
	u.x.t.Helper()
	u.x.call(http.MethodPost, "/users/"+u.ID+"/deposits",
		map[string]any{"currencyCode": currency, "amount": json.Number(amount)}, nil)
}

// Client returns a client that signs with the user's key and the exchange's clock. Its connections end with the test.
func (u *User) Client() *client.Client {
	return &client.Client{
		Base: u.x.URL, PublicKey: u.PublicKey, PrivateKey: u.PrivateKey, HTTP: u.x.http, Now: u.x.Now,
	}
}

// Buy places an order of the exchange's own account, which needs no money and pays no fee: others trade with it. An
// empty price means a market order.
func (x *Exchange) Buy(pair, amount, price string) { x.t.Helper(); x.place("buy", pair, amount, price) }

// Sell is Buy for the other side.
func (x *Exchange) Sell(pair, amount, price string) {
	x.t.Helper()
	x.place("sell", pair, amount, price)
}

func (x *Exchange) place(side, pair, amount, price string) {
	x.t.Helper()
	o := map[string]any{
		"currencyPairCode": pair, "side": side, "type": "market", "amount": json.Number(amount),
	}
	if price != "" {
		o["type"], o["price"] = "limit", json.Number(price)
	}
	var answer struct {
		Status       string
		RejectReason *string
	}
	if x.call(http.MethodPost, "/orders", o, &answer); answer.RejectReason != nil {
		x.t.Fatalf("tickhivetest: %s %s %s at %q: %s", side, amount, pair, price, *answer.RejectReason)
	}
}

// ClearBook cancels the open orders of the exchange's own account on a pair.
func (x *Exchange) ClearBook(pair string) {
	x.t.Helper()
	x.call(http.MethodDelete, "/orders?accountId=00000000-0000-0000-0000-000000000000&currencyPairCode="+
		url.QueryEscape(pair), nil, nil)
}

// Fault is a rule by which the exchange misbehaves.
type Fault struct {
	id uint64
	x  *Exchange
}

// Fault makes the exchange misbehave by a rule (docs/contract/faults.md), for example "lost-ack probability=0.1" or
// "status status=503 route=/api/orders count=2". Which requests a rule hits is decided by its seed=, so a test repeats.
// Scenarios are sets of rules: Set("faults.scenario=flaky-network") at the start.
func (x *Exchange) Fault(rule string) *Fault {
	x.t.Helper()
	var answer struct{ Rules []struct{ ID uint64 } }
	x.call(http.MethodPost, "/faults", map[string]any{"rules": []string{rule}}, &answer)
	return &Fault{answer.Rules[0].ID, x}
}

// Hits returns how often the fault was done so far, 0 once its rule was removed.
func (f *Fault) Hits() (n int) {
	f.x.t.Helper()
	var answer struct {
		Rules []struct {
			ID      uint64
			Applied int
		}
	}
	f.x.call(http.MethodGet, "/faults", nil, &answer)
	for _, r := range answer.Rules {
		if r.ID == f.id {
			n = r.Applied
		}
	}
	return n
}

// ClearFaults removes every fault.
func (x *Exchange) ClearFaults() {
	x.t.Helper()
	x.call(http.MethodDelete, "/faults", nil, nil)
}

// maxAnswer limits the bytes of an answer that are read.
const maxAnswer = 16 << 20

// call sends a request to the internal API and decodes the answer into out, unless that is nil. Any status but 200
// fails the test.
func (x *Exchange) call(method, path string, body, out any) {
	x.t.Helper()
	if x.running.Load() == nil {
		x.t.Fatalf("tickhivetest: %s %s: the exchange does not run; Restart starts it", method, path)
	}
	err := x.send(method, path, body, out)
	if err != nil {
		x.t.Fatalf("tickhivetest: %s %s: %v", method, path, err)
	}
}

func (x *Exchange) send(method, path string, body, out any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	// Without the test's context, which ends before the cleanups do.
	req, err := http.NewRequest(method, x.Internal+path, bytes.NewReader(text)) //nolint:noctx // see above
	if err != nil {
		return err
	}
	resp, err := x.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
