package binance

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
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
	v, err := q.pastPair()
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
	case byClient && !clientIDText.MatchString(client):
		return a, illegal(n.client, clientIDForm)
	case byClient:
		a, refused = q.f.opt.Entry.ClientOrder(q.account(), v.Instrument.Code, client)
		if id, ok := q.f.ids.named(client, ofOrder); ok && refused != nil && refused.Code == refuse.NotFound {
			byID = true
			a, refused = q.f.opt.Entry.Order(q.account(), strconv.FormatUint(uint64(id), 10))
		}
	default:
		return a, bothMissing(n.client, n.id)
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
	w := q.writer()
	q.f.orders(&w, q.f.opt.Board.Load(), a.Instrument).order(&a.Record)
	return w.Bytes(), nil
}

// restriction reads the state to which a cancel is restricted.
func (q *call) restriction() (entry.Only, *failure) {
	switch text, given := q.text("cancelRestrictions"); {
	case !given:
		return entry.AnyState, nil
	case text == "ONLY_NEW":
		return entry.OnlyNew, nil
	case text == "ONLY_PARTIALLY_FILLED":
		return entry.OnlyPartial, nil
	}
	return 0, fail(codeBadRestriction, "Invalid cancelRestrictions")
}

// cancel serves DELETE /api/v3/order.
func cancel(q *call) ([]byte, *failure) {
	c := entry.Command{Kind: entry.CancelOrder}
	a, err := q.find(canceled)
	if err == nil {
		c.Only, err = q.restriction()
	}
	if err == nil {
		c.Client, err = q.clientID("newClientOrderId")
	}
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	c.Order = a.Order
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = c
	if refused := req.SubmitOne(); refused != nil {
		return nil, changeFailure(refused)
	}
	w := q.writer()
	q.f.writeCanceled(&w, &req.Answers[0], c.Client)
	return w.Bytes(), nil
}

// writeCanceled writes the answer to a cancel: the order, or the list that has ended with it. client is the own id of
// the cancel, "" for none.
func (f *Facade) writeCanceled(w *json.Writer, a *entry.Answer, client string) {
	if a.List != nil {
		f.canceledList(w, a.List, client)
	} else {
		f.orders(w, f.opt.Board.Load(), a.Instrument).canceled(&a.Record, client)
	}
}

// changeFailure translates the refusal of a change of an order.
func changeFailure(r *refuse.Refusal) *failure {
	if r.Code == refuse.NotFound {
		return canceled.unknown
	}
	return placeFailure(r)
}

// cancelAll serves DELETE /api/v3/openOrders: it cancels the orders that are open when it begins. A list ends with its
// first order.
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
	slices.Reverse(open)
	lists := map[engine.OrderID]bool{}
	open = slices.DeleteFunc(open, func(r marketdata.OrderRecord) bool {
		again := lists[r.List]
		lists[r.List] = r.List != 0
		return again
	})
	w := q.writer()
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
			switch a := &req.Answers[i]; a.Reason {
			case engine.NotRejected:
				q.f.writeCanceled(&w, a, "")
			case engine.PairHalted:
				return nil, reasonFailure(a.Reason)
			default: // it has ended meanwhile
			}
		}
	}
	w.EndList()
	return w.Bytes(), nil
}

// cancelBatch is the number of orders that one batch cancels.
const cancelBatch = 100

// cancelReplace serves POST /api/v3/order/cancelReplace: a cancel and a new order with no other command between them.
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
	c := entry.Command{Kind: entry.CancelOrder}
	if c.Client, err = q.clientID("cancelNewClientOrderId"); err == nil {
		c.Only, err = q.restriction()
	}
	exceeded := ""
	if err == nil {
		exceeded, err = q.word("orderRateLimitExceededMode", "DO_NOTHING", "CANCEL_ONLY")
	}
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
	c.Order = a.Order
	o.place.Follows = mode == "STOP_ON_FAILURE"
	limited := q.reserve(1)
	if limited != nil && (limited.code != codeTooManyOrders || exceeded == "DO_NOTHING") {
		return nil, limited
	}
	return q.replace(&c, &o, cancelErr, limited)
}

