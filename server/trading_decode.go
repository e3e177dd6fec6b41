package server

import "tickhive/engine"

// tradingMembers is the order of reported members (docs/contract/trading.md#place-an-order).
var tradingMembers = []string{
	"side", "isMarket", "currencyPairCode", "amount", "price", "timeInForce", "postOnly", "clientOrderId",
	"stopPrice", "displayAmount", "selfTradePrevention", "quoteAmount",
}

// decodeTradingOrder reads the body of POST /api/orders.
func (r *bodyReader) decodeTradingOrder(o *orderRequest) *bodyError {
	*o = orderRequest{}
	market := false
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			switch string(key) {
			case "isMarket":
				market, _ = r.boolean()
			case "type", "accountId":
				r.unknown() // members of the internal API only
			default:
				r.readOrderMember(o, key)
			}
		}
		if r.err == nil && len(r.wrong) == 0 {
			r.checkTradingOrder(o, market)
		}
	}
	return r.inOrder(tradingMembers...)
}

// checkTradingOrder sets the order type and checks the rules between members.
func (r *bodyReader) checkTradingOrder(o *orderRequest, market bool) {
	o.typeGiven = true
	switch {
	case market && o.stop != nil:
		o.typ = engine.StopMarket
	case market:
		o.typ = engine.Market
	case o.stop != nil:
		o.typ = engine.StopLimit
	default:
		o.typ = engine.Limit
	}
	if market && o.price != nil && decimalSign(o.price) == 0 {
		o.price = nil // some clients always send a price, and send 0 here
	}
	r.require("side", o.sideGiven)
	r.require("currencyPairCode", o.pair != nil)
	if len(r.wrong) == 0 {
		r.checkOrder(o)
	}
}
