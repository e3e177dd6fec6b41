package binance

import (
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/json"
	"tickhive/server/objects"
)

// orderNames names the parameters by which a request finds an order, and the error for an unknown one.
type orderNames struct {
	id, client string
	unknown    *failure
}

var (
	queried  = orderNames{"orderId", "origClientOrderId", fail(codeNoOrder, "Order does not exist.")}
	canceled = orderNames{"orderId", "origClientOrderId", fail(codeCancelRejected, "Unknown order sent.")}
	replaced = orderNames{"cancelOrderId", "cancelOrigClientOrderId", canceled.unknown}
)

// find returns the caller's order that the request names.
func (q *call) find(n orderNames) (entry.Answer, *failure) {
	v, err := q.pair()
	if err != nil {
		return entry.Answer{}, err
	}
	text, byID := q.text(n.id)
	client, byClient := q.text(n.client)
	var a entry.Answer
	var refused *refuse.Refusal
	switch {
	case byID:
		if _, err := q.number(n.id, 0); err != nil {
			return a, err
		}
		a, refused = q.f.opt.Entry.Order(q.account(), text)
	case byClient && !objects.IsClientOrderID(client):
		return a, illegal(n.client, clientIDForm)
	case byClient:
		a, refused = q.f.opt.Entry.ClientOrder(q.account(), v.Instrument.Code, client)
		if id, ok := q.f.ids.order(client); ok && refused != nil && refused.Code == refuse.NotFound {
			byID = true
			a, refused = q.f.opt.Entry.Order(q.account(), strconv.FormatUint(uint64(id), 10))
		}
	default:
		return a, fail(codeMandatory, "Param '%s' or '%s' must be sent, but both were empty/null!", n.client, n.id)
	}
	switch {
	case refused != nil && (refused.Code == refuse.NotFound || refused.Code == refuse.InvalidParam):
		return a, n.unknown
	case refused != nil:
		return a, fromRefusal(refused)
	case a.Instrument.ID != v.Instrument.ID || byID && byClient && q.f.orderID(&a.Record) != client:
		return a, n.unknown
	}
	a.Order = a.Record.ID
	return a, nil
}

// order serves GET /api/v3/order.
func order(q *call) ([]byte, *failure) {
	a, err := q.find(queried)
	if err != nil {
		return nil, err
	}
	w := json.Quoted(nil)
	q.f.writeOrder(&w, q.f.opt.Board.Load(), a.Instrument, &a.Record)
	return w.Bytes(), nil
}

// cancel serves DELETE /api/v3/order.
func cancel(q *call) ([]byte, *failure) {
	a, err := q.find(canceled)
	if err != nil {
		return nil, err
	}
	client, err := q.clientID("newClientOrderId")
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	return q.cancelOne(&a, client)
}

// cancelOne cancels an order and returns the answer. client is the cancel's own id, "" for none.
func (q *call) cancelOne(a *entry.Answer, client string) ([]byte, *failure) {
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: a.Order, Client: client}
	if refused := req.SubmitOne(); refused != nil {
		return nil, changeFailure(refused)
	}
	w := json.Quoted(nil)
	q.f.writeCanceled(&w, q.f.opt.Board.Load(), a.Instrument, &req.Answers[0].Record, client)
	return w.Bytes(), nil
}

// changeFailure translates the refusal of a change of an order.
func changeFailure(r *refuse.Refusal) *failure {
	if r.Code == refuse.NotFound {
		return canceled.unknown
	}
	return placeFailure(r)
}

// cancelAll serves DELETE /api/v3/openOrders: it cancels the orders that are open when it begins.
func cancelAll(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	open, err := q.collect(marketdata.Query{Pair: v.Instrument.ID, Status: marketdata.OnlyOpen}, nil)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, canceled.unknown
	}
	root := q.f.opt.Board.Load()
	w := json.Quoted(nil)
	w.List()
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	for len(open) > 0 {
		part := open[:min(len(open), cancelBatch)]
		open = open[len(part):]
		req.Commands = req.Commands[:0]
		for i := range part {
			req.Commands = append(req.Commands, entry.Command{Kind: entry.CancelOrder, Order: part[i].ID})
		}
		if refused := req.Submit(); refused != nil {
			return nil, changeFailure(refused)
		}
		for i := range req.Answers {
			if a := &req.Answers[i]; a.Reason == engine.NotRejected {
				q.f.writeCanceled(&w, root, v.Instrument, &a.Record, "")
			} else if a.Reason == engine.PairHalted {
				return nil, reasonFailure(a.Reason)
			}
		}
	}
	w.EndList()
	return w.Bytes(), nil
}

// cancelBatch is the number of orders that one batch cancels.
const cancelBatch = 100

