package binance

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// orderStatus translates the status of an order.
func orderStatus(r *marketdata.OrderRecord) string {
	switch r.Status {
	case engine.Created:
		return "NEW"
	case engine.Pending:
		return "PENDING_NEW"
	case engine.PartiallyCompleted:
		return "PARTIALLY_FILLED"
	case engine.Completed:
		return "FILLED"
	case engine.Rejected: // refused orders leave none behind
		return "REJECTED"
	case engine.Canceled, engine.PartiallyExecutedAndCanceled:
	}
	switch {
	case r.Cause == engine.CauseSelfTrade:
		return "EXPIRED_IN_MATCH"
	case expiryReason(r) == "":
		return "CANCELED"
	}
	return "EXPIRED"
}

// expiryReason says why an order that has ended is EXPIRED; "" for every other order.
func expiryReason(r *marketdata.OrderRecord) string {
	if r.Status != engine.Canceled && r.Status != engine.PartiallyExecutedAndCanceled {
		return ""
	}
	switch r.Cause {
	case engine.CauseRequest, engine.CauseReplace, engine.CauseSelfTrade:
	case engine.CauseRemainder:
		if r.Type.AtMarket() {
			return "INSUFFICIENT_LIQUIDITY"
		}
		return "UNFILLED_IOC_QUANTITY_EXPIRED"
	case engine.CauseFOK:
		return "UNFILLED_FOK_ORDER_EXPIRED"
	case engine.CauseNoLiquidity:
		return "INSUFFICIENT_LIQUIDITY"
	case engine.CauseUnfillable, engine.CauseFunds:
		return "REJECTED"
	case engine.CauseList:
		return "OCO_TRIGGER"
	case engine.CauseWorking:
		return "OTO_PHASE_ONE_EXPIRED"
	case engine.CauseOperator:
		return "EXCHANGE_CANCELED"
	}
	return ""
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
	case engine.TakeLimit:
		return "TAKE_PROFIT_LIMIT"
	case engine.TakeMarket:
		return "TAKE_PROFIT"
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
	case r.Type.AtMarket():
	case r.TIF == engine.IOC:
		return "IOC"
	case r.TIF == engine.FOK:
		return "FOK"
	}
	return "GTC"
}

func sideName(s engine.Side) string {
	if s == engine.Buy {
		return "BUY"
	}
	return "SELL"
}

// transfer is a self-trade mode that is taken and means another one (readSelfTrade).
const transfer = "TRANSFER"

// selfTrades lists the self-trade modes by the engine's numbers.
var selfTrades = [...]string{
	engine.SelfTradeNone: "NONE", engine.CancelTaker: "EXPIRE_TAKER", engine.CancelMaker: "EXPIRE_MAKER",
	engine.CancelBoth: "EXPIRE_BOTH", engine.Decrement: "DECREMENT",
}

// quantity returns the lots that an order asked for. An order by quote amount asked for no number of lots, so its
// quantity is the lots that it got.
func quantity(r *marketdata.OrderRecord) int64 {
	if r.ByQuote {
		return r.Filled
	}
	return r.Amount
}

// hasQuantity reports whether an order has a quantity: an order of a list may have none until the list gives it one.
func hasQuantity(r *marketdata.OrderRecord) bool { return r.Amount != 0 || r.ByQuote }

// asked returns the quote amount that an order asked for, 0 for an order by amount: r.Quote is then only the most that
// a market buy may spend.
func asked(r *marketdata.OrderRecord) fixed.U128 {
	if r.ByQuote {
		return r.Quote
	}
	return fixed.U128{}
}

// works reports whether the order is or was in the book; of an old stop that is not known, so it does.
func works(r *marketdata.OrderRecord) bool {
	return r.Trigger != marketdata.Waiting && r.Status != engine.Pending && !r.Kept
}

// changedNs returns the time of the order's last change.
func changedNs(r *marketdata.OrderRecord) int64 { return max(r.CreatedNs, r.ChangedNs, r.EndedNs) }

// prevented returns the lots that self-trade prevention has taken from the order.
func prevented(r *marketdata.OrderRecord) int64 {
	if r.Cause == engine.CauseSelfTrade {
		return r.Reduced + r.Canceled
	}
	return r.Reduced
}

// orderWriter writes orders of one pair.
type orderWriter struct {
	*json.Writer
	f      *Facade
	in     *engine.Instrument
	symbol string
}

