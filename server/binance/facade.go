package binance

import (
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// Options configures a Facade. All members but Engine are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock
	// Engine holds the limits that filters show.
	Engine engine.Options
	Entry  *entry.Entry
	Users  Users
}

// Users reads the accounts. Any goroutine may call it.
type Users interface {
	// VerifyPayload checks a request that signs its parameters as one text.
	VerifyPayload(p *auth.Payload) (auth.Principal, *refuse.Refusal)
	// Balances returns the non-zero balances of an account.
	Balances(account engine.AccountID) []accounts.BalanceView
	// Terms returns the fee terms of an account.
	Terms(account engine.AccountID) accounts.Terms
}

// Facade translates the interface. Any goroutine may use it.
type Facade struct {
	opt     Options
	weights *weights
	symbols atomic.Pointer[symbols]
	sockets sockets
}

// New returns a facade.
func New(o Options) *Facade {
	return &Facade{opt: o, weights: newWeights(), sockets: sockets{stop: make(chan struct{})}}
}

// endpoint is one route. A weight of 0 means that the handler pays.
type endpoint struct {
	method, path string
	weight       int
	signed       bool
	handle       func(q *call) ([]byte, *failure)
}

// Edge returns the routes for the listener; nil for a nil Facade.
func (f *Facade) Edge() *edge.Facade {
	if f == nil {
		return nil
	}
	out := &edge.Facade{Refuse: sendRefusal, Routes: f.streamRoutes()}
	for _, e := range endpoints() {
		out.Routes = append(out.Routes, &edge.Route{
			Method: e.method, Path: e.path, Class: edge.ClassExempt, Auth: edge.AuthNever, Public: !e.signed,
			Time: e.path == "/api/v3/time",
			Handle: func(c *edge.Ctx) *refuse.Refusal {
				f.serve(c, &e)
				return nil
			},
		})
	}
	return out
}

// endpoints lists the routes. The first path of trades is the one that libraries still use.
func endpoints() []endpoint {
	const (
		get, post = fasthttp.MethodGet, fasthttp.MethodPost
		put, del  = fasthttp.MethodPut, fasthttp.MethodDelete
	)
	return []endpoint{
		{get, "/api/v3/ping", 1, false, ping},
		{get, "/api/v3/time", 1, false, serverTime},
		{get, "/api/v3/exchangeInfo", 20, false, exchangeInfo},
		{get, "/api/v3/depth", 0, false, depth},
		{get, "/api/v3/trades", 25, false, trades},
		{get, "/api/v1/trades", 25, false, trades},
		{get, "/api/v3/historicalTrades", 25, false, historicalTrades},
		{get, "/api/v3/aggTrades", 4, false, aggTrades},
		{get, "/api/v3/klines", 2, false, klines},
		{get, "/api/v3/uiKlines", 2, false, klines},
		{get, "/api/v3/avgPrice", 2, false, avgPrice},
		{get, "/api/v3/ticker/24hr", 0, false, ticker24h},
		{get, "/api/v3/ticker/tradingDay", 0, false, tradingDay},
		{get, "/api/v3/ticker/price", 0, false, price},
		{get, "/api/v3/ticker/bookTicker", 0, false, bookTicker},
		{get, "/api/v3/ticker", 0, false, rolling},
		{get, "/sapi/v1/system/status", 1, false, systemStatus},
		{get, "/fapi/v1/exchangeInfo", 1, false, noContracts},
		{get, "/dapi/v1/exchangeInfo", 1, false, noContracts},
		{post, "/api/v3/order", 1, true, place},
		{post, "/api/v3/order/test", 1, true, test},
		{get, "/api/v3/order", 4, true, order},
		{del, "/api/v3/order", 1, true, cancel},
		{post, "/api/v3/order/cancelReplace", 1, true, cancelReplace},
		{put, "/api/v3/order/amend/keepPriority", 4, true, amend},
		{get, "/api/v3/openOrders", 0, true, openOrders},
		{del, "/api/v3/openOrders", 1, true, cancelAll},
		{get, "/api/v3/allOrders", 20, true, allOrders},
		{get, "/api/v3/myTrades", 20, true, myTrades},
		{get, "/api/v3/account", 20, true, account},
		{get, "/api/v3/account/commission", 20, true, commission},
		{get, "/sapi/v1/asset/tradeFee", 1, true, tradeFee},
		{get, "/sapi/v1/capital/config/getall", 10, true, coins},
		{get, "/sapi/v1/margin/isolated/allPairs", 1, true, nothing},
		{get, "/sapi/v1/margin/allPairs", 1, false, nothing},
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
	if e.signed || q.sent("signature") { // libraries sign more than they need to
		if err := q.signed(); err != nil {
			return nil, err
		}
	}
	body, err := e.handle(q)
	if err != nil {
		return nil, err
	}
	return body, q.unread()
}