// cancelReplace serves POST /api/v3/order/cancelReplace: a cancel, then a new order.
func cancelReplace(q *call) ([]byte, *failure) {
	mode, err := q.required("cancelReplaceMode")
	if err == nil && mode != "STOP_ON_FAILURE" && mode != "ALLOW_FAILURE" {
		err = invalid("cancelReplaceMode")
	}
	if err != nil {
		return nil, err
	}
	o, err := q.readOrder()
	if err != nil {
		return nil, err
	}
	client, err := q.clientID("cancelNewClientOrderId")
	if err != nil {
		return nil, err
	}
	a, cancelErr := q.find(replaced)
	if cancelErr != nil && cancelErr != replaced.unknown {
		return nil, cancelErr
	}
	if err := q.unread(); err != nil {
		return nil, err
	}
	var first, second []byte
	if cancelErr == nil {
		first, cancelErr = q.cancelOne(&a, client)
	}
	if cancelErr != nil && (mode == "STOP_ON_FAILURE" || cancelErr.code == codeTimeout) {
		return nil, replaceFailure(first, cancelErr, nil, nil)
	}
	second, placeErr := q.submit(&o)
	if cancelErr != nil || placeErr != nil {
		return nil, replaceFailure(first, cancelErr, second, placeErr)
	}
	return replacedAnswer(first, nil, second, nil), nil
}

// replaceFailure is the answer to a cancelReplace of which a half failed.
func replaceFailure(first []byte, cancelErr *failure, second []byte, placeErr *failure) *failure {
	e := fail(codeNotReplaced, "Order cancel-replace failed.")
	if first != nil || second != nil {
		e = fail(codePartlyReplaced, "Order cancel-replace partially failed.").with(fasthttp.StatusConflict)
	}
	for _, half := range []*failure{cancelErr, placeErr} {
		if half != nil && half.code == codeTimeout {
			return half
		}
	}
	e.data = replacedAnswer(first, cancelErr, second, placeErr)
	return e
}

// replacedAnswer returns the results of both halves. A half without answer and error was not attempted.
func replacedAnswer(first []byte, cancelErr *failure, second []byte, placeErr *failure) []byte {
	result := func(answer []byte, err *failure) string {
		switch {
		case answer != nil:
			return "SUCCESS"
		case err != nil:
			return "FAILURE"
		}
		return "NOT_ATTEMPTED"
	}
	response := func(answer []byte, err *failure) []byte {
		switch {
		case answer != nil:
			return answer
		case err != nil:
			return err.body()
		}
		return []byte("null")
	}
	var w json.Writer
	w.Object()
	w.Name("cancelResult").Word(result(first, cancelErr))
	w.Name("newOrderResult").Word(result(second, placeErr))
	w.Name("cancelResponse").Raw(response(first, cancelErr))
	w.Name("newOrderResponse").Raw(response(second, placeErr))
	w.EndObject()
	return w.Bytes()
}

