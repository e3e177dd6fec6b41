package binance

import (
	"net/netip"
	"strconv"
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

// Options configures a Facade. All members but Engine and Seed are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock
	// Engine holds the limits that filters show.
	Engine engine.Options
	Entry  *entry.Entry
	Users  Users
	// Seed is the directory's; the ids of orders that were sent without one depend on it.
	Seed uint64
}

// Users reads the accounts. Any goroutine may call it.
type Users interface {
	// VerifyPayload checks a request that signs its parameters as one text.
	VerifyPayload(p *auth.Payload) (auth.Principal, *refuse.Refusal)
	// Balances returns the non-zero balances of an account.
	Balances(account engine.AccountID) []accounts.BalanceView
	// Terms returns the fee terms of an account.
	Terms(account engine.AccountID) accounts.Terms
	// Identify returns the principal of an active key that may be used from an address.
	Identify(publicKey string, remote netip.Addr) (auth.Principal, *refuse.Refusal)
	// Settled returns the balances of an account without reservations.
	Settled(account engine.AccountID) []accounts.BalanceView
}

// Facade translates the interface. Any goroutine may use it.
type Facade struct {
	opt     Options
	ids     clientIDs
	weights *weights
	symbols atomic.Pointer[symbols]
	sockets sockets
	keys    listenKeys
	feed    *UserFeed
	stats   facadeStats
}

// New returns a facade.
func New(o Options) *Facade {
	return &Facade{
		opt: o, ids: newClientIDs(o.Seed), weights: newWeights(), sockets: sockets{stop: make(chan struct{})}, feed: newUserFeed(&o),
	}
}

// security names the proof that a route asks for.
type security uint8

const (
	open   security = iota // nothing
	keyed                  // the name of a key: libraries sign neither the start nor the end of a user data stream
	signed                 // a signature
)

// endpoint is one route, and the method of the WebSocket API that answers the same. With a weight of 0
// the handler counts the weight.
type endpoint struct {
	method, path string
	api          string // "": not in the WebSocket API
	weight       int
	security     security
	handle       func(q *call) ([]byte, *failure)
}

// Edge returns the routes for the listener; nil for a nil Facade.
func (f *Facade) Edge() *edge.Facade {
	if f == nil {
		return nil
	}
	out := &edge.Facade{Refuse: sendRefusal, Routes: f.streamRoutes(), Expose: weightHeaders[:]}
	for _, e := range endpoints() {
		out.Routes = append(out.Routes, &edge.Route{
			Method: e.method, Path: e.path, Class: edge.ClassExempt, Auth: edge.AuthNever, Public: e.security == open,
			Time: e.path == "/api/v3/time",
			Handle: func(c *edge.Ctx) *refuse.Refusal {
				f.serve(c, &e)
				return nil
			},
		})
	}
	return out
}

