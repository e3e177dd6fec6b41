package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"tickhive/client"
	"tickhive/server/stream"
)

// Sizes of the market of worstCmd.
const (
	worstSide   = 500_000 // resting orders of a side, all of one account
	worstStops  = 10_000  // stops that one trade triggers: 50 accounts with 200 each
	worstBatch  = 1000
	worstDeepTo = 100_000 // orders and deals in front of the page of a list
)

// requests fills a market with a million resting orders and sends each request that the limits let grow. The private
// streams of both owners of the orders are open, so that every trade and cancel makes messages too.
func (w *worstMarket) requests() {
	w.call("POST", "/pairs", `{"code":"AA_BB","digitsPrice":0,"digitsAmount":0}`)
	for i := range 53 {
		var u struct{ ID string }
		w.into(w.call("POST", "/users", fmt.Sprintf(`{"nickname":"user-%d","unlimited":true}`, i)), &u)
		w.users = append(w.users, u.ID)
	}
	w.fill("sell", w.users[0], 100_100)
	w.fill("buy", w.users[1], 99_900)
	w.reads()
	w.writes()
}

// reads measures requests that change nothing.
func (w *worstMarket) reads() {
	w.get("full book", "GET", "/book/AA_BB")
	w.get("state hash (by a follower)", "GET", "/state-hash")
	for _, u := range w.users[:2] {
		k := w.newKey(u)
		w.measure("snapshot of 10,000 own orders", func() { w.subscribe(k) })
		if u == w.users[0] {
			w.measure("a deep page of open orders", func() {
				w.signed(k, fmt.Sprintf("/api/user/orders?status=active&pageSize=100&pageNumber=%d", worstDeepTo/100))
			})
		}
	}
}

// writes measures requests that change the market; each leaves what the next one needs.
func (w *worstMarket) writes() {
	seller, buyer, taker := w.users[0], w.users[1], w.users[2]
	place := func(name, order string) { w.post(name, "/orders", order) }
	place("fill-or-kill that cannot be filled", w.order(taker, "buy", `"type":"limit","price":200000,`+
		`"timeInForce":"fok","amount":1000000000`))
	w.post("batch of 1,000 fill-or-kills", "/orders/batch", w.batch(worstBatch, func(int) string {
		return w.order(taker, "buy", `"type":"limit","price":200000,"timeInForce":"fok","amount":1000000000`)
	}))
	w.post("batch of 1,000 orders", "/orders/batch", w.batch(worstBatch, func(i int) string {
		return w.order(taker, "sell", fmt.Sprintf(`"type":"limit","price":%d,"amount":1`, 300_000+i))
	}))
	w.stops()
	place("10,000 stops", w.order(taker, "buy", `"type":"market","amount":1`))
	w.call("POST", "/orders", w.order(taker, "sell",
		`"type":"limit","price":100000,"amount":200000,"displayAmount":200`))
	place("1,000 refills of an iceberg", w.order(buyer, "buy", `"type":"limit","price":100000,"amount":200000`))
	place("self-trade cancels", w.order(seller, "buy", `"type":"limit","price":200000,"timeInForce":"ioc",`+
		`"amount":1000000000,"selfTradePrevention":"cancel_maker"`))
	place("sweep of 100,000 orders", w.order(taker, "sell", `"type":"limit","price":95000,"amount":100000`))
	k := w.newKey(buyer)
	w.measure("a deep page of deals", func() {
		w.signed(k, fmt.Sprintf("/api/user/deals?pageSize=100&pageNumber=%d", worstDeepTo/100-1))
	})
	w.measure("mass cancel of an account", func() { w.call("DELETE", "/orders?accountId="+buyer, "") })
	w.measure("mass cancel of a pair", func() { w.call("DELETE", "/orders?currencyPairCode=AA_BB", "") })
	w.measure("a deep page of closed orders", func() {
		w.signed(k, fmt.Sprintf("/api/user/orders?status=canceled&pageSize=100&pageNumber=%d", worstDeepTo/2/100))
	})
}

func (w *worstMarket) get(name, method, path string) {
	w.measure(name, func() { w.call(method, path, "") })
}

func (w *worstMarket) post(name, path, body string) {
	w.measure(name, func() { w.call("POST", path, body) })
}

func (w *worstMarket) order(user, side, rest string) string {
	return fmt.Sprintf(`{"accountId":%q,"currencyPairCode":"AA_BB","side":%q,%s}`, user, side, rest)
}

func (w *worstMarket) batch(n int, order func(i int) string) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `,{"place":%s}`, order(i))
	}
	return `{"commands":[` + s.String()[1:] + `]}`
}

