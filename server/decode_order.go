package server

import (
	"tickhive/engine"
)

// MaxBatch is the largest number of commands in one batch (docs/contract/internal.md#orders).
const MaxBatch = 1000

// orderRequest is the body of one order, as sent: decimals are text until the pair's
// digits are known. The slices alias the body.
type orderRequest struct {
	account    [16]byte // zero: the built-in account
	pair       []byte
	side       engine.Side
	typ        engine.OrderType
	tif        engine.TimeInForce
	price      []byte // nil: not given, like all decimals here
	amount     []byte
	quote      []byte
	stop       []byte
	display    []byte
	postOnly   bool
	stp        engine.SelfTrade
	stpGiven   bool
	client     []byte
	sideGiven  bool
	typeGiven  bool
	tifGiven   bool
	hasAccount bool
}

// replaceRequest holds the fields that PATCH changes.
type replaceRequest struct {
	price, amount []byte // nil: not given
}

// batchKind selects one of the three members that a batch command can have.
type batchKind uint8

const (
	batchNone batchKind = iota
	batchPlace
	batchCancel
	batchReplace
)

// batchCommand is one element of a batch.
type batchCommand struct {
	kind    batchKind
	place   orderRequest
	order   engine.OrderID // cancel, replace
	replace replaceRequest
	at      int64 // Unix ns
	hasAt   bool
}

// decodeOrder reads the body of POST /orders.
func (r *bodyReader) decodeOrder(o *orderRequest) *bodyError {
	r.readOrder(o)
	return r.inOrder(orderMembers...)
}

// orderMembers is the order of the contract's table, in which wrong members are reported.
var orderMembers = []string{
	"accountId", "currencyPairCode", "side", "type", "timeInForce", "price", "amount",
	"quoteAmount", "stopPrice", "displayAmount", "postOnly", "selfTradePrevention", "clientOrderId",
}

// readOrder reads an order object.
func (r *bodyReader) readOrder(o *orderRequest) {
	*o = orderRequest{}
	wrong := len(r.wrong)
	if !r.object() {
		return
	}
	for key, ok := r.member(); ok; key, ok = r.member() {
		r.readOrderMember(o, key)
	}
	if r.err == nil && len(r.wrong) == wrong {
		r.checkOrder(o)
	}
}

func (r *bodyReader) readOrderMember(o *orderRequest, key []byte) {
	switch string(key) {
	case "accountId":
		o.account, o.hasAccount = r.uuid()
	case "currencyPairCode":
		o.pair = r.pairCode()
	case "side":
		o.side, o.sideGiven = readWord(r, sides)
	case "type":
		o.typ, o.typeGiven = readWord(r, orderTypes)
	case "timeInForce":
		o.tif, o.tifGiven = readWord(r, timesInForce)
	case "price":
		o.price = r.decimal()
	case "amount":
		o.amount = r.decimal()
	case "quoteAmount":
		o.quote = r.decimal()
	case "stopPrice":
		o.stop = r.decimal()
	case "displayAmount":
		o.display = r.decimal()
	case "postOnly":
		o.postOnly, _ = r.boolean()
	case "selfTradePrevention":
		o.stp, o.stpGiven = readWord(r, selfTrades)
	case "clientOrderId":
		o.client = r.clientOrderID()
	default:
		r.unknown()
	}
}

// checkOrder checks the rules between members, in the order of the table, and sets the
// default of timeInForce.
func (r *bodyReader) checkOrder(o *orderRequest) {
	market := o.typ == engine.Market || o.typ == engine.StopMarket
	stop := o.typ == engine.StopLimit || o.typ == engine.StopMarket
	if !o.tifGiven && market {
		o.tif = engine.IOC
	}
	byQuote := market && o.side == engine.Buy && o.quote != nil
	switch {
	case o.pair == nil:
		r.rule("currencyPairCode", "is required.")
	case !o.sideGiven:
		r.rule("side", "is required.")
	case !o.typeGiven:
		r.rule("type", "is required.")
	case market && o.tif != engine.IOC:
		r.rule("timeInForce", "must be ioc for an order at the market's price.")
	case !market && o.price == nil:
		r.rule("price", "is required for this type.")
	case market && o.price != nil:
		r.rule("price", "does not apply to an order at the market's price.")
	case o.amount == nil && !byQuote && market && o.side == engine.Buy:
		r.rule("amount", "is required, or quoteAmount instead.")
	case o.amount == nil && !byQuote:
		r.rule("amount", "is required.")
	case o.quote != nil && !byQuote:
		r.rule("quoteAmount", "applies to buy orders at the market's price only.")
	case o.quote != nil && o.amount != nil:
		r.rule("quoteAmount", "stands instead of amount: give one of the two.")
	case stop && o.stop == nil:
		r.rule("stopPrice", "is required for this type.")
	case !stop && o.stop != nil:
		r.rule("stopPrice", "applies to stop orders only.")
	case o.display != nil && market:
		r.rule("displayAmount", "does not apply to an order at the market's price.")
	case o.display != nil && decimalSign(o.display) <= 0:
		r.rule("displayAmount", "must be above zero.")
	case o.display != nil && decimalSign(o.amount) > 0 && compareDecimals(o.display, o.amount) > 0:
		r.rule("displayAmount", "must be at most amount.")
	case o.postOnly && (market || o.tif != engine.GTC):
		r.rule("postOnly", "needs a gtc order with a limit price.")
	}
}

// decodeReplace reads the body of PATCH /orders/{id}.
func (r *bodyReader) decodeReplace(p *replaceRequest) *bodyError {
	*p = replaceRequest{}
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			switch string(key) {
			case "price":
				p.price = r.decimal()
			case "amount":
				p.amount = r.decimal()
			default:
				r.unknown()
			}
		}
	}
	return r.inOrder("price", "amount")
}
