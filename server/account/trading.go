package account

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// The parameters of the routes of orders and deals.
var (
	orderOf    = edge.Text("orderId").Matches(entry.OrderPattern).Says("The order's id.") // of a path
	clientPair = objects.Pair(objects.PairName).Need()                                    // of a path
	clientID   = edge.Declare(json.Field{Name: "clientOrderId", Pattern: objects.ClientOrderPattern},
		func(raw []byte) (string, string) {
			if !objects.IsClientOrderID(raw) {
				return "", "must have 1 to 64 characters of A-Z, a-z, 0-9, _, ., : and -."
			}
			return string(raw), ""
		})
	onlyIf = edge.Word("onlyIf", objects.Restrictions...).
		Says("Cancel the order only if it has no deal yet, or has one.")
	cancelPair = objects.Pair(objects.PairName).Says("Pair code `{base}_{target}`; required without all.")
	cancelAll  = edge.Flag("all").Default(false).Says("true: on every pair that is not halted.")

	ofPair = objects.Pair(objects.PairName).Says("One pair only.")
	// orderStatus has the values of marketdata.StatusFilter.
	orderStatus = edge.Word("status", "all", "active", "canceled", "ended", "completed").Default(0).Says("Filter.")
	// ofSide and ofType have the engine's values, and -1 when they are missing.
	ofSide    = edge.Word("side", engine.Buy.String(), engine.Sell.String()).Says("One side only.")
	ofType    = edge.Word("type", objects.OrderTypes...).Says("One type only.")
	dealsOf   = edge.Text("orderId").Matches(entry.OrderPattern).Says("The deals of one order only.")
	listPages = edge.PagesOf(edge.Integer("pageNumber", 1, math.MaxInt64).Default(1).Says("1-based."),
		edge.Integer("pageSize", 1, edge.MaxPageSize).Default(edge.MaxPageSize).Says("Rows per page."))
	sinceDate = edge.Date("sinceDate").Says("Inclusive.")
	endDate   = edge.Date("endDate").Says("Inclusive.")
	listRows  = edge.CursorOf(listPages, cursorPattern, parseCursor)
)

// The paths of orders, and what a route of one order reads.
const (
	ordersPath = "/api/orders"
	orderPath  = ordersPath + "/{orderId}"
	clientPath = ordersPath + "/by-client-id/{" + objects.PairName + "}/{clientOrderId}"
)

var order, byClient = edge.Params(orderOf, edge.Decimals), edge.Params(clientPair, clientID, edge.Decimals)

func (s *Service) tradingRoutes() []*edge.Route {
	const del = fasthttp.MethodDelete
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: ordersPath, Hot: true, Handle: s.placeOrder,
			Schema: "CreateOrderRequest", Members: objects.TradingMembers,
			Name: "createOrder", Summary: "Place an order",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodPost, Path: ordersPath + "/batch", Handle: s.placeBatch, Schema: "OrderBatchRequest",
			Members: objects.TradingBatchMembers, Params: edge.Params(edge.Decimals),
			Name: "batchOrders", Summary: "Place, cancel and replace up to 100 orders, in order",
		},
		{
			Method: fasthttp.MethodPost, Path: ordersPath + "/cancel-all-after", Cancels: true, Handle: s.setSwitch,
			Schema: "CancelAllAfterRequest", Members: switchForm.Members(),
			Name:    "cancelAllAfter",
			Summary: "Set the dead man's switch: cancel every open order of the caller after a time",
		},
		{
			Method: del, Path: ordersPath, Cancels: true, Handle: s.cancelOwn,
			Params: edge.Params(cancelPair, cancelAll),
			Name:   "cancelOrders", Summary: "Cancel every open order of the caller on a pair, or on all pairs",
			Refuses: []int{409},
		},
		{
			Method: del, Path: orderPath, Cancels: true, Handle: s.cancelOrder,
			Params: edge.Params(orderOf, onlyIf, edge.Decimals),
			Name:   "cancelOrder", Summary: "Cancel one order",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodPatch, Path: orderPath, Handle: s.replaceOrder,
			Params: order, Schema: "ReplaceOrderRequest", Members: objects.ReplaceForm.Members(),
			Name: "replaceOrder", Summary: "Change price, total amount, stop price or distance of an order",
			Refuses: []int{409},
		},
		{
			Method: del, Path: clientPath, Cancels: true, Handle: s.cancelByClientID,
			Params: edge.Params(clientPair, clientID, onlyIf, edge.Decimals),
			Name:   "cancelOrderByClientId", Summary: "Cancel one order by its client order id",
			Refuses: []int{409},
		},
	}
}

