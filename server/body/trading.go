package body

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// MaxTradingBatch is the largest number of commands in one batch of a signed request
// (docs/contract/trading.md#batches).
const MaxTradingBatch = 100

var tradingIDField = edge.Field{Name: "orderId", Kind: edge.KindOrderID, Required: true}

// TradingBatchMembers describes the body of POST /api/orders/batch.
var TradingBatchMembers = []edge.Field{{
	Name: "commands", Kind: edge.KindArray, Required: true, Range: []int64{1, MaxTradingBatch},
	Element: &edge.Field{Kind: edge.KindObject, Fields: []edge.Field{
		{Name: "place", Kind: edge.KindObject, Schema: "CreateOrderRequest", Fields: TradingMembers},
		{Name: "cancel", Kind: edge.KindObject, Fields: []edge.Field{tradingIDField}},
		{Name: "replace", Kind: edge.KindObject, Fields: append([]edge.Field{tradingIDField}, ReplaceForm.fields...)},
	}},
}}

// DecodeTradingOrder reads the body of POST /api/orders.
func DecodeTradingOrder(text []byte, p *entry.Place) *refuse.Refusal {
	return decode(text, func(r *Reader) *Error { return decodeTradingOrder(r, p) })
}

func decodeTradingOrder(r *Reader, p *entry.Place) *Error {
	readTradingOrder(r, p)
	return r.InOrder(TradingMembers)
}

// DecodeTradingBatch reads the body of POST /api/orders/batch into dst, whose memory it reuses.
func DecodeTradingBatch(text []byte, dst []entry.Command) ([]entry.Command, *refuse.Refusal) {
	return pooledBatch(text, dst, &tradingBatch)
}

// readTradingOrder reads an order object of a signed request.
func readTradingOrder(r *Reader, p *entry.Place) {
	*p = entry.Place{}
	o := orderReader{Place: p}
	wrong := len(r.Wrong)
	market, marketGiven := false, false
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		switch string(key) {
		case "isMarket":
			market, marketGiven = r.Boolean()
		case "accountId":
			r.Unknown() // the key says whose order it is
		default:
			readOrderMember(r, &o, key)
		}
	}
	if r.Err != nil || len(r.Wrong) != wrong {
		return
	}
	byType := o.Type == engine.Market || o.Type == engine.StopMarket
	switch {
	case !o.typeGiven:
		o.Type, o.typeGiven = typeOf(market, o.Stop != nil), true
	case marketGiven && market != byType:
		r.Rule("isMarket", "must agree with type.")
	default:
		market = byType
	}
	if market && o.Price != nil && DecimalSign(o.Price) == 0 {
		o.Price = nil // some clients always send a price, here 0
	}
	r.Require("side", o.sideGiven)
	r.Require("currencyPairCode", o.Pair != nil)
	if len(r.Wrong) == wrong {
		checkOrder(r, &o)
	}
}

func typeOf(market, stop bool) engine.OrderType {
	switch {
	case market && stop:
		return engine.StopMarket
	case market:
		return engine.Market
	case stop:
		return engine.StopLimit
	}
	return engine.Limit
}

// textOrderID reads an order id, which signed routes send as a string: digits in a string, or an integer.
func textOrderID(r *Reader) (engine.OrderID, bool) {
	if r.Peek() != '"' {
		return orderID(r)
	}
	text := r.Text(16)
	v, err := strconv.ParseUint(string(text), 10, 64)
	if text != nil && (err != nil || v > MaxOrderID || text[0] == '+') {
		r.Bad("must be an order id.")
		return 0, false
	}
	return engine.OrderID(v), text != nil
}
