package admin_test

import (
	"encoding/json"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// The first figures are those since the start: rates times their span are what has happened.
func TestFiguresCountWhatHappened(t *testing.T) {
	h := servertest.NewExchange(t)
	h.MustInternal("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":4}`)
	for range 7 {
		h.MustInternal("POST", "/orders",
			`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":1}`)
	}
	h.MustInternal("POST", "/orders",
		`{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":100,"amount":1.5}`)
	h.MustInternal("POST", "/faults", `{"rules":["status route=/api/time status=503"]}`)
	for range 3 {
		h.Send(h.Public, "GET", "/api/time", "", nil)
	}
	h.Send(h.Public, "GET", "/api/orderbook", "", nil)

	type rates struct {
		PerSecond, RefusedPerSecond, FailedPerSecond float64
		P50Us, P99Us                                 *int64
	}
	type route struct {
		Listener, Method, Path string
		Total                  int
		rates
	}
	var f struct {
		SpanMs   float64
		Status   string
		Requests rates
		Routes   []route
		Loop     struct {
			OrdersPerSecond, TradesPerSecond, RejectsPerSecond float64
			Queue, QueueLimit                                  int
			WaitP50Us                                          *int64
		}
		Process struct{ HeapBytes uint64 }
		Logs    []json.RawMessage
		Disk    *struct{}
		Faults  []struct{ Applied int }
	}
	a := h.CallInternal("GET", "/figures", "")
	servertest.Parse(t, a.Body, &f)
	times := func(perSecond float64) int { return int(perSecond*f.SpanMs/1000 + 0.5) }
	if f.Status != "ok" || times(f.Loop.OrdersPerSecond) != 8 || times(f.Loop.TradesPerSecond) != 2 ||
		f.Loop.RejectsPerSecond != 0 || f.Loop.Queue != 0 || f.Loop.QueueLimit != 4096 || f.Loop.WaitP50Us == nil {
		t.Errorf("the loop: %s", a.Body)
	}
	if times(f.Requests.PerSecond) != 14 || times(f.Requests.FailedPerSecond) != 3 ||
		times(f.Requests.RefusedPerSecond) != 1 || f.Requests.P99Us == nil {
		t.Errorf("the requests: %+v", f.Requests)
	}
	totals := map[string]int{}
	for i, r := range f.Routes {
		totals[r.Listener+" "+r.Method+" "+r.Path] = r.Total
		if i > 0 && r.PerSecond > f.Routes[i-1].PerSecond {
			t.Errorf("%s is busier than the route before it", r.Path)
		}
	}
	if totals["internal POST /internal/v1/orders"] != 8 || totals["public GET /api/time"] != 3 ||
		totals["public GET /api/orderbook"] != 1 || len(totals) != 5 {
		t.Errorf("the routes: %v", totals)
	}
	if f.Process.HeapBytes == 0 || len(f.Logs) != 0 || f.Disk != nil || len(f.Faults) != 1 || f.Faults[0].Applied != 3 {
		t.Errorf("%s", a.Body)
	}
	h.CheckRefusal("a long span", h.CallInternal("GET", "/figures?span=61", ""), 400, "INVALID_PARAM", "span")
}