// amend serves PUT /api/v3/order/amend/keepPriority: a smaller amount, at the same place in the queue.
func amend(q *call) ([]byte, *failure) {
	a, err := q.find(queried)
	if err != nil {
		return nil, err
	}
	amount, err := q.decimal("newQty", true)
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	units, exact, fits, bad := fixed.ParseUnits(string(amount), a.Instrument.DigitsAmount)
	switch {
	case bad != nil || !exact || !fits:
		return nil, reasonFailure(engine.AmountOffLot)
	case !a.Record.Status.Open() || a.Record.ByQuote || units >= a.Record.Amount || units <= a.Record.Filled:
		return nil, fail(codeAmendRejected, "The new quantity must be below the order's and above what is executed.")
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = entry.Command{Kind: entry.ReplaceOrder, Order: a.Order, Replace: entry.Replace{Amount: amount}}
	if refused := req.SubmitOne(); refused != nil {
		return nil, changeFailure(refused)
	}
	r := &req.Answers[0].Record
	w := json.Quoted(nil)
	w.Object()
	w.Name("transactTime").Ms(changedNs(r))
	w.Name("executionId").Uint(uint64(r.Seq))
	q.f.writeOrder(w.Name("amendedOrder"), q.f.opt.Board.Load(), a.Instrument, r)
	w.EndObject()
	return w.Bytes(), nil
}

// listPage is the number of rows that are read from the history at a time.
const listPage = 1000

// The number of rows of allOrders and myTrades.
const (
	defaultRows = 500
	maxRows     = 1000
)

// collect returns the orders of the caller that the query selects, newest first, until stop returns true for one.
func (q *call) collect(query marketdata.Query, stop func(*marketdata.OrderRecord) bool) (all []marketdata.OrderRecord,
	err *failure,
) {
	query.Account, query.Limit = q.account(), listPage
	if query.UntilNs == 0 {
		query.SinceNs, query.UntilNs = math.MinInt64, math.MaxInt64
	}
	for {
		rows, next, refused := q.f.opt.Entry.Orders(query)
		if refused != nil {
			return nil, fromRefusal(refused)
		}
		all = append(all, rows...)
		if next == (marketdata.Cursor{}) || stop != nil && len(rows) > 0 && stop(&rows[len(rows)-1]) {
			return all, nil
		}
		query.After = next
	}
}

// openOrders serves GET /api/v3/openOrders.
func openOrders(q *call) ([]byte, *failure) {
	query, weight := marketdata.Query{Pair: engine.ControlPair, Status: marketdata.OnlyOpen}, 80
	if q.sent("symbol") {
		v, err := q.pair()
		if err != nil {
			return nil, err
		}
		query.Pair, weight = v.Instrument.ID, 6
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	open, err := q.collect(query, nil)
	if err != nil {
		return nil, err
	}
	slices.Reverse(open)
	return q.orderRows(open), nil
}

// orderRows returns the JSON of a list of orders.
func (q *call) orderRows(rows []marketdata.OrderRecord) []byte {
	root := q.f.opt.Board.Load()
	w := json.Quoted(nil)
	w.List()
	for i := range rows {
		q.f.writeOrder(&w, root, root.View(rows[i].ID.Pair()).Instrument, &rows[i])
	}
	w.EndList()
	return w.Bytes()
}

// allOrders serves GET /api/v3/allOrders: the newest orders of the pair, or those from an id or a time on.
func allOrders(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	limit, err := q.limit(defaultRows, maxRows)
	if err != nil {
		return nil, err
	}
	from, err := q.number("orderId", 0)
	if err != nil {
		return nil, err
	}
	query, err := q.between(v)
	if err != nil {
		return nil, err
	}
	oldest := q.sent("orderId") || q.sent("startTime") // the first rows of the range instead of the last ones
	n := 0
	rows, err := q.collect(query, func(r *marketdata.OrderRecord) bool {
		n += listPage
		return !oldest && n >= limit || r.ID < engine.OrderID(from)
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(rows)
	rows = slices.DeleteFunc(rows, func(r marketdata.OrderRecord) bool { return r.ID < engine.OrderID(from) })
	return q.orderRows(cutRows(rows, limit, oldest)), nil
}

// cutRows returns the first or the last rows, at most limit.
func cutRows[T any](rows []T, limit int, first bool) []T {
	if n := len(rows) - limit; n > 0 && !first {
		return rows[n:]
	}
	return rows[:min(len(rows), limit)]
}

// between returns the query for a pair and the times of the request.
func (q *call) between(v *marketdata.View) (marketdata.Query, *failure) {
	startMs, endMs, err := q.span()
	return marketdata.Query{
		Account: q.account(), Pair: v.Instrument.ID, Limit: listPage,
		SinceNs: startMs * msNs, UntilNs: endMs*msNs + msNs - 1,
	}, err
}

// myTrades serves GET /api/v3/myTrades: the newest fills of the pair, the fills from an id or a time on, or the fills
// of an order.
func myTrades(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	limit, err := q.limit(defaultRows, maxRows)
	if err != nil {
		return nil, err
	}
	from, err := q.number("fromId", 0)
	if err != nil {
		return nil, err
	}
	order, err := q.number("orderId", 0)
	if err != nil {
		return nil, err
	}
	query, err := q.between(v)
	if err != nil {
		return nil, err
	}
	query.Order = engine.OrderID(order)
	oldest := q.sent("fromId") || q.sent("startTime") || q.sent("orderId")
	var rows []marketdata.Fill
	for {
		part, next, refused := q.f.opt.Entry.Fills(query)
		if refused != nil {
			return nil, fromRefusal(refused)
		}
		rows = append(rows, part...)
		if next == (marketdata.Cursor{}) || !oldest && len(rows) >= limit ||
			len(part) > 0 && part[len(part)-1].Trade < engine.TradeID(from) {
			break
		}
		query.After = next
	}
	slices.Reverse(rows)
	rows = slices.DeleteFunc(rows, func(f marketdata.Fill) bool { return f.Trade < engine.TradeID(from) })
	symbol := q.f.symbolsOf(q.f.opt.Board.Load()).of(v.Instrument)
	w := json.Quoted(nil)
	w.List()
	for _, fill := range cutRows(rows, limit, oldest) {
		writeFill(&w, symbol, v.Instrument, &fill)
	}
	w.EndList()
	return w.Bytes(), nil
}

func writeFill(w *json.Writer, symbol string, in *engine.Instrument, fill *marketdata.Fill) {
	w.Object()
	w.Name("symbol").Word(symbol)
	w.Name("id").Uint(uint64(fill.Trade))
	w.Name("orderId").Uint(uint64(fill.Order))
	w.Name("orderListId").Int(-1)
	w.Name("price").Units(fill.Price, in.DigitsPrice)
	w.Name("qty").Units(fill.Amount, in.DigitsAmount)
	w.Name("quoteQty").Sum(fixed.Mul64(uint64(fill.Price), uint64(fill.Amount)), in.DigitsTotal())
	writeCommission(w, in, fill, "commission", "commissionAsset")
	w.Name("time").Ms(fill.TimeNs)
	w.Name("isBuyer").Bool(fill.Side == engine.Buy)
	w.Name("isMaker").Bool(fill.IsMaker)
	w.Name("isBestMatch").Bool(true)
	w.EndObject()
}
