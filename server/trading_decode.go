package server

import (
	"tickhive/engine"
	"tickhive/internal/entry"
)

// tradingMembers is the order of reported members (docs/contract/trading.md#place-an-order).
var tradingMembers = []string{
	"side", "isMarket", "currencyPairCode", "amount", "price", "timeInForce", "postOnly", "clientOrderId",
	"stopPrice", "displayAmount", "selfTradePrevention", "quoteAmount",
}

// decodeTradingOrder reads the body of POST /api/orders.
func (r *bodyReader) decodeTradingOrder(p *entry.Place) *bodyError {
	*p = entry.Place{}
	o := orderReader{Place: p}
	market := false
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			switch string(key) {
			case "isMarket":
				market, _ = r.boolean()
			case "type", "accountId":
				r.unknown() // members of the internal API only
			default:
				r.readOrderMember(&o, key)
			}
		}
		if r.err == nil && len(r.wrong) == 0 {
			r.checkTradingOrder(&o, market)
		}
	}
	return r.inOrder(tradingMembers...)
}

// checkTradingOrder sets the order type and checks the rules between members.
func (r *bodyReader) checkTradingOrder(o *orderReader, market bool) {
	o.typeGiven = true
	switch {
	case market && o.Stop != nil:
		o.Type = engine.StopMarket
	case market:
		o.Type = engine.Market
	case o.Stop != nil:
		o.Type = engine.StopLimit
	default:
		o.Type = engine.Limit
	}
	if market && o.Price != nil && decimalSign(o.Price) == 0 {
		o.Price = nil // some clients always send a price, and send 0 here
	}
	r.require("side", o.sideGiven)
	r.require("currencyPairCode", o.Pair != nil)
	if len(r.wrong) == 0 {
		r.checkOrder(o)
	}
}
