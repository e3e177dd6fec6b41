package account_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

const onBTC = `"currencyPairCode":"BTC_USDT"`

// A replace of an order of the same batch uses the money of the order's owner, or is refused.
func TestAReplaceOfAnOrderOfItsOwnBatchIsFunded(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	batch := func(id int, price string) servertest.Answer {
		return h.CallInternal("POST", "/orders/batch",
			fmt.Sprintf(`{"commands":[{"place":{"accountId":%q,%s,"side":"buy","type":"limit","price":1,"amount":1}},`+
				`{"replace":{"orderId":%d,"price":%s,"amount":5}}]}`, a.ID, onBTC, id, price))
	}
	r := batch(1, "100")
	if r.Status != 200 || a.Balance("USDT") != "500.0 500.0" {
		t.Fatalf("a replace that can be paid for: %d %s; %s", r.Status, r.Body, a.Balance("USDT"))
	}
	r = batch(2, "1000")
	var w struct{ Results []struct{ RejectReason any } }
	servertest.Parse(t, r.Body, &w)
	if len(w.Results) != 2 || w.Results[1].RejectReason != "insufficient_funds" ||
		a.Balance("USDT") != "499.0 501.0" {
		t.Fatalf("one that cannot: %d %s; %s", r.Status, r.Body, a.Balance("USDT"))
	}
	a.OK("DELETE", "/api/orders?"+"currencyPairCode=BTC_USDT", "")
	if got := a.Balance("USDT"); got != "1000.0 0.0" {
		t.Errorf("held without an order: %s", got)
	}
}

// No interleaving of places, replaces of known and guessed orders, fills and decrements
// takes a funded account below zero or leaves a hold without an order.
func TestRacingReplacesNeverOverdraw(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	h.MustInternal("POST", "/orders", `{`+onBTC+`,"side":"buy","type":"limit","price":1,"amount":1}`)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var workers sync.WaitGroup
	for w := range 6 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for range 250 {
				race(h, rng, []*servertest.Keys{a, b}[rng.IntN(2)])
			}
		}()
	}
	workers.Wait()
	for _, k := range []*servertest.Keys{a, b} {
		k.OK("DELETE", "/api/orders?currencyPairCode=BTC_USDT", "")
		for _, currency := range []string{"USDT", "BTC"} {
			row := h.State.Shown().Balance(uint32(accountOf(h, k)), currency)
			if row.Held.Sign() != 0 || row.Free.Sign() < 0 {
				t.Errorf("%s: free %v, held %v without an order", currency, row.Free, row.Held)
			}
		}
	}
}

// race sends one request of a random kind.
func race(h *servertest.Exchange, rng *rand.Rand, k *servertest.Keys) {
	var last engine.OrderID
	_ = h.Loop().Query(func() { last = h.Core().LastOrderID(0) })
	side, prevention := "buy", "decrement"
	if rng.IntN(2) == 0 {
		side = "sell"
	}
	if rng.IntN(2) == 0 {
		prevention = "none"
	}
	place := fmt.Sprintf(`{"accountId":%q,%s,"side":%q,"type":"limit","price":%d,"amount":%d,"selfTradePrevention":%q}`,
		k.ID, onBTC, side, 60+rng.IntN(80), 1+rng.IntN(9), prevention)
	change := fmt.Sprintf(`"amount":%d`, 1+rng.IntN(15))
	if rng.IntN(2) == 0 {
		change = fmt.Sprintf(`"price":%d`, 60+rng.IntN(80))
	} else if rng.IntN(2) == 0 {
		change += fmt.Sprintf(`,"price":%d`, 60+rng.IntN(80))
	}
	id := int(last) + 2 - rng.IntN(8)
	switch n := rng.IntN(10); {
	case n < 3:
		h.CallInternal("POST", "/orders", place)
	case n < 6:
		h.CallInternal("PATCH", fmt.Sprintf("/orders/%d", id), "{"+change+"}")
	case n < 7:
		h.CallInternal("DELETE", fmt.Sprintf("/orders/%d", id), "")
	default:
		h.CallInternal("POST", "/orders/batch",
			fmt.Sprintf(`{"commands":[{"place":%s},{"replace":{"orderId":%d,%s}},{"replace":{"orderId":%d,`+
				`"price":%d}},{"place":%s}]}`,
				place, last+1, change, id, 60+rng.IntN(80), place))
	}
}

// accountOf returns the engine's number of a user.
func accountOf(h *servertest.Exchange, k *servertest.Keys) engine.AccountID {
	h.T.Helper()
	var id [16]byte
	if _, err := hex.Decode(id[:], []byte(strings.ReplaceAll(k.ID, "-", ""))); err != nil {
		h.T.Fatal(err)
	}
	n, ok := h.State.Shown().NumberOf(id)
	if !ok {
		h.T.Fatalf("no account %s", k.ID)
	}
	return engine.AccountID(n)
}

// An order of the built-in account is limited to 10^29 units of the quote, new or replaced, like the orders of all
// accounts.
func TestBuiltinOrdersStayWithinTheLargestOrder(t *testing.T) {
	h := servertest.NewExchange(t)
	h.MustInternal("POST", "/pairs", `{"code":"FOO_BAR","digitsPrice":0,"digitsAmount":0,"makerFee":0,"takerFee":0,`+
		`"maxPrice":1000000000000000000,"maxAmount":1000000000000000000}`)
	const bid = `{"currencyPairCode":"FOO_BAR","side":"buy","type":"limit","price":%d,"amount":%d}`
	w := h.MustInternal("POST", "/orders", fmt.Sprintf(bid, int64(1e12), int64(1e9)+1))
	if w["status"] != "Rejected" || w["rejectReason"] != "total_out_of_range" {
		t.Fatalf("a bid beyond 10^21 BAR of 8 digits: %v", w)
	}
	h.MustInternal("POST", "/orders", fmt.Sprintf(bid, int64(1e12), int64(1e9)))
	for _, change := range []string{`{"price":1000000000001}`, `{"amount":1000000001}`} {
		a := h.CallInternal("PATCH", "/orders/1", change)
		h.CheckRefusal("a replace beyond 10^21", a, 400, "TOTAL_OUT_OF_RANGE", "amount")
	}
	u := h.User(`"nickname":"uma"`)
	h.Deposit(u, "FOO", "1000000000")
	u.Place(`{"side":"sell","currencyPairCode":"FOO_BAR","isMarket":true,"amount":1000000000}`)
	if got := u.Balance("BAR"); got != "1000000000000000000000.0 0.0" {
		t.Errorf("the proceeds of the largest trade: %s", got)
	}
}