func (f *Facade) orders(w *json.Writer, root *marketdata.Root, in *engine.Instrument) orderWriter {
	return orderWriter{w, f, in, f.symbolsOf(root).of(in)}
}

// head writes the members that every form of an order begins with. client is the client order id to show.
func (w orderWriter) head(r *marketdata.OrderRecord, client string) {
	w.Name("symbol").Word(w.symbol)
	w.Name("orderId").Uint(uint64(r.ID))
	w.Name("orderListId")
	w.listID(r.List)
	w.Name("clientOrderId").Text(client)
}

// listID writes the id of an order's list.
func (w orderWriter) listID(list engine.OrderID) {
	if list == 0 {
		w.Int(-1)
	} else {
		w.Uint(uint64(list))
	}
}

// figures writes the quantities and the terms of an order. quote writes the member origQuoteOrderQty, at its place.
func (w orderWriter) figures(r *marketdata.OrderRecord, quote bool) {
	w.Name("price").Units(r.Price, w.in.DigitsPrice)
	if hasQuantity(r) {
		w.Name("origQty").Units(quantity(r), w.in.DigitsAmount)
	}
	w.Name("executedQty").Units(r.Filled, w.in.DigitsAmount)
	if quote {
		w.Name("origQuoteOrderQty").Sum(asked(r), w.in.DigitsTotal())
	}
	w.Name("cummulativeQuoteQty").Sum(r.FilledQuote, w.in.DigitsTotal())
	w.terms(r)
}

// terms writes what an order is, and its status.
func (w orderWriter) terms(r *marketdata.OrderRecord) {
	w.Name("status").Word(orderStatus(r))
	w.Name("timeInForce").Word(tifName(r))
	w.Name("type").Word(typeName(r.Type, r.PostOnly))
	w.Name("side").Word(sideName(r.Side))
}

// stop writes the members of an order that waits or has waited.
func (w orderWriter) stop(r *marketdata.OrderRecord) {
	if r.Stop != 0 {
		w.Name("stopPrice").Units(r.Stop, w.in.DigitsPrice)
	}
	if r.Trail != 0 {
		w.Name("trailingDelta").Int(int64(r.Trail))
		w.Name("trailingTime")
		w.timeOrNone(r.TrackNs, r.TrackNs != 0)
	}
}

func (w orderWriter) iceberg(r *marketdata.OrderRecord) {
	if r.Display != 0 {
		w.Name("icebergQty").Units(r.Display, w.in.DigitsAmount)
	}
}

// timeOrNone writes a time, or -1 for one that is not yet.
func (w orderWriter) timeOrNone(ns int64, known bool) {
	if known {
		w.Time(ns)
	} else {
		w.Int(-1)
	}
}

func (w orderWriter) workingTime(r *marketdata.OrderRecord) {
	w.Name("workingTime")
	w.timeOrNone(r.CreatedNs, works(r))
}

// labels writes the members at the end: those of a strategy, of self-trade prevention and of the end.
func (w orderWriter) labels(r *marketdata.OrderRecord) {
	if r.Strategy != nil {
		w.Name("strategyId").Int(*r.Strategy)
	}
	if r.StrategyType != nil {
		w.Name("strategyType").Int(*r.StrategyType)
	}
	w.Name("selfTradePreventionMode").Word(selfTrades[r.STP])
	if prevented(r) != 0 { // not of an order from which its matches took nothing
		w.Name("preventedMatchId").Uint(r.Prevented)
		w.Name("preventedQuantity").Units(prevented(r), w.in.DigitsAmount)
	}
	if why := expiryReason(r); why != "" {
		w.Name("expiryReason").Word(why)
	}
}

// order writes an order as queries show it, which have a stop price and a shown amount of every order.
func (w orderWriter) order(r *marketdata.OrderRecord) {
	w.Object()
	w.head(r, w.f.orderID(r))
	w.figures(r, false)
	if r.Stop == 0 {
		w.Name("stopPrice").Units(0, w.in.DigitsPrice)
	}
	w.stop(r)
	w.Name("icebergQty").Units(r.Display, w.in.DigitsAmount)
	w.Name("time").Time(r.CreatedNs)
	w.Name("updateTime").Time(changedNs(r))
	w.Name("isWorking").Bool(works(r))
	w.workingTime(r)
	w.Name("origQuoteOrderQty").Sum(asked(r), w.in.DigitsTotal())
	w.labels(r)
	w.EndObject()
}

