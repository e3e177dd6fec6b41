package server

import (
	"tickhive/engine"
	"tickhive/internal/entry"
)

// MaxBatch is the largest number of commands in one batch (docs/contract/internal.md#orders).
const MaxBatch = 1000

// orderReader reads the members of an order, and notes the required ones that it has read.
type orderReader struct {
	*entry.Place
	sideGiven, typeGiven, tifGiven bool
}

// decodeOrder reads the body of POST /orders.
func (r *bodyReader) decodeOrder(o *entry.Place) *bodyError {
	r.readOrder(o)
	return r.inOrder(orderMembers...)
}

// orderMembers is the order of the contract's table, in which wrong members are reported.
var orderMembers = []string{
	"accountId", "currencyPairCode", "side", "type", "timeInForce", "price", "amount",
	"quoteAmount", "stopPrice", "displayAmount", "postOnly", "selfTradePrevention", "clientOrderId",
}

// readOrder reads an order object.
func (r *bodyReader) readOrder(p *entry.Place) {
	*p = entry.Place{}
	o := orderReader{Place: p}
	wrong := len(r.wrong)
	if !r.object() {
		return
	}
	for key, ok := r.member(); ok; key, ok = r.member() {
		r.readOrderMember(&o, key)
	}
	if r.err == nil && len(r.wrong) == wrong {
		r.checkOrder(&o)
	}
}

func (r *bodyReader) readOrderMember(o *orderReader, key []byte) {
	switch string(key) {
	case "accountId":
		o.Account, _ = r.uuid()
	case "currencyPairCode":
		o.Pair = r.pairCode()
	case "side":
		o.Side, o.sideGiven = readWord(r, sides)
	case "type":
		o.Type, o.typeGiven = readWord(r, orderTypes)
	case "timeInForce":
		o.TIF, o.tifGiven = readWord(r, timesInForce)
	case "price":
		o.Price = r.decimal()
	case "amount":
		o.Amount = r.decimal()
	case "quoteAmount":
		o.Quote = r.decimal()
	case "stopPrice":
		o.Stop = r.decimal()
	case "displayAmount":
		o.Display = r.decimal()
	case "postOnly":
		o.PostOnly, _ = r.boolean()
	case "selfTradePrevention":
		o.STP, o.STPGiven = readWord(r, selfTrades)
	case "clientOrderId":
		o.Client = r.clientOrderID()
	default:
		r.unknown()
	}
}

// checkOrder checks the rules between members, in the order of the table, and sets the
// default of timeInForce.
func (r *bodyReader) checkOrder(o *orderReader) {
	market := o.Type == engine.Market || o.Type == engine.StopMarket
	stop := o.Type == engine.StopLimit || o.Type == engine.StopMarket
	if !o.tifGiven && market {
		o.TIF = engine.IOC
	}
	byQuote := market && o.Side == engine.Buy && o.Quote != nil
	switch {
	case o.Pair == nil:
		r.rule("currencyPairCode", "is required.")
	case !o.sideGiven:
		r.rule("side", "is required.")
	case !o.typeGiven:
		r.rule("type", "is required.")
	case market && o.TIF != engine.IOC:
		r.rule("timeInForce", "must be ioc for an order at the market's price.")
	case !market && o.Price == nil:
		r.rule("price", "is required for this type.")
	case market && o.Price != nil:
		r.rule("price", "does not apply to an order at the market's price.")
	case o.Amount == nil && !byQuote && market && o.Side == engine.Buy:
		r.rule("amount", "is required, or quoteAmount instead.")
	case o.Amount == nil && !byQuote:
		r.rule("amount", "is required.")
	case o.Quote != nil && !byQuote:
		r.rule("quoteAmount", "applies to buy orders at the market's price only.")
	case o.Quote != nil && o.Amount != nil:
		r.rule("quoteAmount", "stands instead of amount: give one of the two.")
	case stop && o.Stop == nil:
		r.rule("stopPrice", "is required for this type.")
	case !stop && o.Stop != nil:
		r.rule("stopPrice", "applies to stop orders only.")
	case o.Display != nil && market:
		r.rule("displayAmount", "does not apply to an order at the market's price.")
	case o.Display != nil && decimalSign(o.Display) <= 0:
		r.rule("displayAmount", "must be above zero.")
	case o.Display != nil && decimalSign(o.Amount) > 0 && compareDecimals(o.Display, o.Amount) > 0:
		r.rule("displayAmount", "must be at most amount.")
	case o.PostOnly && (market || o.TIF != engine.GTC):
		r.rule("postOnly", "needs a gtc order with a limit price.")
	}
}

// decodeReplace reads the body of PATCH /orders/{id}.
func (r *bodyReader) decodeReplace(p *entry.Replace) *bodyError {
	*p = entry.Replace{}
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			switch string(key) {
			case "price":
				p.Price = r.decimal()
			case "amount":
				p.Amount = r.decimal()
			default:
				r.unknown()
			}
		}
	}
	return r.inOrder("price", "amount")
}
