package body

import (
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// MaxBatch is the largest number of commands in one batch (docs/contract/internal.md#orders).
const MaxBatch = 1000

// ClientOrderPattern is the regular expression of a client order id.
const ClientOrderPattern = "^[A-Za-z0-9_.:-]{1,64}$"

// orderReader reads the members of an order and tracks which required members it has read.
type orderReader struct {
	*entry.Place
	sideGiven, typeGiven, tifGiven bool
}

// The members of an order. readOrderMember is a switch, which is 8 % faster than a Form.
var (
	accountField = edge.Field{Name: "accountId", Kind: edge.KindUUID}
	pairField    = edge.Field{Name: "currencyPairCode", Kind: edge.KindPairCode, Required: true}
	sideField    = edge.Field{Name: "side", Kind: edge.KindWord, Required: true, Words: textsOf(sides)}
	typeField    = edge.Field{Name: "type", Kind: edge.KindWord, Required: true, Words: textsOf(orderTypes)}
	marketField  = edge.Field{Name: "isMarket", Kind: edge.KindBoolean, Default: false}
	tifField     = edge.Field{Name: "timeInForce", Kind: edge.KindWord, Words: textsOf(timesInForce)}
	priceField   = edge.Field{Name: "price", Kind: edge.KindDecimal}
	amountField  = edge.Field{Name: "amount", Kind: edge.KindDecimal}
	quoteField   = edge.Field{Name: "quoteAmount", Kind: edge.KindDecimal}
	stopField    = edge.Field{Name: "stopPrice", Kind: edge.KindDecimal}
	displayField = edge.Field{Name: "displayAmount", Kind: edge.KindDecimal}
	postField    = edge.Field{Name: "postOnly", Kind: edge.KindBoolean, Default: false}
	selfField    = edge.Field{Name: "selfTradePrevention", Kind: edge.KindWord, Words: textsOf(selfTrades)}
	clientField  = edge.Field{Name: "clientOrderId", Kind: edge.KindText, Pattern: ClientOrderPattern}
)

// OrderMembers and TradingMembers describe the bodies of POST /orders and POST /api/orders, each in the order
// of its table (docs/contract/internal.md#orders, docs/contract/trading.md#place-an-order).
var (
	OrderMembers = []edge.Field{
		accountField, pairField, sideField, typeField, tifField, priceField, amountField, quoteField, stopField,
		displayField, postField, selfField, clientField,
	}
	TradingMembers = []edge.Field{
		sideField, marketField, optional(nullable(typeField)), pairField, amountField,
		nullable(priceField), nullable(tifField),
		{Name: postField.Name, Kind: postField.Kind},
		nullable(clientField), nullable(stopField),
		nullable(displayField), nullable(selfField), nullable(quoteField),
	}
)

func nullable(f edge.Field) edge.Field {
	f.Nullable = true
	return f
}

func optional(f edge.Field) edge.Field {
	f.Required = false
	return f
}

// DecodeOrder reads the body of POST /orders.
func DecodeOrder(text []byte, o *entry.Place) *refuse.Refusal {
	return decode(text, func(r *Reader) *Error { return decodeOrder(r, o) })
}

func decodeOrder(r *Reader, o *entry.Place) *Error {
	readOrder(r, o)
	return r.InOrder(OrderMembers)
}

// readOrder reads an order object.
func readOrder(r *Reader, p *entry.Place) {
	*p = entry.Place{}
	o := orderReader{Place: p}
	wrong := len(r.Wrong)
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		readOrderMember(r, &o, key)
	}
	if r.Err == nil && len(r.Wrong) == wrong {
		checkOrder(r, &o)
	}
}

// readOrderMember reads the member key of an order.
func readOrderMember(r *Reader, o *orderReader, key []byte) {
	switch string(key) {
	case "accountId":
		o.Account, _ = r.uuid()
	case "currencyPairCode":
		o.Pair = r.PairCode()
	case "side":
		o.Side, o.sideGiven = ReadWord(r, sides)
	case "type":
		o.Type, o.typeGiven = ReadWord(r, orderTypes)
	case "timeInForce":
		o.TIF, o.tifGiven = ReadWord(r, timesInForce)
	case "price":
		o.Price = r.Decimal()
	case "amount":
		o.Amount = r.Decimal()
	case "quoteAmount":
		o.Quote = r.Decimal()
	case "stopPrice":
		o.Stop = r.Decimal()
	case "displayAmount":
		o.Display = r.Decimal()
	case "postOnly":
		o.PostOnly, _ = r.Boolean()
	case "selfTradePrevention":
		o.STP, o.STPGiven = ReadWord(r, selfTrades)
	case "clientOrderId":
		o.Client = r.clientOrderID()
	default:
		r.Unknown()
	}
}

// checkOrder checks the conditions between members, in the order of the table, and sets the default of
// timeInForce.
func checkOrder(r *Reader, o *orderReader) {
	market := o.Type == engine.Market || o.Type == engine.StopMarket
	stop := o.Type == engine.StopLimit || o.Type == engine.StopMarket
	if !o.tifGiven && market {
		o.TIF = engine.IOC
	}
	byQuote := market && o.Side == engine.Buy && o.Quote != nil
	switch {
	case o.Pair == nil:
		r.Rule("currencyPairCode", "is required.")
	case !o.sideGiven:
		r.Rule("side", "is required.")
	case !o.typeGiven:
		r.Rule("type", "is required.")
	case market && o.TIF != engine.IOC:
		r.Rule("timeInForce", "must be ioc for an order at the market's price.")
	case !market && o.Price == nil:
		r.Rule("price", "is required for this type.")
	case market && o.Price != nil:
		r.Rule("price", "does not apply to an order at the market's price.")
	case o.Amount == nil && !byQuote && market && o.Side == engine.Buy:
		r.Rule("amount", "is required, or quoteAmount instead.")
	case o.Amount == nil && !byQuote:
		r.Rule("amount", "is required.")
	case o.Quote != nil && !byQuote:
		r.Rule("quoteAmount", "applies to buy orders at the market's price only.")
	case o.Quote != nil && o.Amount != nil:
		r.Rule("quoteAmount", "stands instead of amount: give one of the two.")
	case stop && o.Stop == nil:
		r.Rule("stopPrice", "is required for this type.")
	case !stop && o.Stop != nil:
		r.Rule("stopPrice", "applies to stop orders only.")
	case o.Display != nil && market:
		r.Rule("displayAmount", "does not apply to an order at the market's price.")
	case o.Display != nil && DecimalSign(o.Display) <= 0:
		r.Rule("displayAmount", "must be above zero.")
	case o.Display != nil && DecimalSign(o.Amount) > 0 && compareDecimals(o.Display, o.Amount) > 0:
		r.Rule("displayAmount", "must be at most amount.")
	case o.PostOnly && (market || o.TIF != engine.GTC):
		r.Rule("postOnly", "needs a gtc order with a limit price.")
	}
}

// ReplaceForm is the body of PATCH /orders/{id}.
var ReplaceForm = Of(
	Decimal("price", func(p *entry.Replace, v []byte) { p.Price = v }),
	Decimal("amount", func(p *entry.Replace, v []byte) { p.Amount = v }),
)