// placeOrder serves POST /api/orders and sends the order's id.
func (s *Service) placeOrder(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	cmd := req.One()
	cmd.Kind = entry.PlaceOrder
	if err := objects.DecodeTradingOrder(c.PostBody(), &cmd.Place); err != nil {
		return err
	}
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(req.Answers[0].Seq))
	var w json.Writer
	w.ID(uint64(req.Answers[0].Order))
	c.Private(w.Bytes())
	return nil
}

// placeBatch serves POST /api/orders/batch. It checks the shape of every command before the engine applies the
// first one.
func (s *Service) placeBatch(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	req.Records = true
	var err *refuse.Refusal
	if req.Commands, err = objects.DecodeTradingBatch(c.PostBody(), req.Commands); err != nil {
		return err
	}
	if err := req.Submit(); err != nil {
		return err
	}
	var w json.Writer
	w.Object()
	w.Name("results").List()
	for i := range req.Answers {
		writeResult(&w, &req.Answers[i], c.Principal.UserID)
	}
	w.EndList()
	c.SetSeq(objects.WriteSeqs(&w, req.Answers))
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// replaceOrder serves PATCH /api/orders/{orderId} and sends the view of the order.
func (s *Service) replaceOrder(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	cmd := req.One()
	cmd.Kind = entry.ReplaceOrder
	if err := objects.ReplaceForm.Decode(c.PostBody(), &cmd.Replace); err != nil {
		return err
	}
	if !objects.Changes(&cmd.Replace) {
		return refuse.Param("price", "One of the members price, amount, stopPrice and trailingDelta is required.")
	}
	var err *refuse.Refusal
	if cmd.Order, err = s.pathOrder(c); err != nil {
		return err
	}
	return s.submit(c, req)
}

// pathOrder returns the id of the order that the path names.
func (s *Service) pathOrder(c *edge.Ctx) (engine.OrderID, *refuse.Refusal) {
	text, err := orderOf.Of(c)
	if err != nil {
		return 0, err
	}
	id, _, err := s.entry.ParseOrder(accountOf(c), text)
	return id, err
}

// cancelOrder serves DELETE /api/orders/{orderId} and sends the view of the order.
func (s *Service) cancelOrder(c *edge.Ctx) *refuse.Refusal {
	id, err := s.pathOrder(c)
	if err != nil {
		return err
	}
	return s.cancel(c, id)
}

// cancelByClientID serves DELETE /api/orders/by-client-id/{currencyPairCode}/{clientOrderId} and sends the view of
// the order.
func (s *Service) cancelByClientID(c *edge.Ctx) *refuse.Refusal {
	a, err := s.byClientID(c)
	if err != nil {
		return err
	}
	return s.cancel(c, a.Order)
}

func (s *Service) cancel(c *edge.Ctx, id engine.OrderID) *refuse.Refusal {
	only, err := onlyIf.Of(c)
	if err != nil {
		return err
	}
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: id, Only: objects.Restriction(only)}
	return s.submit(c, req)
}

// submit submits a cancel or replace and sends the view of its order.
func (s *Service) submit(c *edge.Ctx, req *entry.Request) *refuse.Refusal {
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(req.Answers[0].Seq))
	return sendOrder(c, &req.Answers[0])
}

