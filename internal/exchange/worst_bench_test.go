package exchange_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"tickhive/bench/proc"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/step"
)

// Sizes of BenchmarkWorstRequest.
const (
	worstSide  = 500_000 // resting orders of a side
	worstStops = 10_000  // stops that one trade triggers: 50 accounts with 200 each
	worstBatch = 1000
)

// BenchmarkWorstRequest is O2 (docs/internals/performance.md#o2): the CPU time that the loop's thread spends on one
// step, with every sink of the exchange, while a request needs as much work as the limits allow. A million orders of
// accounts rest. The time of a step is how long the requests of other pairs wait.
func BenchmarkWorstRequest(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	found := map[string][]float64{} // ms of the longest step, by request
	for b.Loop() {
		w := newWorst(b, found)
		w.fill("sell", w.users[0], 100_100)
		w.fill("buy", w.users[1], 99_900)
		taker := w.users[2]
		w.measure("book", "GET", "/book/AA_BB", "")
		w.measure("fill-or-kill", "POST", "/orders", w.order(taker, "buy", `"type":"limit","price":200000,`+
			`"timeInForce":"fok","amount":1000000000`))
		w.measure("batch of 1,000", "POST", "/orders/batch", w.batch(worstBatch, func(i int) string {
			return w.order(taker, "sell", fmt.Sprintf(`"type":"limit","price":%d,"amount":1`, 300_000+i))
		}))
		w.stops()
		w.measure("10,000 stops", "POST", "/orders", w.order(taker, "buy", `"type":"market","amount":1`))
		w.call("POST", "/orders", w.order(taker, "sell",
			`"type":"limit","price":100000,"amount":200000,"displayAmount":200`))
		w.measure("1,000 refills", "POST", "/orders", w.order(w.users[1], "buy",
			`"type":"limit","price":100000,"amount":200000`))
		w.measure("self-trade cancels", "POST", "/orders", w.order(w.users[0], "buy",
			`"type":"limit","price":200000,"timeInForce":"ioc","amount":1000000000,`+
				`"selfTradePrevention":"cancel_maker"`))
		w.measure("sweep", "POST", "/orders", w.order(taker, "sell", `"type":"limit","price":95000,"amount":100000`))
		w.measure("mass cancel", "DELETE", "/orders?currencyPairCode=AA_BB", "")
		w.stop()
	}
	for name, ms := range found {
		slices.Sort(ms)
		unit := strings.NewReplacer(" ", "-", ",", "").Replace(name)
		b.ReportMetric(ms[len(ms)/2], unit+"-median-ms")
		b.ReportMetric(ms[len(ms)-1], unit+"-worst-ms")
	}
}

// worst is an exchange that one goroutine steps, on one thread.
type worst struct {
	found map[string][]float64
	b     *testing.B
	x     *exchange.Running
	steps serial
	users []string
}

func newWorst(b *testing.B, found map[string][]float64) *worst {
	b.Helper()
	w := &worst{b: b, found: found}
	o := exchangetest.Options(b.TempDir())
	o.Clock = exchange.ClockOptions{}
	o.Public.Listen, o.Internal.Listen = "", ""
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	o.Machine.Driver = &w.steps
	opened, err := exchange.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	recovered, err := opened.Recover(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if w.x, err = recovered.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	w.x.Admit()
	w.call("POST", "/pairs", `{"code":"AA_BB","digitsPrice":0,"digitsAmount":0}`)
	for i := range 53 {
		var u struct{ ID string }
		text := w.call("POST", "/users", fmt.Sprintf(`{"nickname":"user-%d","unlimited":true}`, i))
		if err := json.Unmarshal(text, &u); err != nil || u.ID == "" {
			b.Fatal(err, string(text))
		}
		w.users = append(w.users, u.ID)
	}
	return w
}

func (w *worst) stop() { w.x.Stop(context.Background()) }

func (w *worst) order(user, side, rest string) string {
	return fmt.Sprintf(`{"accountId":%q,"currencyPairCode":"AA_BB","side":%q,%s}`, user, side, rest)
}

func (w *worst) batch(n int, order func(i int) string) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `,{"place":%s}`, order(i))
	}
	return `{"commands":[` + s.String()[1:] + `]}`
}

// fill places worstSide orders on 5,000 levels, away from a price.
func (w *worst) fill(side, user string, from int) {
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
func (w *worst) stops() {
	w.call("POST", "/orders", w.order(w.users[2], "sell", `"type":"limit","price":99900,"amount":1`))
	for k := range worstStops / 200 {
		w.call("POST", "/orders/batch", w.batch(200, func(int) string {
			return w.order(w.users[3+k], "buy", `"type":"stop_limit","stopPrice":100000,"price":50000,"amount":1`)
		}))
	}
	w.call("POST", "/orders", w.order(w.users[0], "sell", `"type":"limit","price":100000,"amount":1`))
}

// measure sends a request and notes the longest step that it takes.
func (w *worst) measure(name, method, path, body string) {
	w.b.Helper()
	w.steps.took = w.steps.took[:0]
	w.call(method, path, body)
	took := w.steps.took
	slices.Sort(took)
	longest, whole := took[len(took)-1], time.Duration(0)
	for _, d := range took {
		whole += d
	}
	w.found[name] = append(w.found[name], float64(longest)/1e6)
	w.b.Logf("%-20s %4d steps, median %s, 99th percentile %s, longest %s, all %s", name, len(took),
		took[len(took)/2], took[len(took)*99/100], longest, whole)
}

func (w *worst) call(method, path, body string) []byte {
	w.b.Helper()
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40_000}, nil)
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI("/internal/v1" + path)
	ctx.Request.Header.SetHost("localhost")
	if body != "" {
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBodyString(body)
	}
	w.x.Internal().Handler()(&ctx)
	refused := bytes.Contains(ctx.Response.Body(), []byte(`"status":"Rejected"`)) && !strings.Contains(body, `"fok"`)
	if refused || ctx.Response.StatusCode() != fasthttp.StatusOK {
		w.b.Fatalf("%s %s: %d %.500s", method, path, ctx.Response.StatusCode(), ctx.Response.Body())
	}
	return ctx.Response.Body()
}

// serial is a driver that steps every component in turn, and measures the steps of the loop.
type serial struct {
	all  []*serialStep
	took []time.Duration // of the loop's steps
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
		}
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
}
