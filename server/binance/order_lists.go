package binance

import (
	"cmp"
	"math"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// newList is an order list as the request describes it.
type newList struct {
	list entry.PlaceList
	in   *engine.Instrument
	kind string // ACK, RESULT or FULL
}

// listed names the parameters of an order of a list, which begin with its place in the list.
func listed(place string) orderParams {
	return orderParams{
		side: place + "Side", kind: place + "Type", tif: place + "TimeInForce", price: place + "Price",
		stop: place + "StopPrice", trail: place + "TrailingDelta", iceberg: place + "IcebergQty",
		client: place + "ClientOrderId", strategy: place + "StrategyId", strategyType: place + "StrategyType",
		quantity: place + "Quantity", peg: place + "Peg", listed: true,
	}
}

// The parameters of the two orders of the older form of an OCO.
var (
	oldLimit = orderParams{
		price: "price", iceberg: "limitIcebergQty", client: "limitClientOrderId", strategy: "limitStrategyId",
		strategyType: "limitStrategyType", quantity: "quantity", listed: true,
	}
	oldStop = orderParams{
		tif: "stopLimitTimeInForce", price: "stopLimitPrice", stop: "stopPrice", trail: "trailingDelta",
		iceberg: "stopIcebergQty", client: "stopClientOrderId", strategy: "stopStrategyId",
		strategyType: "stopStrategyType", quantity: "quantity", listed: true,
	}
)

// place returns a handler that reads the orders of a list and places it.
func placeList(kind engine.ListKind, orders func(q *call, l *newList) *failure) func(q *call) ([]byte, *failure) {
	return func(q *call) ([]byte, *failure) {
		v, err := q.pair()
		if err != nil {
			return nil, err
		}
		l := &newList{in: v.Instrument}
		l.list = entry.PlaceList{Pair: []byte(l.in.Code), Kind: kind, ClientReusable: true}
		client, err := q.clientID("listClientOrderId")
		if err != nil {
			return nil, err
		}
		if client != "" {
			l.list.Client = []byte(client)
		}
		if err := orders(q, l); err != nil {
			return nil, err
		}
		for i := range l.list.Orders {
			if err := q.readSelfTrade(&l.list.Orders[i]); err != nil {
				return nil, err
			}
		}
		if l.kind, err = q.word("newOrderRespType", "RESULT", "FULL", "ACK"); err == nil {
			err = q.unread()
		}
		if err != nil {
			return nil, err
		}
		return q.submitList(l)
	}
}

// add reads the terms of one more order of the list.
func (q *call) add(l *newList, n *orderParams, word string, side engine.Side) *failure {
	p := entry.Place{Side: side}
	if err := q.readTerms(n, word, l.in, &p); err != nil {
		return err
	}
	l.list.Orders = append(l.list.Orders, p)
	return nil
}

// oldOCO reads the orders of POST /api/v3/order/oco.
func oldOCO(q *call, l *newList) *failure {
	side, err := q.side("side")
	if err != nil {
		return err
	}
	word := "STOP_LOSS"
	if q.given(oldStop.price) {
		word = "STOP_LOSS_LIMIT"
	}
	if err := q.add(l, &oldStop, word, side); err != nil {
		return err
	}
	return q.add(l, &oldLimit, "LIMIT_MAKER", side)
}

// oco reads the orders of POST /api/v3/orderList/oco.
func oco(q *call, l *newList) *failure {
	side, err := q.side("side")
	if err != nil {
		return err
	}
	return q.legs(l, "above", "below", side, "quantity")
}

// legs reads two orders of which one cancels the other. The stop loss is the first one, as there.
func (q *call) legs(l *newList, above, below string, side engine.Side, quantity string) *failure {
	names := [2]orderParams{listed(above), listed(below)}
	var words [2]string
	for i := range names {
		var err *failure
		names[i].quantity = quantity
		if words[i], err = q.orderWord(names[i].kind); err != nil {
			return err
		}
		if words[i] == "LIMIT" || words[i] == "MARKET" {
			return fail(codeListType, "Order type not supported in OCO.")
		}
	}
	if err := checkLegs(side, words[0], words[1]); err != nil {
		return err
	}
	first := 1
	if side == engine.Buy {
		first = 0
	}
	for _, i := range [...]int{first, 1 - first} {
		if err := q.add(l, &names[i], words[i], side); err != nil {
			return err
		}
	}
	return nil
}

// checkLegs checks that the type of each leg belongs to its place: a stop loss is above the market in a purchase and
// below it in a sale, and the other leg on the other side.
func checkLegs(side engine.Side, above, below string) *failure {
	const limit = "LIMIT_MAKER"
	stops := func(word string) bool { return word == "STOP_LOSS" || word == "STOP_LOSS_LIMIT" }
	buy := side == engine.Buy
	switch {
	case above == limit && below == limit:
		return fail(codeBothLimit, "At least one OCO order must be contingent.")
	case buy && above == limit:
		return fail(codeLimitAbove, "A limit order in a buy OCO must be below.")
	case !buy && below == limit:
		return fail(codeLimitBelow, "A limit order in a sell OCO must be above.")
	case buy && stops(below):
		return fail(codeStopBelow, "A stop loss order in a buy OCO must be above.")
	case !buy && stops(above):
		return fail(codeStopAbove, "A stop loss order in a sell OCO must be below.")
	case buy && !stops(above):
		return fail(codeTakeAbove, "A take profit order in a buy OCO must be below.")
	case !buy && !stops(below):
		return fail(codeTakeBelow, "A take profit order in a sell OCO must be above.")
	}
	return nil
}

// oto reads the orders of POST /api/v3/orderList/oto and opo.
func oto(q *call, l *newList) *failure {
	if err := q.working(l); err != nil {
		return err
	}
	n := listed("pending")
	side, err := q.pendingSide(l, &n)
	if err != nil {
		return err
	}
	word, err := q.orderWord(n.kind)
	if err != nil {
		return err
	}
	return q.add(l, &n, word, side)
}

// otoco reads the orders of POST /api/v3/orderList/otoco and opoco.
func otoco(q *call, l *newList) *failure {
	if err := q.working(l); err != nil {
		return err
	}
	n := listed("pending")
	side, err := q.pendingSide(l, &n)
	if err != nil {
		return err
	}
	return q.legs(l, "pendingAbove", "pendingBelow", side, n.quantity)
}

// working reads the working order of a list.
func (q *call) working(l *newList) *failure {
	n := listed("working")
	side, err := q.side(n.side)
	if err != nil {
		return err
	}
	word, err := q.orderWord(n.kind)
	switch {
	case err != nil:
		return err
	case word != "LIMIT" && word != "LIMIT_MAKER":
		return invalid(n.kind)
	case l.list.Kind.Brings() && side != engine.Buy:
		return fail(codeWorkingSide, "Working order in an OPO list must be a bid.")
	case l.list.Kind.Brings() && !q.given(n.quantity):
		return fail(codeWorkingParam, "Working order must include the '%s' tag.", n.quantity)
	}
	return q.add(l, &n, word, side)
}

// pendingSide reads the side of the orders behind the working one, and takes the quantity out of n if the working order
// brings it.
func (q *call) pendingSide(l *newList, n *orderParams) (engine.Side, *failure) {
	side, err := q.side(n.side)
	if err != nil || !l.list.Kind.Brings() {
		return side, err
	}
	if side != engine.Sell {
		return side, fail(codePendingSide, "Pending orders in an OPO list must be asks.")
	}
	if q.given(n.quantity) {
		return side, fail(codePendingParam, "Pending orders should not include the '%s' tag.", n.quantity)
	}
	n.quantity = ""
	return side, nil
}

// submitList places the list and returns the answer.
func (q *call) submitList(l *newList) ([]byte, *failure) {
	for i := range l.list.Orders {
		if q.repeated(&l.list.Orders[i], l.in) != 0 {
			return nil, reasonFailure(engine.DuplicateClientOrderID)
		}
	}
	if err := q.reserve(len(l.list.Orders)); err != nil {
		return nil, err
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	req.Records = true
	*req.One() = entry.Command{Kind: entry.PlaceOrderList, List: l.list}
	if refused := req.SubmitOne(); refused != nil {
		return nil, placeFailure(refused)
	}
	q.placed(&req.Answers[0])
	placed := req.Answers[0].List
	beforeRelease(placed)
	w := q.writer()
	w.Object()
	lw := q.f.lists(&w, placed)
	lw.status(false)
	w.Name("orderReports").List()
	for i := range placed.Orders {
		lw.result(&placed.Orders[i], l.kind, nil)
	}
	w.EndList()
	w.EndObject()
	return w.Bytes(), nil
}

// beforeRelease takes out of the answer what became of the pending orders: when the working order is filled at once,
// the answer shows it as filled and the others as pending.
func beforeRelease(l *entry.OrderList) {
	if !l.Kind.Works() || l.Orders[0].Status != engine.Completed {
		return
	}
	for i := range l.Orders[1:] {
		r := &l.Orders[1+i]
		r.Status, r.Cause, r.Filled, r.FilledQuote, r.Fills = engine.Pending, 0, 0, fixed.U128{}, nil
		r.Reduced, r.Canceled, r.Prevented, r.TrackNs, r.ChangedNs, r.EndedNs = 0, 0, 0, 0, r.CreatedNs, 0
		if l.Kind.Brings() {
			r.Amount = 0
		}
	}
}

// listWriter writes an order list.
type listWriter struct {
	orderWriter
	list    *marketdata.ListRecord
	clients []string // the client order ids to show
}

func (f *Facade) lists(w *json.Writer, l *entry.OrderList) listWriter {
	out := listWriter{
		orderWriter: f.orders(w, f.opt.Board.Load(), l.Instrument), list: &l.ListRecord,
		clients: make([]string, len(l.ListRecord.Orders)),
	}
	for i, id := range l.ListRecord.Orders {
		out.clients[i] = f.ids.generate(id, ofOrder)
	}
	for i := range l.Orders {
		r := &l.Orders[i]
		out.clients[r.ID-l.ID] = f.orderID(r)
	}
	return out
}

// contingency translates the kind of a list.
func contingency(kind engine.ListKind) string {
	if kind == engine.OCO {
		return "OCO"
	}
	return "OTO"
}

// status writes the members of a list.
func (w listWriter) status(done bool) {
	l, status := w.list, [2]string{"EXEC_STARTED", "EXECUTING"}
	if done {
		status = [2]string{"ALL_DONE", "ALL_DONE"}
	}
	w.Name("orderListId").Uint(uint64(l.ID))
	w.Name("contingencyType").Word(contingency(l.Kind))
	w.Name("listStatusType").Word(status[0])
	w.Name("listOrderStatus").Word(status[1])
	w.Name("listClientOrderId").Text(w.f.listID(l))
	w.Name("transactionTime").Time(l.ChangedNs)
	w.Name("symbol").Word(w.symbol)
	w.members("orders", "symbol", "orderId", "clientOrderId")
}

// orders writes the orders of a list under the given names.
func (w listWriter) members(name, symbol, id, client string) {
	w.Name(name).List()
	for i, order := range w.list.Orders {
		w.Object()
		w.Name(symbol).Word(w.symbol)
		w.Name(id).Uint(uint64(order))
		w.Name(client).Text(w.clients[i])
		w.EndObject()
	}
	w.EndList()
}

// canceledList writes a list as the answer to its cancel shows it. client is the id of the cancel, "" for none.
func (f *Facade) canceledList(w *json.Writer, l *entry.OrderList, client string) {
	w.Object()
	lw := f.lists(w, l)
	lw.status(true)
	w.Name("orderReports").List()
	for i := range l.Orders {
		lw.canceled(&l.Orders[i], client)
	}
	w.EndList()
	w.EndObject()
}

// writeListStatus writes the list of an amended order.
func (q *call) writeListStatus(w *json.Writer, id engine.OrderID) *failure {
	l, refused := q.f.opt.Entry.List(q.account(), id)
	if refused != nil {
		return changeFailure(refused)
	}
	lw := q.f.lists(w, &l)
	w.Object()
	w.Name("orderListId").Uint(uint64(l.ID))
	w.Name("contingencyType").Word(contingency(l.Kind))
	w.Name("listOrderStatus").Word("EXECUTING")
	w.Name("listClientOrderId").Text(q.f.listID(&l.ListRecord))
	w.Name("symbol").Word(lw.symbol)
	lw.members("orders", "symbol", "orderId", "clientOrderId")
	w.EndObject()
	return nil
}

var (
	unknownList = fail(codeNoOrder, "Order list does not exist.")
	queriedList = orderNames{"orderListId", "origClientOrderId", unknownList}
	endedList   = orderNames{"orderListId", "listClientOrderId", canceled.unknown}
)

// findList returns the caller's list that the request names, of one of the pairs.
func (q *call) findList(n orderNames, pairs []engine.PairID) (l entry.OrderList, err *failure) {
	id, err := q.number(n.id, 0)
	if err != nil {
		return l, err
	}
	client, byClient := q.text(n.client)
	var found []entry.OrderList
	switch {
	case q.given(n.id):
		l, refused := q.f.opt.Entry.List(q.account(), engine.OrderID(id))
		if err := listFailure(refused, n); err != nil {
			return l, err
		}
		found = append(found, l)
	case !byClient:
		return l, bothMissing(n.id, n.client)
	case !clientIDText.MatchString(client):
		return l, illegal(n.client, clientIDForm)
	default:
		if found, err = q.listsNamed(n, client, pairs); err != nil {
			return l, err
		}
	}
	for i := range found {
		if one := &found[i]; (!byClient || q.f.listID(&one.ListRecord) == client) &&
			slices.Contains(pairs, one.ID.Pair()) && one.CreatedNs >= l.CreatedNs {
			l = *one
		}
	}
	if l.ID == 0 {
		return l, n.unknown
	}
	return l, nil
}

// listsNamed returns the lists of the caller that have a client id: one of each pair, and the one for which the id was
// generated.
func (q *call) listsNamed(n orderNames, client string, pairs []engine.PairID) (found []entry.OrderList, err *failure) {
	add := func(l entry.OrderList, refused *refuse.Refusal) *failure {
		if refused == nil {
			found = append(found, l)
			return nil
		}
		if err := listFailure(refused, n); err != n.unknown {
			return err
		}
		return nil
	}
	if id, ok := q.f.ids.named(client, ofList); ok {
		if err := add(q.f.opt.Entry.List(q.account(), id)); err != nil {
			return nil, err
		}
	}
	for _, pair := range pairs {
		if err := add(q.f.opt.Entry.ClientList(q.account(), pair, client)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func listFailure(refused *refuse.Refusal, n orderNames) *failure {
	switch {
	case refused == nil:
		return nil
	case refused.Code == refuse.NotFound:
		return n.unknown
	}
	return fromRefusal(refused)
}

// cancelList serves DELETE /api/v3/orderList.
func cancelList(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	l, err := q.findList(endedList, []engine.PairID{v.Instrument.ID})
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
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: l.ID, ByList: true, Client: client}
	if refused := req.SubmitOne(); refused != nil {
		return nil, changeFailure(refused)
	}
	w := q.writer()
	q.f.canceledList(&w, req.Answers[0].List, client)
	return w.Bytes(), nil
}

// list serves GET /api/v3/orderList.
func list(q *call) ([]byte, *failure) {
	l, err := q.findList(queriedList, q.f.opt.Board.Load().SortedAll())
	if err != nil {
		return nil, err
	}
	w := q.writer()
	w.Object()
	q.f.lists(&w, &l).status(l.Done)
	w.EndObject()
	return w.Bytes(), nil
}

// openLists serves GET /api/v3/openOrderList.
func openLists(q *call) ([]byte, *failure) {
	rows, err := q.lists(marketdata.Query{Status: marketdata.OnlyOpen, SinceNs: math.MinInt64, UntilNs: math.MaxInt64})
	if err != nil {
		return nil, err
	}
	return q.listRows(rows)
}

// allLists serves GET /api/v3/allOrderList: the newest lists, or those from an id or a time on.
func allLists(q *call) ([]byte, *failure) {
	limit, err := q.limit(defaultRows, maxRows)
	if err != nil {
		return nil, err
	}
	from, err := q.number("fromId", 0)
	if err != nil {
		return nil, err
	}
	startNs, endNs, err := q.day()
	if err != nil {
		return nil, err
	}
	if q.sent("fromId") && (q.sent("startTime") || q.sent("endTime")) {
		return nil, badCombination()
	}
	rows, err := q.lists(marketdata.Query{SinceNs: startNs, UntilNs: endNs})
	if err != nil {
		return nil, err
	}
	if q.sent("fromId") { // ids rise with time within a pair alone
		rows = slices.DeleteFunc(rows, func(l marketdata.ListRecord) bool { return l.ID < engine.OrderID(from) })
		slices.SortFunc(rows, func(a, b marketdata.ListRecord) int { return cmp.Compare(a.ID, b.ID) })
	}
	return q.listRows(cutRows(rows, limit, q.sent("fromId") || q.sent("startTime")))
}

// lists returns the lists of the caller that the query selects, oldest first.
func (q *call) lists(query marketdata.Query) (all []marketdata.ListRecord, err *failure) {
	query.Account, query.Pair, query.Limit = q.account(), engine.ControlPair, listPage
	for {
		rows, next, refused := q.f.opt.Entry.Lists(query)
		if refused != nil {
			return nil, fromRefusal(refused)
		}
		all = append(all, rows...)
		if next == (marketdata.Cursor{}) {
			slices.Reverse(all)
			return all, nil
		}
		query.After = next
	}
}

// listRows returns the JSON of lists.
func (q *call) listRows(rows []marketdata.ListRecord) ([]byte, *failure) {
	clients, refused := q.f.opt.Entry.Clients(rows)
	if refused != nil {
		return nil, fromRefusal(refused)
	}
	root := q.f.opt.Board.Load()
	w := q.writer()
	w.List()
	for i := range rows {
		l := entry.OrderList{ListRecord: rows[i], Instrument: root.View(rows[i].ID.Pair()).Instrument}
		for _, id := range l.ListRecord.Orders {
			l.Orders = append(l.Orders, marketdata.OrderRecord{ID: id, Client: clients[id]})
		}
		w.Object()
		q.f.lists(&w, &l).status(l.Done)
		w.EndObject()
	}
	w.EndList()
	return w.Bytes(), nil
}
