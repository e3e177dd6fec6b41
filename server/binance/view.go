package binance

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// orderStatus translates the status of an order.
func orderStatus(r *marketdata.OrderRecord) string {
	switch r.Status {
	case engine.Created:
		return "NEW"
	case engine.PartiallyCompleted:
		return "PARTIALLY_FILLED"
	case engine.Completed:
		return "FILLED"
	case engine.Rejected: // refused orders leave none behind
		return "REJECTED"
	case engine.Canceled, engine.PartiallyExecutedAndCanceled:
	}
	switch r.Cause {
	case engine.CauseRequest, engine.CauseReplace:
		return "CANCELED"
	case engine.CauseSelfTrade:
		return "EXPIRED_IN_MATCH"
	case engine.CauseRemainder, engine.CauseUnfillable, engine.CauseLimit:
	}
	return "EXPIRED"
}

// typeName translates the type of an order.
func typeName(t engine.OrderType, postOnly bool) string {
	switch t {
	case engine.Market:
		return "MARKET"
	case engine.StopLimit:
		return "STOP_LOSS_LIMIT"
	case engine.StopMarket:
		return "STOP_LOSS"
	case engine.Limit:
	}
	if postOnly {
		return "LIMIT_MAKER"
	}
	return "LIMIT"
}

// tifName translates the time in force. Orders at the market's price show GTC, as on the other exchange.
func tifName(r *marketdata.OrderRecord) string {
	switch {
	case isMarket(r.Type):
	case r.TIF == engine.IOC:
		return "IOC"
	case r.TIF == engine.FOK:
		return "FOK"
	}
	return "GTC"
}

func isMarket(t engine.OrderType) bool { return t == engine.Market || t == engine.StopMarket }

func sideName(s engine.Side) string {
	if s == engine.Buy {
		return "BUY"
	}
	return "SELL"
}

// selfTrades lists the self-trade modes by the engine's numbers.
var selfTrades = [...]string{
	engine.SelfTradeNone: "NONE", engine.CancelTaker: "EXPIRE_TAKER", engine.CancelMaker: "EXPIRE_MAKER",
	engine.CancelBoth: "EXPIRE_BOTH", engine.Decrement: "DECREMENT",
}

// quantity returns the lots that an order asked for; an order by quote amount asked for those that it got.
func quantity(r *marketdata.OrderRecord) int64 {
	if r.ByQuote {
		return r.Filled
	}
	return r.Amount
}

// asked returns the quote amount that an order asked for. The most that another purchase may spend is no request.
func asked(r *marketdata.OrderRecord) fixed.U128 {
	if r.ByQuote {
		return r.Quote
	}
	return fixed.U128{}
}

// works reports whether the order is or was in the book; of an old stop that is not known, so it does.
func works(r *marketdata.OrderRecord) bool { return r.Trigger != marketdata.Waiting }

// changedNs returns the time of the order's last change.
func changedNs(r *marketdata.OrderRecord) int64 { return max(r.CreatedNs, r.ChangedNs, r.EndedNs) }

// appendOrderHead appends the members that every form of an order begins with. client is the client order id to
// show.
func appendOrderHead(b []byte, symbol, client string, id engine.OrderID) []byte {
	b = append(append(append(b, `"symbol":"`...), symbol...), `","orderId":`...)
	b = append(strconv.AppendUint(b, uint64(id), 10), `,"orderListId":-1,"clientOrderId":`...)
	return encode.AppendString(b, client)
}