// cancelOwn serves DELETE /api/orders?currencyPairCode= and ?all=true. It cancels the caller's orders that were open
// when it was sequenced.
func (s *Service) cancelOwn(c *edge.Ctx) *refuse.Refusal {
	all, err := cancelAll.Of(c)
	if err != nil {
		return err
	}
	m := entry.MassCancel{Caller: accountOf(c), Pair: engine.ControlPair}
	if all {
		if given, err := cancelPair.Given(c); err != nil {
			return err
		} else if given {
			return refuse.Param("all", "The parameters all and %s must not be given together.", objects.PairName)
		}
	} else {
		code, given, err := cancelPair.Find(c)
		if err == nil && !given {
			err = refuse.Param(objects.PairName, "The parameter %s is required.", objects.PairName)
		}
		if err != nil {
			return err
		}
		v := s.opt.Board.Load().Lookup(string(code))
		if v == nil {
			return refuse.Missing(objects.PairName, "There is no pair %s.", code)
		}
		m.Pair = v.Instrument.ID
	}
	canceled, err := s.entry.CancelAll(m)
	if err != nil {
		return err
	}
	c.Private(objects.Canceled(canceled))
	return nil
}

// lists serves the caller's orders, deals and balances.
type lists struct{ *Service }

func (l lists) routes() []*edge.Route {
	const get = fasthttp.MethodGet
	return []*edge.Route{
		{
			Method: get, Path: orderPath, Handle: l.order, Params: order,
			Name: "getOrder", Summary: "One order",
		},
		{
			Method: get, Path: clientPath, Handle: l.clientOrder, Params: byClient,
			Name: "getOrderByClientId", Summary: "One order by its client order id",
		},
		{
			Method: get, Path: orderPath + "/deals", Handle: l.orderDeals, Params: order,
			Name: "getOrderDeals", Summary: "One order with its deals",
		},
		{
			Method: get, Path: "/api/user/orders", Handle: l.userOrders,
			Params: edge.Params(ofPair, orderStatus, ofSide, ofType, listPages, sinceDate, endDate, listRows,
				edge.Decimals,
				edge.Format),
			Rows: &objects.Orders, Name: "getUserOrders", Summary: "The caller's orders, newest first",
		},
		{
			Method: get, Path: "/api/user/deals", Handle: l.userDeals,
			Params: edge.Params(ofPair, dealsOf, ofSide, listPages, sinceDate, endDate, listRows, edge.Decimals,
				edge.Format),
			Rows: &objects.Fills, Name: "getUserDeals", Summary: "The caller's deals, newest first",
		},
		{
			Method: get, Path: "/api/wallets/balances", Handle: l.balances,
			Params: edge.Params(edge.Decimals, edge.Format), Rows: &objects.Balances,
			Name: "getBalances", Summary: "The caller's balances",
		},
	}
}

// listQuery reads the parameters that the lists of orders, order lists and deals share.
func (l lists) listQuery(c *edge.Ctx, status *edge.Param[int]) (q marketdata.Query, err *refuse.Refusal) {
	code, err := ofPair.Of(c)
	if err != nil {
		return q, err
	}
	q = marketdata.Query{
		Account: accountOf(c), Pair: engine.ControlPair,
		SinceNs: math.MinInt64, UntilNs: math.MaxInt64,
	}
	if status != nil {
		i, err := status.Of(c)
		if err != nil {
			return q, err
		}
		q.Status = marketdata.StatusFilter(i)
	}
	if err := paging(c, &q); err != nil {
		return q, err
	}
	if err := between(c, &q); err != nil {
		return q, err
	}
	if len(code) > 0 {
		v := l.opt.Board.Load().LookupAll(string(code))
		if v == nil {
			return q, refuse.Missing(objects.PairName, "There is no pair %s.", code)
		}
		q.Pair = v.Instrument.ID
	}
	return q, nil
}

