package account

import (
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/server/body"
)

// decodeTradingOrder reads the body of POST /api/orders.
func decodeTradingOrder(r *body.Reader, p *entry.Place) *body.Error {
	*p = entry.Place{}
	o := body.OrderReader{Place: p}
	market := false
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			switch string(key) {
			case "isMarket":
				market, _ = r.Boolean()
			case "type", "accountId":
				r.Unknown() // members that only the internal API has
			default:
				body.ReadOrderMember(r, &o, key)
			}
		}
		if r.Err == nil && len(r.Wrong) == 0 {
			checkTradingOrder(r, &o, market)
		}
	}
	return r.InOrder(body.TradingMembers)
}

// checkTradingOrder sets the order type and checks the rules between members.
func checkTradingOrder(r *body.Reader, o *body.OrderReader, market bool) {
	o.TypeGiven = true
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
	if market && o.Price != nil && body.DecimalSign(o.Price) == 0 {
		o.Price = nil // some clients always send a price, here 0
	}
	r.Require("side", o.SideGiven)
	r.Require("currencyPairCode", o.Pair != nil)
	if len(r.Wrong) == 0 {
		body.CheckOrder(r, o)
	}
}
