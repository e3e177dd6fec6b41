package binance

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// preventedMatches serves GET /api/v3/myPreventedMatches.
func preventedMatches(q *call) ([]byte, *failure) {
	byOrder := q.given("orderId")
	weight := 2
	if byOrder {
		weight = 20
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	v, err := q.pastPair()
	if err != nil {
		return nil, err
	}
	query := marketdata.PreventedQuery{Account: q.account(), Pair: v.Instrument.ID}
	one, err := q.number("preventedMatchId", 0)
	if err != nil {
		return nil, err
	}
	order, err := q.number("orderId", 0)
	if err != nil {
		return nil, err
	}
	from, err := q.number("fromPreventedMatchId", 0)
	if err != nil {
		return nil, err
	}
	if query.Limit, err = q.limit(defaultRows, maxRows); err != nil {
		return nil, err
	}
	byNumber := q.given("preventedMatchId")
	switch {
	case byOrder && !byNumber:
		query.Order, query.From = engine.OrderID(order), uint64(from)
	case byOrder, byNumber && (q.sent("fromPreventedMatchId") || q.sent("limit")):
		return nil, badCombination()
	case byNumber:
		query.From, query.Limit = uint64(one), 1
	default:
		return nil, bothMissing("preventedMatchId", "orderId")
	}
	rows, refused := q.f.opt.Entry.PreventedMatches(query)
	if refused != nil {
		return nil, fromRefusal(refused)
	}
	symbol := q.f.symbolsOf(q.f.opt.Board.Load()).of(v.Instrument)
	w := q.writer()
	w.List()
	for i := range rows {
		if m := &rows[i]; byOrder || m.Number == uint64(one) {
			w.Object()
			w.Name("symbol").Word(symbol)
			w.Name("preventedMatchId").Uint(m.Number)
			w.Name("takerOrderId").Uint(uint64(m.Taker))
			w.Name("makerSymbol").Word(symbol)
			w.Name("makerOrderId").Uint(uint64(m.Maker))
			w.Name("tradeGroupId").Int(noGroup)
			w.Name("selfTradePreventionMode").Word(selfTrades[m.STP])
			writePrevented(&w, v.Instrument, m)
			w.Name("transactTime").Time(m.TimeNs)
			w.EndObject()
		}
	}
	w.EndList()
	return w.Bytes(), nil
}

// noGroup is the trade group of an account that is in none, as every account is here.
const noGroup = -1

// writePrevented writes the figures of a prevented match: of each order what it took off, if it did.
func writePrevented(w *json.Writer, in *engine.Instrument, m *marketdata.PreventedMatch) {
	w.Name("price").Units(m.Price, in.DigitsPrice)
	if m.TakerAmount != 0 {
		w.Name("takerPreventedQuantity").Units(m.TakerAmount, in.DigitsAmount)
	}
	if m.MakerAmount != 0 {
		w.Name("makerPreventedQuantity").Units(m.MakerAmount, in.DigitsAmount)
	}
}

// amendments serves GET /api/v3/order/amendments.
func amendments(q *call) ([]byte, *failure) {
	if _, err := q.required("orderId"); err != nil {
		return nil, err
	}
	from, err := q.number("fromExecutionId", 0)
	if err != nil {
		return nil, err
	}
	limit, err := q.limit(defaultRows, maxRows)
	if err != nil {
		return nil, err
	}
	a, err := q.find(orderNames{id: "orderId", unknown: queried.unknown})
	if err != nil {
		return nil, err
	}
	rows, refused := q.f.opt.Entry.Amendments(a.Order, uint64(from), limit)
	if refused != nil {
		return nil, fromRefusal(refused)
	}
	symbol := q.f.symbolsOf(q.f.opt.Board.Load()).of(a.Instrument)
	client := func(sent string) string { return q.f.orderID(&marketdata.OrderRecord{ID: a.Order, Client: sent}) }
	w := q.writer()
	w.List()
	for i := range rows {
		m := &rows[i]
		w.Object()
		w.Name("symbol").Word(symbol)
		w.Name("orderId").Uint(uint64(m.Order))
		w.Name("executionId").Uint(m.Number)
		w.Name("origClientOrderId").Text(client(m.OldClient))
		w.Name("newClientOrderId").Text(client(m.NewClient))
		w.Name("origQty").Units(m.Old, a.Instrument.DigitsAmount)
		w.Name("newQty").Units(m.New, a.Instrument.DigitsAmount)
		w.Name("time").Time(m.TimeNs)
		w.EndObject()
	}
	w.EndList()
	return w.Bytes(), nil
}

// myFilters serves GET /api/v3/myFilters. Every account has the filters of the pair, and none else.
func myFilters(q *call) ([]byte, *failure) {
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	w := q.writer()
	w.Object()
	w.Name("exchangeFilters").Words()
	w.Name("symbolFilters").List()
	q.f.writeFilters(&w, v.Instrument)
	w.EndList()
	w.Name("assetFilters").Words()
	w.EndObject()
	return w.Bytes(), nil
}

// noAllocations serves GET /api/v3/myAllocations: nothing routes an order, so nothing was allocated to one.
func noAllocations(q *call) ([]byte, *failure) {
	if _, err := q.pastPair(); err != nil {
		return nil, err
	}
	if _, _, err := q.day(); err != nil {
		return nil, err
	}
	for _, name := range []string{"fromAllocationId", "orderId"} {
		if _, err := q.number(name, 0); err != nil {
			return nil, err
		}
	}
	_, err := q.limit(defaultRows, maxRows)
	return []byte("[]"), err
}

// noBlockTrades serves GET /api/v3/historicalBlockTrades: there is no other pool of orders.
func noBlockTrades(q *call) ([]byte, *failure) {
	if _, err := q.pair(); err != nil {
		return nil, err
	}
	if _, err := q.number("fromId", 0); err != nil {
		return nil, err
	}
	_, err := q.limit(defaultRows, maxRows)
	return []byte("[]"), err
}

// maxRulesWeight is the weight of executionRules for 20 pairs or more.
const maxRulesWeight = 40

// executionRules serves GET /api/v3/executionRules. The price band is a filter and no rule of execution.
func executionRules(q *call) ([]byte, *failure) {
	views, root, given, err := q.views(maxInfoSymbols)
	if err != nil {
		return nil, err
	}
	status, err := q.statusOfAll(given)
	if err != nil {
		return nil, err
	}
	weight := maxRulesWeight
	if given {
		weight = min(2*len(views), maxRulesWeight)
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	names := q.f.symbolsOf(root)
	w := q.writer()
	w.Object()
	w.Name("symbolRules").List()
	for _, v := range views {
		if status != "" && statusOf(v.Instrument.State) != status {
			continue
		}
		w.Object()
		w.Name("symbol").Word(names.of(v.Instrument))
		w.Name("rules").Words()
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	return w.Bytes(), nil
}

// noReferencePrice serves GET /api/v3/referencePrice and referencePrice/calculation: no pair has one.
func noReferencePrice(q *call) ([]byte, *failure) {
	if _, err := q.pairInStatus(); err != nil {
		return nil, err
	}
	if err := q.unread(); err != nil {
		return nil, err
	}
	return nil, fail(codeNoReference, "This symbol doesn't have a reference price.")
}