// paging reads pageNumber or cursor, and pageSize.
func paging(c *edge.Ctx, q *marketdata.Query) *refuse.Refusal {
	page, size, err := listPages.Of(c)
	if err != nil {
		return err
	}
	q.After, err = listRows.Of(c)
	switch {
	case err != nil:
		return err
	case q.After != marketdata.Cursor{}:
	case page-1 > maxListOffset/size: // the page is beyond all retained records
		return nil
	}
	q.Offset, q.Limit = int((page-1)*size), int(size)
	return nil
}

// A cursor is written as its time, order and trade with dots in between, an order's without the trade.
const cursorPattern = `^-?[0-9]{1,19}\.[0-9]{1,16}(\.[0-9]{1,19})?$`

func appendCursor(b []byte, at marketdata.Cursor) []byte {
	b = fmt.Appendf(b, "%d.%d", at.TimeNs, at.Order)
	if at.Trade != 0 {
		b = fmt.Appendf(b, ".%d", at.Trade)
	}
	return b
}

// parseCursor reads what appendCursor writes, and nothing else.
func parseCursor(text string) (at marketdata.Cursor, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return at, false
	}
	at.TimeNs, _ = strconv.ParseInt(parts[0], 10, 64)
	order, _ := strconv.ParseUint(parts[1], 10, 64)
	at.Order = engine.OrderID(order)
	if len(parts) == 3 {
		trade, _ := strconv.ParseUint(parts[2], 10, 64)
		at.Trade = engine.TradeID(trade)
	}
	return at, at.Order != 0 && string(appendCursor(nil, at)) == text
}

// setNextCursor sets the header of a page that is not the last.
func setNextCursor(c *edge.Ctx, next marketdata.Cursor) {
	if next != (marketdata.Cursor{}) {
		c.NextCursor(appendCursor(nil, next))
	}
}

// maxListOffset is greater than the number of orders and fills that can be retained.
const maxListOffset = 1 << 31

// between reads sinceDate and endDate, which are compared with the printed dates.
func between(c *edge.Ctx, q *marketdata.Query) *refuse.Refusal {
	since, hasSince, err := sinceDate.Find(c)
	if err != nil {
		return err
	}
	end, hasEnd, err := endDate.Find(c)
	if err != nil {
		return err
	}
	if hasSince && hasEnd && since.After(end) {
		return refuse.Param("sinceDate", "The parameter sinceDate must not be after endDate.")
	}
	if hasSince {
		q.SinceNs = since.CeilNs(edge.DealUnitNs)
	}
	if hasEnd {
		q.UntilNs = end.FloorNs(edge.DealUnitNs) + edge.DealUnitNs - 1
	}
	return nil
}

// bySide reads side.
func bySide(c *edge.Ctx, q *marketdata.Query) *refuse.Refusal {
	side, err := ofSide.Of(c)
	q.Side = uint8(1 + side)
	return err
}