// endpoints lists the REST routes. Two paths serve recent trades: some libraries still use the path of an earlier
// version of the Binance API.
func endpoints() []endpoint {
	const (
		get, post = fasthttp.MethodGet, fasthttp.MethodPost
		put, del  = fasthttp.MethodPut, fasthttp.MethodDelete
	)
	return []endpoint{
		{get, "/api/v3/ping", "ping", 1, open, ping},
		{get, "/api/v3/time", "time", 1, open, serverTime},
		{get, "/api/v3/exchangeInfo", "exchangeInfo", 20, open, exchangeInfo},
		{get, "/api/v3/depth", "depth", 0, open, depth},
		{get, "/api/v3/trades", "trades.recent", 25, open, trades},
		{get, "/api/v1/trades", "", 25, open, trades},
		{get, "/api/v3/historicalTrades", "trades.historical", 25, open, historicalTrades},
		{get, "/api/v3/aggTrades", "trades.aggregate", 4, open, aggTrades},
		{get, "/api/v3/klines", "klines", 2, open, klines},
		{get, "/api/v3/uiKlines", "uiKlines", 2, open, klines},
		{get, "/api/v3/avgPrice", "avgPrice", 2, open, avgPrice},
		{get, "/api/v3/ticker/24hr", "ticker.24hr", 0, open, ticker24h},
		{get, "/api/v3/ticker/tradingDay", "ticker.tradingDay", 0, open, tradingDay},
		{get, "/api/v3/ticker/price", "ticker.price", 0, open, price},
		{get, "/api/v3/ticker/bookTicker", "ticker.book", 0, open, bookTicker},
		{get, "/api/v3/ticker", "ticker", 0, open, rolling},
		{get, "/sapi/v1/system/status", "", 1, open, systemStatus},
		{get, "/fapi/v1/exchangeInfo", "", 1, open, noContracts},
		{get, "/dapi/v1/exchangeInfo", "", 1, open, noContracts},
		{post, "/api/v3/order", "order.place", 1, signed, place},
		{post, "/api/v3/order/test", "order.test", 1, signed, test},
		{get, "/api/v3/order", "order.status", 4, signed, order},
		{del, "/api/v3/order", "order.cancel", 1, signed, cancel},
		{post, "/api/v3/order/cancelReplace", "order.cancelReplace", 1, signed, cancelReplace},
		{put, "/api/v3/order/amend/keepPriority", "order.amend.keepPriority", 4, signed, amend},
		{get, "/api/v3/openOrders", "openOrders.status", 0, signed, openOrders},
		{del, "/api/v3/openOrders", "openOrders.cancelAll", 1, signed, cancelAll},
		{get, "/api/v3/allOrders", "allOrders", 20, signed, allOrders},
		{get, "/api/v3/myTrades", "myTrades", 20, signed, myTrades},
		{get, "/api/v3/account", "account.status", 20, signed, account},
		{get, "/api/v3/account/commission", "account.commission", 20, signed, commission},
		{post, "/api/v3/userDataStream", "userDataStream.start", 2, keyed, startStream},
		{put, "/api/v3/userDataStream", "userDataStream.ping", 2, keyed, keepStream},
		{del, "/api/v3/userDataStream", "userDataStream.stop", 2, keyed, endStream},
		{get, "/sapi/v1/asset/tradeFee", "", 1, signed, tradeFee},
		{get, "/sapi/v1/capital/config/getall", "", 10, signed, coins},
		{get, "/sapi/v1/margin/isolated/allPairs", "", 1, signed, nothing},
		{get, "/sapi/v1/margin/allPairs", "", 1, open, nothing},
	}
}

// weightHeaders name the weight that the client's address has used in this minute.
var weightHeaders = [...]string{"X-MBX-USED-WEIGHT", "X-MBX-USED-WEIGHT-1M"}

// serve answers one request over HTTP.
func (f *Facade) serve(c *edge.Ctx, e *endpoint) {
	q := &call{f: f, from: peer{c.ClientAddr(), c.Unlimited()}, skewNs: c.SkewNs()}
	body, err := q.run(e, func() *failure {
		return q.readParams(c.URI().QueryString(), form(c))
	}, func() auth.Payload { return signedText(c) })
	if q.used > 0 {
		text := strconv.FormatInt(q.used, 10)
		for _, name := range weightHeaders {
			c.Response.Header.Set(name, text)
		}
	}
	if err != nil {
		err.send(c.RequestCtx)
		return
	}
	c.PlainDecimals()
	c.Private(body)
}

// run carries out a call: it pays, reads the parameters, checks the credentials that payload returns, and calls the
// handler.
func (q *call) run(e *endpoint, read func() *failure, payload func() auth.Payload) ([]byte, *failure) {
	if e.weight > 0 {
		if err := q.pay(e.weight); err != nil {
			return nil, err
		}
	}
	if err := read(); err != nil {
		return nil, err
	}
	if err := q.checkCredentials(e.security, payload); err != nil {
		q.f.stats.countRefusal(err)
		return nil, err
	}
	body, err := e.handle(q)
	if err != nil {
		return nil, err
	}
	return body, q.unread()
}
