package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/stream"
)

// maxWorst limits the rounds of O2: each fills a market with a million orders.
const maxWorst = 3

// longestStep is the row of O2; each request has another one.
const longestStep = "longest step of the loop, of all requests"

// runWorst measures O2 (docs/internals/performance.md#o2): the CPU time that the loop's thread spends on one step while
// a request needs as much work as the limits allow. Each round measures a new exchange, so that none profits from the
// one before. Loop, stores and hub are stepped on this thread, with every sink of the exchange.
func runWorst(r *Run) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return r.rounds("requests", min(r.Rounds, maxWorst), func(f figures) error {
		dir, err := r.temp("worst")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
		w := &worstMarket{found: func(name string, took []time.Duration) {
			slices.Sort(took)
			r.also(row{name: name, unit: "ms", how: worst, with: fmt.Sprintf("longest of %d steps, median %.3f ms",
				len(took), ms(took[len(took)/2]))})
			longest := ms(took[len(took)-1])
			f[name], f[longestStep] = max(f[name], longest), max(f[longestStep], longest)
		}}
		if err := w.start(dir); err != nil {
			return err
		}
		w.requests()
		w.x.Stop(context.Background())
		return w.failed
	})
}

// worstMarket is an exchange that one goroutine steps, on one thread.
type worstMarket struct {
	x      *exchange.Running
	steps  serial
	users  []string // ids
	nonce  int
	found  func(name string, took []time.Duration) // receives the steps of a request
	failed error                                   // the first one
}

// fail notes the first failure.
func (w *worstMarket) fail(format string, args ...any) {
	if w.failed == nil {
		w.failed = fmt.Errorf("worst: "+format, args...)
	}
}

// start opens an exchange with the settings of serve.
func (w *worstMarket) start(dir string) error {
	o := exchange.Options{
		Dir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Rate:      edge.RateConfig{Allow: []string{"127.0.0.0/8"}},
		Accounts:  accounts.Settings{Referral: accounts.DefaultConfig()},
		Launchpad: launchpad.DefaultOptions(), Hive: hive.DefaultOptions(),
		Sim: exchange.SimOptions{SimConfig: exchange.SimConfig{Seed: 1}},
	}
	o.Machine.Driver = &w.steps
	o.Hooks.Account = func(o *account.Options) { o.Exchange = timed{o.Exchange, &w.steps} }
	o.Hooks.Admin = func(o *admin.Options) { o.Exchange = timedAdmin{timed{o.Exchange, &w.steps}, o.Exchange} }
	opened, err := exchange.Open(o)
	if err != nil {
		return err
	}
	recovered, err := opened.Recover(context.Background())
	if err != nil {
		return err
	}
	if w.x, err = recovered.Start(context.Background()); err != nil {
		return err
	}
	w.x.Admit()
	return nil
}

// measure runs a request and notes the longest step that it takes.
func (w *worstMarket) measure(name string, request func()) {
	if w.failed != nil {
		return
	}
	w.steps.took = w.steps.took[:0]
	request()
	if w.failed != nil {
		return
	}
	if len(w.steps.took) == 0 { // the loop has no part in the request
		w.steps.took = append(w.steps.took, 0)
	}
	w.found(name, w.steps.took)
}

// serial is a driver that steps every component in turn, and measures the steps of the loop.
type serial struct {
	all  []*serialStep
	took []time.Duration // of the loop's steps, and of the reads that it makes for handlers
}

type serialStep struct {
	step.Stepper
	loop, busy, stopped bool
}

// Drive implements step.Driver.
func (d *serial) Drive(name string, s step.Stepper) {
	d.all = append(d.all, &serialStep{Stepper: s, loop: name == "loop"})
}

// Wait implements step.Driver.
func (d *serial) Wait(c <-chan struct{}) {
	for {
		select {
		case <-c:
			return
		default:
			d.round()
		}
	}
}

// round steps every component once, except those that wait for this one.
func (d *serial) round() {
	for _, s := range d.all {
		if s.busy || s.stopped {
			continue
		}
		s.busy = true
		before := proc.ThreadCPU()
		s.stopped = s.Step().Stopped
		if took := proc.ThreadCPU() - before; s.loop {
			d.took = append(d.took, took)
		}
		s.busy = false
	}
}

// timed runs the reads that handlers make, and notes how long the loop is busy with each part. With a driver, a read
// that need not wait runs outside the steps of the loop.
type timed struct {
	readsAndWrites
	steps *serial
}

// readsAndWrites is the interface of the loop for handlers.
type readsAndWrites interface {
	Submit(b *sequencer.Batch) error
	Query(fn func()) error
	QueryPair(p engine.PairID, fn func()) error
	QueryParts(p engine.PairID, read func(pause func())) error
}

// Query implements readsAndWrites.
func (t timed) Query(fn func()) error { return t.readsAndWrites.Query(t.whole(fn)) }

// QueryPair implements readsAndWrites.
func (t timed) QueryPair(p engine.PairID, fn func()) error {
	return t.readsAndWrites.QueryPair(p, t.whole(fn))
}

func (t timed) whole(fn func()) func() {
	return func() {
		before := proc.ThreadCPU()
		fn()
		t.steps.took = append(t.steps.took, proc.ThreadCPU()-before)
	}
}

// QueryParts implements readsAndWrites.
func (t timed) QueryParts(p engine.PairID, read func(pause func())) error {
	return t.readsAndWrites.QueryParts(p, func(pause func()) {
		before := proc.ThreadCPU()
		read(func() {
			t.steps.took = append(t.steps.took, proc.ThreadCPU()-before)
			pause()
			before = proc.ThreadCPU()
		})
		t.steps.took = append(t.steps.took, proc.ThreadCPU()-before)
	})
}

// timedAdmin is timed for the internal listener, which also moves a virtual clock.
type timedAdmin struct {
	timed
	clock admin.Exchange
}

// AdvanceTo implements admin.Exchange.
func (t timedAdmin) AdvanceTo(ns int64) error { return t.clock.AdvanceTo(ns) }

// Sizes of the market of O2.
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
	defer c.Close()
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