// fill places worstSide orders on 5,000 levels, away from a price.
func (w *worstMarket) fill(side, user string, from int) {
	for at := 0; at < worstSide; at += worstBatch {
		w.call("POST", "/orders/batch", w.batch(worstBatch, func(i int) string {
			away := (at + i) * 7919 % 5000
			if side == "buy" {
				away = -away
			}
			return w.order(user, side, fmt.Sprintf(`"type":"limit","price":%d,"amount":1`, from+away))
		}))
	}
}

// stops places the stops of 50 accounts, and the order whose trade reaches them.
func (w *worstMarket) stops() {
	w.call("POST", "/orders", w.order(w.users[2], "sell", `"type":"limit","price":99900,"amount":1`))
	for k := range worstStops / 200 {
		w.call("POST", "/orders/batch", w.batch(200, func(int) string {
			return w.order(w.users[3+k], "buy", `"type":"stop_limit","stopPrice":100000,"price":50000,"amount":1`)
		}))
	}
	w.call("POST", "/orders", w.order(w.users[0], "sell", `"type":"limit","price":100000,"amount":1`))
}

// call sends a request to the internal listener and returns its body.
func (w *worstMarket) call(method, path, body string) []byte {
	return w.send(nil, method, "/internal/v1"+path, body)
}

// worstKey signs requests.
type worstKey struct{ PublicKey, PrivateKey string }

func (w *worstMarket) newKey(user string) *worstKey {
	k := &worstKey{}
	w.into(w.call("POST", "/users/"+user+"/apikeys", `{"name":"bench"}`), k)
	return k
}

// signed sends a signed GET.
func (w *worstMarket) signed(k *worstKey, target string) { w.send(k, "GET", target, "") }

// credentials signs a request.
func (w *worstMarket) credentials(k *worstKey, method, target string) (stamp, nonce, signature string) {
	w.nonce++
	stamp, nonce = strconv.FormatInt(time.Now().UnixMilli(), 10), "n"+strconv.Itoa(w.nonce)
	return stamp, nonce, client.Sign(k.PrivateKey, stamp, nonce, method, target, nil)
}

// send calls a handler: of the public listener with a key, else of the internal one.
func (w *worstMarket) send(k *worstKey, method, target, body string) []byte {
	if w.failed != nil {
		return nil
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40_000}, nil)
	r := &ctx.Request
	r.Header.SetMethod(method)
	r.SetRequestURI(target)
	r.Header.SetHost("localhost")
	if body != "" {
		r.Header.SetContentType("application/json")
		r.SetBodyString(body)
	}
	handler := w.x.Internal().Handler()
	if k != nil {
		stamp, nonce, signature := w.credentials(k, method, target)
		for name, value := range map[string]string{
			"API-PublicKey": k.PublicKey, "API-Timestamp": stamp, "API-Nonce": nonce, "API-Signature": signature,
		} {
			r.Header.Set(name, value)
		}
		handler = w.x.Public().Handler()
	}
	handler(&ctx)
	answer := ctx.Response.Body()
	refused := bytes.Contains(answer, []byte(`"status":"Rejected"`)) && !strings.Contains(body, `"fok"`)
	if refused || ctx.Response.StatusCode() != fasthttp.StatusOK {
		w.fail("%s %s: %d %.500s", method, target, ctx.Response.StatusCode(), answer)
	}
	if k != nil && len(answer) < 100 {
		w.fail("%s %s: a page without rows: %s", method, target, answer)
	}
	return answer
}

// into decodes an answer.
func (w *worstMarket) into(answer []byte, v any) {
	if w.failed != nil {
		return
	}
	if err := json.Unmarshal(answer, v); err != nil {
		w.fail("%v: %.300s", err, answer)
	}
}

// subscribe opens the private streams of a key and takes the snapshot of its orders. The connection stays open.
func (w *worstMarket) subscribe(k *worstKey) {
	c := stream.Connect(w.x.Hub())
	stamp, nonce, signature := w.credentials(k, "GET", "/ws")
	c.Send(fmt.Appendf(nil, `{"op":"auth","publicKey":%q,"timestamp":%s,"nonce":%q,"signature":%q}`,
		k.PublicKey, stamp, nonce, signature))
	c.Send([]byte(`{"op":"subscribe","channel":"orders"}`))
	c.Send([]byte(`{"op":"subscribe","channel":"fills"}`))
	for range 1000 {
		w.steps.round()
		if w.snapshotOf(c) {
			return
		}
	}
	w.fail("no snapshot of the channel orders")
}

// snapshotOf takes the messages of a connection and reports whether the snapshot of its orders is among them.
func (w *worstMarket) snapshotOf(c *stream.MemoryConn) bool {
	texts, _ := c.Take()
	for _, text := range texts {
		if bytes.HasPrefix(text, []byte(`{"type":"snapshot","channel":"orders"`)) {
			if n := bytes.Count(text, []byte(`"initialAmount"`)); n != 10_000 {
				w.fail("the snapshot has %d orders", n)
			}
			return true
		}
	}
	return false
}