// replace carries out a cancel and a new order. cancelErr is set if there is nothing to cancel, limited if the account
// may place no order.
func (q *call) replace(c *entry.Command, o *newOrder, cancelErr, limited *failure) ([]byte, *failure) {
	h := halves{limited: limited != nil && o.place.Follows}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	req.Records, req.Together = true, true
	if h.cancel.err = cancelErr; cancelErr == nil {
		req.Commands = append(req.Commands, *c)
	} else if o.place.Follows {
		return nil, h.failure()
	}
	o.place.Follows = o.place.Follows && cancelErr == nil
	if limited != nil {
		h.place.err = limited
	} else if id := q.repeated(&o.place, o.view.Instrument); id != 0 && (id != c.Order || cancelErr != nil) {
		h.place.err = reasonFailure(engine.DuplicateClientOrderID)
	} else {
		req.Commands = append(req.Commands, entry.Command{Kind: entry.PlaceOrder, Place: o.place})
	}
	if len(req.Commands) == 0 {
		return nil, h.failure()
	}
	if refused := req.Submit(); refused != nil {
		return nil, placeFailure(refused)
	}
	for i := range req.Answers {
		a := &req.Answers[i]
		switch {
		case a.Reason == engine.CancelFailed:
		case req.Commands[i].Kind == entry.PlaceOrder && a.Reason != engine.NotRejected:
			h.place.err = reasonFailure(a.Reason)
		case req.Commands[i].Kind == entry.PlaceOrder:
			q.placed(a)
			var err *failure
			if h.place.answer, err = q.result(a, o.kind); err != nil {
				return nil, err
			}
		case a.Reason != engine.NotRejected:
			h.cancel.err = reasonFailure(a.Reason)
		default:
			w := q.writer()
			q.f.writeCanceled(&w, a, c.Client)
			h.cancel.answer = w.Bytes()
		}
	}
	switch {
	case h.limited && h.cancel.answer == nil:
		h.place.err = nil // not attempted
	case h.cancel.answer != nil && h.place.answer != nil:
		return h.body(), nil
	}
	return nil, h.failure()
}

// halves are the outcomes of the cancel and of the new order of a cancelReplace.
type halves struct {
	cancel, place half
	limited       bool // the order depends on the cancel, and the account may place none
}

// half is one of them; without answer and error it was not attempted.
type half struct {
	answer []byte
	err    *failure
}

// failure is the answer to a cancelReplace of which a half failed.
func (h *halves) failure() *failure {
	e := fail(codeNotReplaced, "Order cancel-replace failed.")
	if h.cancel.answer != nil || h.place.answer != nil {
		e = fail(codePartlyReplaced, "Order cancel-replace partially failed.").with(fasthttp.StatusConflict)
	}
	if h.limited {
		e.status = fasthttp.StatusTooManyRequests
	}
	e.data = h.body()
	return e
}

// body returns the outcomes of both halves.
func (h *halves) body() []byte {
	var w json.Writer
	w.Object()
	w.Name("cancelResult").Word(h.cancel.result())
	w.Name("newOrderResult").Word(h.place.result())
	w.Name("cancelResponse").Raw(h.cancel.response())
	w.Name("newOrderResponse").Raw(h.place.response())
	w.EndObject()
	return w.Bytes()
}

func (h *half) result() string {
	switch {
	case h.answer != nil:
		return "SUCCESS"
	case h.err != nil:
		return "FAILURE"
	}
	return "NOT_ATTEMPTED"
}

func (h *half) response() []byte {
	switch {
	case h.answer != nil:
		return h.answer
	case h.err != nil:
		return h.err.body()
	}
	return []byte("null")
}

