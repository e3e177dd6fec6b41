package binance

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// Options configures a Facade. All members but Engine, Seed, MachineNs and Sockets are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock
	// MachineNs is the machine's clock, by which limits count; nil: clock.MachineNs.
	MachineNs func() int64
	// Engine holds the limits that filters show.
	Engine engine.Options
	Entry  *entry.Entry
	Users  Users
	Feed   *private.Feed // events of accounts
	// Seed is the directory's; the ids of orders that were sent without one depend on it.
	Seed uint64
	// Faults holds the rules of faults on demand; nil: there are none.
	Faults *fault.Switch
	// Sockets has the intervals of the streams; how a client shows that it lives is the interface's.
	Sockets sockets.SocketOptions
}

// Users reads the accounts. Any goroutine may call it.
type Users interface {
	// VerifyPayload checks a request that signs its parameters as one text.
	VerifyPayload(p *auth.Payload) (auth.Principal, *refuse.Refusal)
	// Balances returns the non-zero balances of an account.
	Balances(account engine.AccountID) []accounts.BalanceView
	// Terms returns the fee terms of an account.
	Terms(account engine.AccountID) accounts.Terms
	// Keys returns the keys of an account.
	Keys(account engine.AccountID) []accounts.APIKeyView
	// Halted reports whether an operator has halted an account.
	Halted(account engine.AccountID) bool
	// Identify returns the principal of an active key that may be used from an address.
	Identify(publicKey string, remote netip.Addr) (auth.Principal, *refuse.Refusal)
}

// Facade translates the interface. Any goroutine may use it.
type Facade struct {
	opt      Options
	ids      clientIDs
	weights  *weights
	unfilled orderCounts
	symbols  atomic.Pointer[symbols]
	sockets  *sockets.Sockets
	rendered renderer
	faults   sockets.Faults
	keys     listenKeys
	stats    facadeStats
}

