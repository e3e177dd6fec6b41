package binance

import (
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// Options configures a Facade. Board and Clock are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock
	// Engine holds the limits that filters show.
	Engine engine.Options
}

// Facade translates the interface. Any goroutine may use it.
type Facade struct {
	opt     Options
	weights *weights
	symbols atomic.Pointer[symbols]
}

// New returns a facade.
func New(o Options) *Facade { return &Facade{opt: o, weights: newWeights()} }

// endpoint is one route. A weight of 0 means that the handler pays.
type endpoint struct {
	method, path string
	weight       int
	handle       func(q *call) ([]byte, *failure)
}

// Edge returns the routes for the listener; nil for a nil Facade.
func (f *Facade) Edge() *edge.Facade {
	if f == nil {
		return nil
	}
	out := &edge.Facade{Refuse: sendRefusal}
	for _, e := range f.endpoints() {
		out.Routes = append(out.Routes, &edge.Route{
			Method: e.method, Path: e.path, Class: edge.ClassExempt, Auth: edge.AuthNever, Public: true,
			Time: e.path == "/api/v3/time",
			Handle: func(c *edge.Ctx) *refuse.Refusal {
				f.serve(c, &e)
				return nil
			},
		})
	}
	return out
}

func (f *Facade) endpoints() []endpoint {
	const get = fasthttp.MethodGet
	return []endpoint{
		{get, "/api/v3/ping", 1, (*call).ping},
		{get, "/api/v3/time", 1, (*call).time},
		{get, "/api/v3/exchangeInfo", 20, (*call).exchangeInfo},
		{get, "/api/v3/depth", 0, (*call).depth},
		{get, "/api/v3/trades", 25, (*call).trades},
		{get, "/api/v1/trades", 25, (*call).trades}, // libraries still use the path of the first version
		{get, "/api/v3/historicalTrades", 25, (*call).historicalTrades},
		{get, "/api/v3/aggTrades", 4, (*call).aggTrades},
		{get, "/api/v3/klines", 2, (*call).klines},
		{get, "/api/v3/uiKlines", 2, (*call).klines},
		{get, "/api/v3/avgPrice", 2, (*call).avgPrice},
		{get, "/api/v3/ticker/24hr", 0, (*call).ticker24h},
		{get, "/api/v3/ticker/tradingDay", 0, (*call).tradingDay},
		{get, "/api/v3/ticker/price", 0, (*call).price},
		{get, "/api/v3/ticker/bookTicker", 0, (*call).bookTicker},
		{get, "/api/v3/ticker", 0, (*call).rolling},
		{get, "/sapi/v1/system/status", 1, (*call).systemStatus},
		{get, "/fapi/v1/exchangeInfo", 1, (*call).noContracts},
		{get, "/dapi/v1/exchangeInfo", 1, (*call).noContracts},
	}
}

// serve answers one request.
func (f *Facade) serve(c *edge.Ctx, e *endpoint) {
	q := &call{Ctx: c, f: f}
	body, err := q.run(e)
	if err != nil {
		err.send(c.RequestCtx)
		return
	}
	c.PlainDecimals()
	c.Private(body)
}

func (q *call) run(e *endpoint) ([]byte, *failure) {
	if e.weight > 0 {
		if err := q.pay(e.weight); err != nil {
			return nil, err
		}
	}
	if err := q.readParams(); err != nil {
		return nil, err
	}
	body, err := e.handle(q)
	if err != nil {
		return nil, err
	}
	return body, q.unread()
}