// result writes an order as the answer to its placing shows it. kind is ACK, RESULT or FULL. prevented has the
// prevented matches of the order.
func (w orderWriter) result(r *marketdata.OrderRecord, kind string, prevented []marketdata.PreventedMatch) {
	w.Object()
	w.head(r, w.f.orderID(r))
	w.Name("transactTime").Time(changedNs(r))
	if kind != "ACK" {
		w.figures(r, true)
		w.stop(r)
		w.workingTime(r)
		w.iceberg(r)
	}
	if kind == "FULL" {
		w.fills(r)
	}
	if len(prevented) > 0 {
		w.prevented(r, prevented)
	}
	if kind != "ACK" {
		w.labels(r)
	}
	w.EndObject()
}

func (w orderWriter) fills(r *marketdata.OrderRecord) {
	w.Name("fills").List()
	for i := range r.Fills {
		fill := &r.Fills[i]
		w.Object()
		w.Name("price").Units(fill.Price, w.in.DigitsPrice)
		w.Name("qty").Units(fill.Amount, w.in.DigitsAmount)
		writeCommission(w.Writer, w.in, fill, "commission", "commissionAsset")
		w.Name("tradeId").Uint(uint64(fill.Trade))
		w.EndObject()
	}
	w.EndList()
}

// prevented writes the matches that self-trade prevention has prevented while the order took.
func (w orderWriter) prevented(r *marketdata.OrderRecord, matches []marketdata.PreventedMatch) {
	w.Name("preventedMatches").List()
	for i := range matches {
		if m := &matches[i]; m.Taker == r.ID {
			w.Object()
			w.Name("preventedMatchId").Uint(m.Number)
			w.Name("makerSymbol").Word(w.symbol)
			w.Name("makerOrderId").Uint(uint64(m.Maker))
			writePrevented(w.Writer, w.in, m)
			w.EndObject()
		}
	}
	w.EndList()
}

// writeCommission writes the fee of a fill and its currency with the given names of the members.
func writeCommission(w *json.Writer, in *engine.Instrument, fill *marketdata.Fill, amount, asset string) {
	currency, digits := objects.FeeAsset(in, fill.Side)
	w.Name(amount).Sum(fill.Fee, digits)
	w.Name(asset).Word(currency)
}

// canceled writes an order as the answer to its cancel shows it. client is the id of the cancel, "" for none.
func (w orderWriter) canceled(r *marketdata.OrderRecord, client string) {
	w.Object()
	w.Name("symbol").Word(w.symbol)
	w.Name("origClientOrderId").Text(w.f.orderID(r))
	w.Name("orderId").Uint(uint64(r.ID))
	w.Name("orderListId")
	w.listID(r.List)
	w.Name("clientOrderId").Text(w.f.cancelID(r, client))
	w.Name("transactTime").Time(changedNs(r))
	w.figures(r, true)
	w.stop(r)
	w.iceberg(r)
	w.labels(r)
	w.EndObject()
}

// amended writes an order as the answer to its amendment shows it. was is the client order id before.
func (w orderWriter) amended(r *marketdata.OrderRecord, was string) {
	w.Object()
	w.Name("symbol").Word(w.symbol)
	w.Name("orderId").Uint(uint64(r.ID))
	w.Name("orderListId")
	w.listID(r.List)
	w.Name("origClientOrderId").Text(was)
	w.Name("clientOrderId").Text(w.f.orderID(r))
	w.Name("price").Units(r.Price, w.in.DigitsPrice)
	w.Name("qty").Units(quantity(r), w.in.DigitsAmount)
	w.Name("executedQty").Units(r.Filled, w.in.DigitsAmount)
	w.Name("preventedQty").Units(prevented(r), w.in.DigitsAmount)
	w.Name("quoteOrderQty").Sum(asked(r), w.in.DigitsTotal())
	w.Name("cumulativeQuoteQty").Sum(r.FilledQuote, w.in.DigitsTotal())
	w.terms(r)
	w.stop(r)
	if r.Status != engine.Pending {
		w.workingTime(r)
	}
	w.iceberg(r)
	w.labels(r)
	w.EndObject()
}