// appendOrderFigures appends the members that queries and results share.
func appendOrderFigures(b []byte, in *engine.Instrument, r *marketdata.OrderRecord) []byte {
	b = appendQuoted(append(b, ','), "price", r.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "origQty", quantity(r), in.DigitsAmount)
	b = appendQuoted(append(b, ','), "executedQty", r.Filled, in.DigitsAmount)
	b = appendQuoted128(append(b, ','), "origQuoteOrderQty", asked(r), in.DigitsTotal())
	b = appendQuoted128(append(b, ','), "cummulativeQuoteQty", r.FilledQuote, in.DigitsTotal())
	b = append(append(append(b, `,"status":"`...), orderStatus(r)...), `","timeInForce":"`...)
	b = append(append(append(b, tifName(r)...), `","type":"`...), typeName(r.Type, r.PostOnly)...)
	b = append(append(append(b, `","side":"`...), sideName(r.Side)...), '"')
	if r.Stop != 0 {
		b = appendQuoted(append(b, ','), "stopPrice", r.Stop, in.DigitsPrice)
	}
	if r.Display != 0 {
		b = appendQuoted(append(b, ','), "icebergQty", r.Display, in.DigitsAmount)
	}
	if works(r) {
		b = encode.AppendMs(append(b, `,"workingTime":`...), r.CreatedNs)
	} else {
		b = append(b, `,"workingTime":-1`...)
	}
	b = append(b, `,"selfTradePreventionMode":"`...)
	return append(append(b, selfTrades[r.STP]...), '"')
}

// appendOrder appends an order as queries show it.
func (f *Facade) appendOrder(b []byte, root *marketdata.Root, in *engine.Instrument, r *marketdata.OrderRecord) []byte {
	b = appendOrderHead(append(b, '{'), f.symbolsOf(root).of(in), f.orderID(r), r.ID)
	b = appendOrderFigures(b, in, r)
	if r.Stop == 0 { // queries have both members of every order
		b = appendQuoted(append(b, ','), "stopPrice", 0, in.DigitsPrice)
	}
	if r.Display == 0 {
		b = appendQuoted(append(b, ','), "icebergQty", 0, in.DigitsAmount)
	}
	b = encode.AppendMs(append(b, `,"time":`...), r.CreatedNs)
	b = encode.AppendMs(append(b, `,"updateTime":`...), changedNs(r))
	return append(strconv.AppendBool(append(b, `,"isWorking":`...), works(r)), '}')
}

// appendResult appends an order as the answer to its placing shows it. kind is ACK, RESULT or FULL.
func (f *Facade) appendResult(b []byte, root *marketdata.Root, in *engine.Instrument, r *marketdata.OrderRecord,
	kind string,
) []byte {
	b = appendOrderHead(append(b, '{'), f.symbolsOf(root).of(in), f.orderID(r), r.ID)
	b = encode.AppendMs(append(b, `,"transactTime":`...), changedNs(r))
	if kind == "ACK" {
		return append(b, '}')
	}
	b = appendOrderFigures(b, in, r)
	if kind != "FULL" {
		return append(b, '}')
	}
	b = append(b, `,"fills":[`...)
	for i := range r.Fills {
		fill := &r.Fills[i]
		b = appendQuoted(append(b, '{'), "price", fill.Price, in.DigitsPrice)
		b = appendQuoted(append(b, ','), "qty", fill.Amount, in.DigitsAmount)
		b = fixed.AppendShortest(append(b, `,"commission":"`...), fill.Fee, fixed.Scale)
		b = append(append(append(b, `","commissionAsset":"`...), in.Quote...), `","tradeId":`...)
		b = append(strconv.AppendUint(b, uint64(fill.Trade), 10), "},"...)
	}
	return append(trimComma(b), "]}"...)
}

// appendCanceled appends an order as the answer to its cancel shows it. client is the id of the cancel, "" for none.
func (f *Facade) appendCanceled(b []byte, root *marketdata.Root, in *engine.Instrument, r *marketdata.OrderRecord,
	client string,
) []byte {
	b = appendOrderHead(append(b, '{'), f.symbolsOf(root).of(in), f.cancelID(r, client), r.ID)
	b = encode.AppendString(append(b, `,"origClientOrderId":`...), f.orderID(r))
	b = encode.AppendMs(append(b, `,"transactTime":`...), changedNs(r))
	return append(appendOrderFigures(b, in, r), '}')
}