// New returns a facade.
func New(o Options) *Facade {
	if o.MachineNs == nil {
		o.MachineNs = clock.MachineNs
	}
	f := &Facade{
		opt: o, ids: newClientIDs(o.Seed), weights: newWeights(),
		unfilled: orderCounts{accounts: newLRU[engine.AccountID, *orderCount]()},
	}
	f.rendered = renderer{
		f: f, nowMs: tickMs, // so that no stream was sent at 0
		made: map[renderKey]*rendered{}, sockets: map[*socket]struct{}{},
	}
	f.opt.Sockets.AnyFrame, f.opt.Sockets.MaxPings = true, maxMessagesSec
	f.opt.Sockets.Life, f.opt.Sockets.Notice = connectionLife, lifeNotice
	f.sockets = sockets.NewSockets(&f.rendered, &f.opt.Sockets)
	f.faults = sockets.Faults{Rules: o.Faults, MachineNs: f.opt.Sockets.MachineNs}
	return f
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

// Routes returns the routes for the listener; nil for a nil Facade.
func (f *Facade) Routes() *edge.Facade {
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

// endpoints lists the REST routes.
func endpoints() []endpoint { return slices.Concat(marketEndpoints(), userEndpoints()) }

// marketEndpoints lists the routes of market data, which are open. Two paths serve recent trades: some libraries still
// use the path of an earlier version of the Binance API.
func marketEndpoints() []endpoint {
	const get = fasthttp.MethodGet
	return []endpoint{
		{get, "/api/v3/ping", "ping", 1, open, ping},
		{get, "/api/v3/time", "time", 1, open, serverTime},
		{get, "/api/v3/exchangeInfo", "exchangeInfo", 20, open, exchangeInfo},
		{get, "/api/v3/depth", "depth", 0, open, depth},
		{get, "/api/v3/trades", "trades.recent", 25, open, trades},
		{get, "/api/v1/trades", "", 25, open, trades},
		{get, "/api/v3/historicalTrades", "trades.historical", 25, open, historicalTrades},
		{get, "/api/v3/historicalBlockTrades", "blockTrades.historical", 25, open, noBlockTrades},
		{get, "/api/v3/aggTrades", "trades.aggregate", 4, open, aggTrades},
		{get, "/api/v3/klines", "klines", 2, open, klines},
		{get, "/api/v3/uiKlines", "uiKlines", 2, open, klines},
		{get, "/api/v3/avgPrice", "avgPrice", 2, open, avgPrice},
		{get, "/api/v3/ticker/24hr", "ticker.24hr", 0, open, ticker24h},
		{get, "/api/v3/ticker/tradingDay", "ticker.tradingDay", 0, open, tradingDay},
		{get, "/api/v3/ticker/price", "ticker.price", 0, open, price},
		{get, "/api/v3/ticker/bookTicker", "ticker.book", 0, open, bookTicker},
		{get, "/api/v3/ticker", "ticker", 0, open, rolling},
		{get, "/api/v3/executionRules", "executionRules", 0, open, executionRules},
		{get, "/api/v3/referencePrice", "referencePrice", 2, open, noReferencePrice},
		{get, "/api/v3/referencePrice/calculation", "referencePrice.calculation", 2, open, noReferencePrice},
		{get, "/sapi/v1/system/status", "", 1, open, systemStatus},
		{get, "/fapi/v1/time", "", 1, open, serverTime},
		{get, "/dapi/v1/time", "", 1, open, serverTime},
		{get, "/fapi/v1/exchangeInfo", "", 1, open, noContracts},
		{get, "/dapi/v1/exchangeInfo", "", 1, open, noContracts},
	}
}

// userEndpoints lists the routes of a user's orders, account and wallet. They ask for a key, but for two empty lists of
// margin trading, which stand beside the one that asks.
func userEndpoints() []endpoint {
	const (
		get, post = fasthttp.MethodGet, fasthttp.MethodPost
		put, del  = fasthttp.MethodPut, fasthttp.MethodDelete
	)
	return []endpoint{
		{post, "/api/v3/order", "order.place", 1, signed, place},
		{post, "/api/v3/order/test", "order.test", 0, signed, test},
		{get, "/api/v3/order", "order.status", 4, signed, order},
		{del, "/api/v3/order", "order.cancel", 1, signed, cancel},
		{post, "/api/v3/order/cancelReplace", "order.cancelReplace", 1, signed, cancelReplace},
		{put, "/api/v3/order/amend/keepPriority", "order.amend.keepPriority", 4, signed, amend},
		{get, "/api/v3/order/amendments", "order.amendments", 4, signed, amendments},
		{post, "/api/v3/order/oco", "orderList.place", 1, signed, placeList(engine.OCO, oldOCO)},
		{post, "/api/v3/orderList/oco", "orderList.place.oco", 1, signed, placeList(engine.OCO, oco)},
		{post, "/api/v3/orderList/oto", "orderList.place.oto", 1, signed, placeList(engine.OTO, oto)},
		{post, "/api/v3/orderList/otoco", "orderList.place.otoco", 1, signed, placeList(engine.OTOCO, otoco)},
		{post, "/api/v3/orderList/opo", "orderList.place.opo", 1, signed, placeList(engine.OPO, oto)},
		{post, "/api/v3/orderList/opoco", "orderList.place.opoco", 1, signed, placeList(engine.OPOCO, otoco)},
		{get, "/api/v3/orderList", "orderList.status", 4, signed, list},
		{del, "/api/v3/orderList", "orderList.cancel", 1, signed, cancelList},
		{get, "/api/v3/openOrderList", "openOrderLists.status", 6, signed, openLists},
		{get, "/api/v3/allOrderList", "allOrderLists", 20, signed, allLists},
		{get, "/api/v3/openOrders", "openOrders.status", 0, signed, openOrders},
		{del, "/api/v3/openOrders", "openOrders.cancelAll", 1, signed, cancelAll},
		{get, "/api/v3/allOrders", "allOrders", 20, signed, allOrders},
		{get, "/api/v3/myTrades", "myTrades", 0, signed, myTrades},
		{get, "/api/v3/myPreventedMatches", "myPreventedMatches", 0, signed, preventedMatches},
		{get, "/api/v3/myAllocations", "myAllocations", 20, signed, noAllocations},
		{get, "/api/v3/rateLimit/order", "account.rateLimits.orders", 40, signed, unfilled},
		{get, "/api/v3/myFilters", "myFilters", 40, signed, myFilters},
		{get, "/api/v3/account", "account.status", 20, signed, account},
		{get, "/api/v3/account/commission", "account.commission", 20, signed, commission},
		{post, "/api/v3/userDataStream", "userDataStream.start", 2, keyed, startStream},
		{put, "/api/v3/userDataStream", "userDataStream.ping", 2, keyed, keepStream},
		{del, "/api/v3/userDataStream", "userDataStream.stop", 2, keyed, endStream},
		{get, "/sapi/v1/asset/tradeFee", "", 1, signed, tradeFee},
		{get, "/sapi/v1/bnbBurn", "", 1, signed, noDiscountAsset},
		{get, "/sapi/v1/capital/config/getall", "", 10, signed, coins},
		{get, "/sapi/v1/account/apiRestrictions", "", 1, signed, restrictions},
		{get, "/sapi/v1/account/status", "", 1, signed, accountState},
		{get, "/sapi/v1/account/apiTradingStatus", "", 1, signed, tradingState},
		{get, "/sapi/v1/account/info", "", 1, signed, accountInfo},
		{get, "/sapi/v1/accountSnapshot", "", 1, signed, snapshots},
		{get, "/sapi/v1/capital/deposit/hisrec", "", 1, signed, moves},
		{get, "/sapi/v1/capital/withdraw/history", "", 1, signed, moves},
		{get, "/sapi/v1/asset/assetDividend", "", 10, signed, dividends},
		{get, "/sapi/v1/asset/dribblet", "", 1, signed, conversions},
		{get, "/sapi/v1/asset/assetDetail", "", 1, signed, assetDetails},
		{post, "/sapi/v3/asset/getUserAsset", "", 5, signed, userAssets},
		{post, "/sapi/v1/asset/get-funding-asset", "", 1, signed, fundingAssets},
		{get, "/sapi/v1/simple-earn/flexible/position", "", 150, signed, earnings},
		{get, "/sapi/v1/simple-earn/locked/position", "", 150, signed, earnings},
		{get, "/sapi/v1/margin/isolated/allPairs", "", 1, signed, nothing},
		{get, "/sapi/v1/margin/allPairs", "", 1, open, nothing},
		{get, "/sapi/v1/margin/allAssets", "", 1, open, nothing},
	}
}

// serve answers one request over HTTP.
func (f *Facade) serve(c *edge.Ctx, e *endpoint) {
	q := &call{f: f, from: peer{c.ClientAddr(), c.Unlimited()}, skewNs: c.SkewNs()}
	body, err := q.run(e, func() (err *failure) {
		if q.unit, err = unitOf(string(c.Request.Header.PeekCanonical(unitHeader))); err != nil {
			return err
		}
		return q.readParams(c.URI().QueryString(), form(c))
	}, func() auth.Payload { return signedText(c) })
	q.headers(&c.Response.Header)
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
	q.takeBack()
	if err != nil {
		return nil, err
	}
	return body, q.unread()
}

// The error codes of the other exchange that its own rules need; refuse.BinanceTable says when.
const (
	codeBadTime        = -1021
	codeBadSignature   = -1022
	codeTooManyWeight  = -1003
	codeTimeout        = -1007
	codeTooManyOrders  = -1015
	codeUnsupported    = -1020
	codeIllegalChars   = -1100
	codeTooManyParams  = -1101
	codeMandatory      = -1102
	codeUnreadParams   = -1104
	codeNotRequired    = -1106
	codeTooPrecise     = -1111
	codeBadTIF         = -1115
	codeBadType        = -1116
	codeBadSide        = -1117
	codeBadInterval    = -1120
	codeBadSymbol      = -1121
	codeNoListenKey    = -1125
	codeTooWide        = -1127
	codeOptionalParams = -1128
	codeInvalidParam   = -1130
	codeBadWindow      = -1131
	codeBadStrategy    = -1134
	codeInvalidJSON    = -1135
	codeBadRestriction = -1145
	codeListType       = -1158
	codeIcebergTIF     = -1160
	codeLimitAbove     = -1165
	codeLimitBelow     = -1166
	codeBothLimit      = -1168
	codeBadUnit        = -1194
	codeOtherStatus    = -1220
	codeStopBelow      = -1196
	codeStopAbove      = -1197
	codeTakeAbove      = -1198
	codeTakeBelow      = -1199
	codeWorkingSide    = -1222
	codePendingSide    = -1223
	codeWorkingParam   = -1224
	codePendingParam   = -1225
	codeOrderRejected  = -2010
	codeCancelRejected = -2011
	codeNoOrder        = -2013
	codeHMACLogon      = -4056
	codeBadKeyFormat   = -2014
	codeRejectedKey    = -2015
	codePartlyReplaced = -2021
	codeNotReplaced    = -2022
	codeAmendRejected  = -2038
	codeNoReference    = -2043
)

// failure is an error answer in the form of the other exchange.
type failure struct {
	status     int // 0: 400
	code       int
	msg        string
	retryAfter int64  // seconds; 0: none
	data       []byte // member data, for a change in two steps; nil: none
	again      *again // for a limit; nil: none
}

func fail(code int, format string, args ...any) *failure {
	return &failure{code: code, msg: fmt.Sprintf(format, args...)}
}

// with sets the status and returns e.
func (e *failure) with(status int) *failure {
	e.status = status
	return e
}

func missing(name string) *failure {
	return fail(codeMandatory, "Mandatory parameter '%s' was not sent, was empty/null, or malformed.", name)
}

func invalid(name string) *failure {
	return fail(codeInvalidParam, "Data sent for parameter '%s' is not valid.", name)
}

func twice(name string) *failure {
	return fail(codeTooManyParams, "Duplicate values for parameter '%s' detected.", name)
}

func illegal(name, pattern string) *failure {
	return fail(codeIllegalChars, "Illegal characters found in parameter '%s'; legal range is '%s'.", name, pattern)
}

func badSymbol() *failure { return fail(codeBadSymbol, "Invalid symbol.") }

func badCombination() *failure {
	return fail(codeOptionalParams, "Combination of optional parameters invalid.")
}

// unsupported is the answer to a function of the other exchange that has no counterpart here.
var unsupported = &failure{code: codeUnsupported, msg: "This operation is not supported."}

// body returns the JSON of the answer.
func (e *failure) body() []byte {
	var w json.Writer
	w.Object()
	w.Name("code").Int(int64(e.code))
	w.Name("msg").Text(e.msg)
	if e.data != nil {
		w.Name("data").Raw(e.data)
	}
	w.EndObject()
	return w.Bytes()
}

// inSocket returns the JSON of the error of an answer over a socket, which has no headers.
func (e *failure) inSocket() []byte {
	if e.again == nil {
		return e.body()
	}
	var w json.Writer
	w.Object()
	w.Name("serverTime").Int(e.again.serverMs)
	w.Name("retryAfter").Int(e.again.retryMs)
	w.EndObject()
	with := *e
	with.data = w.Bytes()
	return with.body()
}

// send makes the response an error answer.
func (e *failure) send(ctx *fasthttp.RequestCtx) {
	status := e.status
	if status == 0 {
		status = fasthttp.StatusBadRequest
	}
	ctx.Response.SetStatusCode(status)
	h := &ctx.Response.Header
	h.SetContentTypeBytes(edge.ValJSON)
	h.SetCanonical(edge.HdrCacheControl, edge.ValNoStore)
	if e.retryAfter > 0 {
		h.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(e.retryAfter, 10))
	}
	ctx.Response.SetBodyRaw(e.body())
}

// sendRefusal is the form in which the listener refuses what reaches no handler.
func sendRefusal(ctx *fasthttp.RequestCtx, r *refuse.Refusal) { fromRefusal(r).send(ctx) }

// fromRefusal translates a refusal of this service. The status stays.
func fromRefusal(r *refuse.Refusal) *failure {
	if r.Code == refuse.NotFound && r.Field == "symbol" { // a fault rule leaves the pair out
		return badSymbol()
	}
	row := refuse.RowOf(r.Code)
	return &failure{
		status: row.Status, code: row.Binance.Number, msg: cmp.Or(row.Binance.Message, r.Message),
		retryAfter: r.RetryAfter,
	}
}

// maxParams bounds the parameters of a request.
const maxParams = 64

// param is one parameter of the query or of the form in the body.
type param struct {
	name, value string
	read        bool
}

// call is one request, over HTTP or over a socket. It belongs to the request's goroutine.
type call struct {
	f         *Facade
	from      peer
	Principal *edge.Principal // nil: no credentials
	params    []param
	unit      unit          // of the times in the answer
	skewNs    int64         // what a fault rule adds to the time that it answers
	quiet     bool          // the answer has no rateLimits
	used      int64         // the weight of the address in this minute, its own included
	paid      int64         // its own weight
	reserved  int64         // orders that are counted and not yet placed
	orders    *orderFigures // the unfilled orders of the account, in a call that places orders
}

// peer names the sender of a call.
type peer struct {
	addr      netip.Addr
	unlimited bool // its weight has no limit
}

// account returns the account of the caller, who has credentials.
func (q *call) account() engine.AccountID { return engine.AccountID(q.Principal.Account) }

// readParams reads the parameters of the query, and of the body those that the query does not have.
func (q *call) readParams(query, body []byte) *failure {
	inQuery := 0
	for i, text := range [...][]byte{query, body} {
		if i == 1 {
			inQuery = len(q.params)
		}
		for pair := range bytes.SplitSeq(text, []byte{'&'}) {
			if len(pair) == 0 {
				continue
			}
			if len(q.params) == maxParams {
				return fail(codeTooManyParams, "Too many parameters; expected '%d' and received more.", maxParams)
			}
			name, value, _ := strings.Cut(string(pair), "=")
			name, nameErr := url.QueryUnescape(name)
			value, valueErr := url.QueryUnescape(value)
			if nameErr != nil || valueErr != nil {
				return fail(codeIllegalChars, "Illegal characters found in a parameter.")
			}
			switch at := slices.IndexFunc(q.params, func(p param) bool { return p.name == name }); {
			case at < 0:
				q.params = append(q.params, param{name: name, value: value})
			case at >= inQuery:
				return twice(name)
			}
		}
	}
	return nil
}

// text returns the value of a parameter; given is false for a missing or empty one, and for a parameter without a name,
// which none has.
func (q *call) text(name string) (value string, given bool) {
	for i := range q.params {
		if p := &q.params[i]; p.name == name && name != "" {
			p.read = true
			return p.value, p.value != ""
		}
	}
	return "", false
}

// given reports whether a parameter has a value.
func (q *call) given(name string) bool {
	_, given := q.text(name)
	return given
}

// sent reports whether a parameter was sent, and leaves it unread.
func (q *call) sent(name string) bool {
	for i := range q.params {
		if q.params[i].name == name {
			return true
		}
	}
	return false
}

// required returns the value of a parameter, or refuses a request without it.
func (q *call) required(name string) (string, *failure) {
	if v, given := q.text(name); given {
		return v, nil
	}
	return "", missing(name)
}

// number returns a whole number that is not negative, or def when it is missing.
func (q *call) number(name string, def int64) (int64, *failure) {
	text, given := q.text(name)
	if !given {
		return def, nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || strings.Trim(text, "0123456789") != "" {
		return 0, illegal(name, "^[0-9]{1,20}$")
	}
	return v, nil
}

// limit returns the parameter limit from 1 up; larger values than most count as most.
func (q *call) limit(def, most int64) (int, *failure) {
	v, err := q.number("limit", def)
	if err == nil && v == 0 {
		err = invalid("limit")
	}
	return int(min(v, most)), err
}

// word returns one of words, the first one when the parameter is missing.
func (q *call) word(name string, words ...string) (string, *failure) {
	text, given := q.text(name)
	if !given {
		return words[0], nil
	}
	for _, w := range words {
		if text == w {
			return w, nil
		}
	}
	return "", invalid(name)
}

// unread refuses parameters that no handler has read.
func (q *call) unread() *failure {
	n := 0
	for i := range q.params {
		if q.params[i].read {
			n++
		}
	}
	if n == len(q.params) {
		return nil
	}
	return fail(codeUnreadParams, "Not all sent parameters were read; read '%d' parameter(s) but was sent '%d'.",
		n, len(q.params))
}

// maxSymbol is the length of the longest symbol, the code of a pair.
const maxSymbol = engine.MaxPairCode

// pair returns the view of the required parameter symbol.
func (q *call) pair() (*marketdata.View, *failure) {
	text, err := q.required("symbol")
	if err != nil {
		return nil, err
	}
	return q.f.lookup(q.f.opt.Board.Load(), text)
}

// pastPair returns the view of the required parameter symbol of a history, whose pair may be delisted.
func (q *call) pastPair() (*marketdata.View, *failure) {
	text, err := q.required("symbol")
	if err != nil {
		return nil, err
	}
	return q.f.lookupAll(q.f.opt.Board.Load(), text)
}

// lookup returns the view of the symbol of a listed pair in root.
func (f *Facade) lookup(root *marketdata.Root, symbol string) (*marketdata.View, *failure) {
	v, err := f.lookupAll(root, symbol)
	if err == nil && v.Instrument.State == engine.Delisted {
		return nil, badSymbol()
	}
	return v, err
}

// lookupAll returns the view of a symbol in root, also of one whose pair was delisted.
func (f *Facade) lookupAll(root *marketdata.Root, symbol string) (*marketdata.View, *failure) {
	for i := range len(symbol) {
		if b := symbol[i]; b-'0' > 9 && b-'A' > 25 && b != '_' || len(symbol) > maxSymbol {
			return nil, illegal("symbol", "^[A-Z0-9-_.]{1,20}$")
		}
	}
	if v := f.symbolsOf(root).view(root, symbol); v != nil {
		return v, nil
	}
	return nil, badSymbol()
}

// views returns the pairs of the parameters symbol or symbols; given is false without both, and all pairs are
// returned. maxSymbols bounds the list.
func (q *call) views(maxSymbols int) (list []*marketdata.View, root *marketdata.Root, given bool, err *failure) {
	root = q.f.opt.Board.Load()
	one, hasOne := q.text("symbol")
	text, hasMany := q.text("symbols")
	switch {
	case hasOne && hasMany:
		return nil, nil, false, badCombination()
	case hasOne:
		v, err := q.f.lookup(root, one)
		return []*marketdata.View{v}, root, true, err
	case !hasMany:
		for _, id := range root.Sorted() {
			list = append(list, root.View(id))
		}
		return list, root, false, nil
	}
	var names []string
	if stdjson.Unmarshal([]byte(text), &names) != nil || len(names) == 0 || len(names) > maxSymbols {
		return nil, nil, false, illegal("symbols", `^\[("[A-Z0-9-_.]{1,20}"(,"[A-Z0-9-_.]{1,20}"){0,}){0,1}\]$`)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return nil, nil, false, fail(codeTooManyParams, "Duplicate values for parameter 'symbols' detected.")
		}
		seen[name] = true
		v, err := q.f.lookup(root, name)
		if err != nil {
			return nil, nil, false, err
		}
		list = append(list, v)
	}
	return list, root, true, nil
}