// amend serves PUT /api/v3/order/amend/keepPriority: a smaller amount, at the same place in the queue. The order gets
// another client id, a random one if none was sent.
func amend(q *call) ([]byte, *failure) {
	a, err := q.find(queried)
	if err != nil {
		return nil, err
	}
	c := entry.Replace{SmallerOnly: true, ClientReusable: true}
	c.Amount, err = q.decimal("newQty", always)
	client := ""
	if err == nil {
		client, err = q.clientID("newClientOrderId")
	}
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	was := q.f.orderID(&a.Record)
	if client != was {
		c.Client = []byte(cmp.Or(client, randomID()))
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = entry.Command{Kind: entry.ReplaceOrder, Order: a.Order, Replace: c}
	if refused := req.SubmitOne(); refused != nil {
		return nil, amendFailure(refused, &a, c.Amount)
	}
	r := &req.Answers[0].Record
	execution, err := q.executionID(&req.Answers[0])
	if err != nil {
		return nil, err
	}
	w := q.writer()
	w.Object()
	w.Name("transactTime").Time(changedNs(r))
	w.Name("executionId").Uint(execution)
	w.Name("amendedOrder")
	q.f.orders(&w, q.f.opt.Board.Load(), a.Instrument).amended(r, was)
	if r.List != 0 {
		if err := q.writeListStatus(w.Name("listStatus"), r.List); err != nil {
			return nil, err
		}
	}
	w.EndObject()
	return w.Bytes(), nil
}

// executionID returns the seq of the event of an amendment, which its report and the list of amendments have too.
func (q *call) executionID(a *entry.Answer) (uint64, *failure) {
	rows, refused := q.f.opt.Entry.Amendments(a.Record.ID, 0, maxRows)
	if refused != nil {
		return 0, fromRefusal(refused)
	}
	for _, m := range slices.Backward(rows) {
		if m.Number <= uint64(a.Seq) { // not that of a later request
			return m.Number, nil
		}
	}
	return uint64(a.Seq), nil
}

// amendFailure translates the refusal of an amendment. One to the amount that the order has would change nothing.
func amendFailure(r *refuse.Refusal, a *entry.Answer, amount []byte) *failure {
	lots, exact, _, _ := fixed.ParseUnits(string(amount), a.Instrument.DigitsAmount)
	switch {
	case r.Code != entry.Code(engine.AmendNotSmaller):
		return changeFailure(r)
	case exact && lots == a.Record.Amount:
		return fail(codeAmendRejected, "The requested action would change no state; rejecting.")
	}
	return changeFailure(r)
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
	w := q.writer()
	w.List()
	for i := range rows {
		q.f.orders(&w, root, root.View(rows[i].ID.Pair()).Instrument).order(&rows[i])
	}
	w.EndList()
	return w.Bytes()
}

// allOrders serves GET /api/v3/allOrders: the newest orders of the pair, or those from an id or a time on.
func allOrders(q *call) ([]byte, *failure) {
	v, err := q.pastPair()
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
	startNs, endNs, err := q.day()
	return marketdata.Query{
		Account: q.account(), Pair: v.Instrument.ID, Limit: listPage, SinceNs: startNs, UntilNs: endNs,
	}, err
}

// myTrades serves GET /api/v3/myTrades: the newest fills of the pair, the fills from an id or a time on, or the fills
// of an order.
func myTrades(q *call) ([]byte, *failure) {
	weight := 20
	if q.sent("orderId") {
		weight = 5
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	v, err := q.pastPair()
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
	if (q.given("fromId") || q.given("orderId")) && (q.given("startTime") || q.given("endTime")) {
		return nil, badCombination()
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
	w := q.writer()
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
	w.Name("time").Time(fill.TimeNs)
	w.Name("isBuyer").Bool(fill.Side == engine.Buy)
	w.Name("isMaker").Bool(fill.IsMaker)
	w.Name("isBestMatch").Bool(true)
	w.EndObject()
}