// userOrders serves GET /api/user/orders.
func (l lists) userOrders(c *edge.Ctx) *refuse.Refusal {
	q, err := l.listQuery(c, orderStatus)
	if err != nil {
		return err
	}
	typ, err := ofType.Of(c)
	if err != nil {
		return err
	}
	q.Type = uint8(1 + typ)
	if err := bySide(c, &q); err != nil {
		return err
	}
	if q.After.Trade != 0 {
		return refuse.Param("cursor", "The parameter cursor is of a list of deals.")
	}
	found, next, err := l.entry.Orders(q)
	if err != nil {
		return err
	}
	root := l.opt.Board.Load()
	setNextCursor(c, next)
	var w json.Writer
	w.List()
	for i := range found {
		w.Object()
		writeOrder(&w, &found[i], root.View(found[i].ID.Pair()).Instrument, c.Principal.UserID)
		w.EndObject()
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// userDeals serves GET /api/user/deals.
func (l lists) userDeals(c *edge.Ctx) *refuse.Refusal {
	q, err := l.listQuery(c, nil)
	if err != nil {
		return err
	}
	if err := bySide(c, &q); err != nil {
		return err
	}
	if q.After.Order != 0 && q.After.Trade == 0 {
		return refuse.Param("cursor", "The parameter cursor is of a list of orders.")
	}
	if text, err := dealsOf.Of(c); err != nil {
		return err
	} else if text != "" {
		a, err := l.entry.Order(q.Account, text)
		if err != nil {
			return err
		}
		q.Order = a.Record.ID
		if q.After.Order != 0 && q.After.Order != q.Order {
			return refuse.Param("cursor", "The parameter cursor is of a list of other deals.")
		}
	}
	found, next, err := l.entry.Fills(q)
	if err != nil {
		return err
	}
	root := l.opt.Board.Load()
	setNextCursor(c, next)
	var w json.Writer
	w.List()
	for i := range found {
		w.Object()
		writeFill(&w, &found[i], root.View(found[i].Pair).Instrument)
		w.EndObject()
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// sendOrder sends the view of an order.
func sendOrder(c *edge.Ctx, a *entry.Answer) *refuse.Refusal {
	var w json.Writer
	w.Object()
	writeOrder(&w, &a.Record, a.Instrument, c.Principal.UserID)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// order serves GET /api/orders/{orderId}.
func (l lists) order(c *edge.Ctx) *refuse.Refusal {
	a, err := l.byID(c)
	if err != nil {
		return err
	}
	return sendOrder(c, &a)
}

// clientOrder serves GET /api/orders/by-client-id/{currencyPairCode}/{clientOrderId}.
func (l lists) clientOrder(c *edge.Ctx) *refuse.Refusal {
	a, err := l.byClientID(c)
	if err != nil {
		return err
	}
	return sendOrder(c, &a)
}

// byClientID returns the caller's order that the path names by its client order id.
func (s *Service) byClientID(c *edge.Ctx) (entry.Answer, *refuse.Refusal) {
	pair, err := clientPair.Of(c)
	if err != nil {
		return entry.Answer{}, err
	}
	client, err := clientID.Of(c)
	if err != nil {
		return entry.Answer{}, err
	}
	return s.entry.ClientOrder(accountOf(c), string(pair), client)
}

// byID returns the caller's order that the path names.
func (s *Service) byID(c *edge.Ctx) (entry.Answer, *refuse.Refusal) {
	text, err := orderOf.Of(c)
	if err != nil {
		return entry.Answer{}, err
	}
	return s.entry.Order(accountOf(c), text)
}

// orderDeals serves GET /api/orders/{orderId}/deals: the order and its newest deals, newest first. X-Truncated says
// that there are older ones, which GET /api/user/deals lists.
func (l lists) orderDeals(c *edge.Ctx) *refuse.Refusal {
	a, err := l.byID(c)
	if err != nil {
		return err
	}
	rec, ins := &a.Record, a.Instrument
	slices.Reverse(rec.Fills)
	missing := rec.Filled
	for i := range rec.Fills {
		missing -= rec.Fills[i].Amount
	}
	if missing != 0 {
		c.Response.Header.SetCanonical(edge.HdrTruncated, edge.ValTrue)
	}
	var w json.Writer
	w.Object()
	writeOrder(&w, rec, ins, c.Principal.UserID)
	w.Name("deals").List()
	for i := range rec.Fills {
		w.Object()
		writeFill(&w, &rec.Fills[i], ins)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// balances serves GET /api/wallets/balances.
func (l lists) balances(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.Object()
	writeBalances(&w, l.balancesOf(uint32(accountOf(c))))
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// balancesOf returns the non-zero balances of an account, including those in the ledger,
// ordered by currency code.
func (s *Service) balancesOf(n uint32) []accounts.BalanceView {
	all := s.shown.Balances(n)
	if s.opt.Ledger == nil {
		return all
	}
	_, address := s.shown.Level(n)
	all = append(all, s.opt.Ledger.Balances(address)...)
	sortBalances(all)
	return all
}

func sortBalances(rows []accounts.BalanceView) {
	slices.SortFunc(rows, func(a, b accounts.BalanceView) int {
		return strings.Compare(a.CurrencyCode, b.CurrencyCode)
	})
}

// writeOrder writes the members of the order view of docs/contract/trading.md#order-view.
func writeOrder(w *json.Writer, r *marketdata.OrderRecord, ins *engine.Instrument, userID string) {
	market := r.Type.AtMarket()
	left := fixed.Mul64(uint64(r.Price), uint64(r.Open))
	w.Name("id").ID(uint64(r.ID))
	w.Name("clientOrderId").TextOrNull(r.Client)
	w.Name("isMarket").Bool(market)
	w.Name("currencyPairCode").Word(ins.Code)
	w.Name("isBid").Bool(r.Side == engine.Buy)
	w.Name("price").UnitsOrNull(r.Price, ins.DigitsPrice, !market)
	w.Name("initialAmount").UnitsOrNull(r.Amount, ins.DigitsAmount, r.HasAmount())
	w.Name("amount").UnitsOrNull(r.Open, ins.DigitsAmount, r.HasAmount())
	w.Name("decrementedAmount").UnitsOrNull(r.Reduced, ins.DigitsAmount, r.HasAmount())
	w.Name("quoteAmount").SumOrNull(left, ins.DigitsTotal(), !market && r.HasAmount())
	w.Name("date").ISO(r.CreatedNs, 7)
	w.Name("userId").Word(userID)
	w.Name("isCanceled").Bool(r.Status == engine.Canceled || r.Status == engine.PartiallyExecutedAndCanceled)
	w.Name("status").Word(r.Status.String())
	w.Name("type").Word(r.Type.String())
	w.Name("timeInForce").Word(r.TIF.String())
	w.Name("postOnly").Bool(r.PostOnly)
	w.Name("selfTradePrevention").Word(r.STP.String())
	w.Name("stopPrice").UnitsOrNull(r.Stop, ins.DigitsPrice, r.Stop != 0)
	w.Name("isTriggered").BoolOrNull(r.Trigger == marketdata.Triggered, r.Trigger != marketdata.NoStop)
	w.Name("displayAmount").UnitsOrNull(r.Display, ins.DigitsAmount, r.Display != 0)
	w.Name("initialQuoteAmount").SumOrNull(r.Quote, ins.DigitsTotal(), r.ByQuote)
	w.Name("filledAmount").Units(r.Filled, ins.DigitsAmount)
	w.Name("filledQuoteAmount").Sum(r.FilledQuote, ins.DigitsTotal())
	w.Name("averagePrice").AverageOrNull(r.FilledQuote, r.Filled, ins.DigitsPrice)
	objects.WriteFee(w, ins, r.Side, r.Fee, r.FeeKnown)
	w.Name("dateChanged").ISO(r.ChangedNs, 7)
	objects.WriteOrderMore(w, r)
	w.Name("listId").IDOrNull(uint64(r.List))
	w.Name("trailingTime").ISOOrNull(r.TrackNs, 7)
}

// writeResult writes the result of one command of a batch: the view of its order or its new list, or why it was
// refused.
func writeResult(w *json.Writer, a *entry.Answer, userID string) {
	if a.Reason == engine.NotRejected && a.List != nil && !a.Found {
		writeList(w, a.List, userID)
		return
	}
	w.Object()
	defer w.EndObject()
	if a.Reason == engine.NotRejected && a.Found {
		writeOrder(w, &a.Record, a.Instrument, userID)
		w.Name("rejectReason").Null()
		return
	}
	if a.Place != nil {
		w.Name("id").Null()
		w.Name("clientOrderId").TextOrNull(string(a.Place.Client))
	} else {
		w.Name("id").IDOrNull(uint64(a.Order))
		w.Name("clientOrderId").Null()
	}
	w.Name("status").Word("Rejected")
	w.Name("rejectReason").Word(a.Reason.String())
}

// writeFill writes the members of a fill: the public deal as the fill's owner sees it, and the members for its owner.
func writeFill(w *json.Writer, f *marketdata.Fill, ins *engine.Instrument) {
	t := marketdata.Trade{TimeNs: f.TimeNs, Price: f.Price, Amount: f.Amount, TakerSide: f.TakerSide}
	const other = ^engine.AccountID(0)
	if t.Buyer, t.Seller = f.Account, other; f.Side == engine.Sell {
		t.Buyer, t.Seller = other, f.Account
	}
	objects.WriteDeal(w, ins, f.Trade, &t, &f.Account)
	w.Name("orderId").ID(uint64(f.Order))
	w.Name("tradeId").Uint(uint64(f.Trade))
	objects.WriteFee(w, ins, f.Side, f.Fee, true)
	w.Name("isMaker").Bool(f.IsMaker)
}

// Canceler returns what cancels all orders of a user without a request of the user, such as after a halt.
func (s *Service) Canceler() *entry.Canceler { return s.canceler }

// switchForm is the body of POST /api/orders/cancel-all-after.
var switchForm = json.Of(
	json.Integer("timeoutMs", 0, accounts.MaxSwitch.Milliseconds(), func(t *time.Duration, v int64) {
		*t = time.Duration(v) * time.Millisecond
	}).Need(),
)

// setSwitch serves POST /api/orders/cancel-all-after. It sets the caller's dead man's switch and sends when it
// fires.
func (s *Service) setSwitch(c *edge.Ctx) *refuse.Refusal {
	var timeout time.Duration
	if err := switchForm.Decode(c.PostBody(), &timeout); err != nil {
		return err
	}
	user := uint32(accountOf(c))
	var firesNs int64
	if timeout != 0 || s.shown.SwitchOf(user) != 0 { // one that is off need not be turned off
		res, err := s.do(accounts.Command{Kind: accounts.SetSwitch, User: user, Timeout: timeout})
		if err != nil {
			return err
		}
		firesNs = res.DeadlineNs
	}
	var w json.Writer
	w.Object()
	w.Name("timeoutMs").Int(timeout.Milliseconds())
	w.Name("firesAt").ISOOrNull(firesNs, 3)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// haltForm is the body of POST /users/{id}/halt: none, or an object without members.
var haltForm = json.Of[struct{}]()

// halt serves POST /users/{id}/halt: the account places nothing any more, and its open orders are canceled.
func (us users) halt(c *edge.Ctx) *refuse.Refusal {
	if text := c.PostBody(); json.Sent(text) {
		if err := haltForm.Decode(text, &struct{}{}); err != nil {
			return err
		}
	}
	user, err := us.setHalted(c, true)
	if err != nil {
		return err
	}
	canceled, open := us.canceler.Halt(user)
	sendHalt(c, true, canceled, open)
	return nil
}

// resume serves DELETE /users/{id}/halt.
func (us users) resume(c *edge.Ctx) *refuse.Refusal {
	_, err := us.setHalted(c, false)
	if err == nil {
		sendHalt(c, false, 0, 0)
	}
	return err
}

// setHalted sets or lifts the halt of the user that the path names. A repeat changes nothing.
func (us users) setHalted(c *edge.Ctx, halted bool) (engine.AccountID, *refuse.Refusal) {
	user, err := us.userOf(c)
	if err != nil || user.Halted == halted {
		return engine.AccountID(user.Number), err
	}
	if _, err := us.do(accounts.Command{Kind: accounts.SetHalt, User: user.Number, Halted: halted}); err != nil {
		return 0, err
	}
	event := "account resumed"
	if halted {
		event = "account halted"
	}
	c.Audit(event, "user", user.ID)
	return engine.AccountID(user.Number), nil
}

func sendHalt(c *edge.Ctx, halted bool, canceled, open int) {
	var w json.Writer
	w.Object()
	w.Name("halted").Bool(halted)
	w.Name("canceled").Int(int64(canceled))
	w.Name("open").Int(int64(open))
	w.EndObject()
	c.Private(w.Bytes())
}
