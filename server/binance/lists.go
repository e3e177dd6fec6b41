package binance

import (
	"math"
	"slices"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

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
	query.Account, query.Limit = q.Principal.Account, listPage
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
	b := []byte{'['}
	for i := range rows {
		b = append(q.f.appendOrder(b, root, root.View(rows[i].ID.Pair()).Instrument, &rows[i]), ',')
	}
	return append(trimComma(b), ']')
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
		Account: q.Principal.Account, Pair: v.Instrument.ID, Limit: listPage,
		SinceNs: startMs * msNs, UntilNs: endMs*msNs + msNs - 1,
	}, err
}

// myTrades serves GET /api/v3/myTrades: the newest fills of the pair, or those from an id or a time on, or those
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
	b := []byte{'['}
	for _, fill := range cutRows(rows, limit, oldest) {
		b = append(appendFill(b, symbol, v.Instrument, &fill), ',')
	}
	return append(trimComma(b), ']'), nil
}

func appendFill(b []byte, symbol string, in *engine.Instrument, fill *marketdata.Fill) []byte {
	b = append(append(append(b, `{"symbol":"`...), symbol...), `","id":`...)
	b = strconv.AppendUint(b, uint64(fill.Trade), 10)
	b = append(strconv.AppendUint(append(b, `,"orderId":`...), uint64(fill.Order), 10), `,"orderListId":-1,`...)
	b = appendQuoted(b, "price", fill.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "qty", fill.Amount, in.DigitsAmount)
	quote := fixed.Mul64(uint64(fill.Price), uint64(fill.Amount))
	b = appendQuoted128(append(b, ','), "quoteQty", quote, in.DigitsTotal())
	b = fixed.AppendShortest(append(b, `,"commission":"`...), fill.Fee, fixed.Scale)
	b = append(append(append(b, `","commissionAsset":"`...), in.Quote...), '"')
	b = encode.AppendMs(append(b, `,"time":`...), fill.TimeNs)
	b = strconv.AppendBool(append(b, `,"isBuyer":`...), fill.Side == engine.Buy)
	b = strconv.AppendBool(append(b, `,"isMaker":`...), fill.IsMaker)
	return append(b, `,"isBestMatch":true}`...)
}
