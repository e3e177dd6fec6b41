package objects

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// WriteOrderMore writes the members of an order that both listeners have in the same form: what it waits for, why it
// ended, its prevented match and its labels (docs/contract/trading.md#order-view).
func WriteOrderMore(w *json.Writer, r *marketdata.OrderRecord) {
	w.Name("trailingDelta").IntOrNull(int64(r.Trail), r.Trail != 0)
	w.Name("strictTrigger").Bool(r.Strict)
	w.Name("expireUnfilled").Bool(r.Expire)
	w.Name("endReason").TextOrNull(endReason(r))
	w.Name("preventedMatchId").IntOrNull(int64(r.Prevented), r.Prevented != 0)
	w.Name("strategyId").IntAt(r.Strategy)
	w.Name("strategyType").IntAt(r.StrategyType)
}

// endReason returns why an order ended without being filled; "": it is open, or filled.
func endReason(r *marketdata.OrderRecord) string {
	if r.Status == engine.Canceled || r.Status == engine.PartiallyExecutedAndCanceled {
		return r.Cause.String()
	}
	return ""
}

// ListStatus returns the state of an order list.
func ListStatus(l *marketdata.ListRecord) string {
	if l.Done {
		return "done"
	}
	return "executing"
}

// WriteAmendments writes the amendments of an order of the pair.
func WriteAmendments(w *json.Writer, in *engine.Instrument, rows []marketdata.Amendment) {
	w.List()
	for i := range rows {
		a := &rows[i]
		w.Object()
		w.Name("seq").Uint(a.Number)
		w.Name("date").ISO(a.TimeNs, 7)
		w.Name("oldAmount").Units(a.Old, in.DigitsAmount)
		w.Name("newAmount").Units(a.New, in.DigitsAmount)
		w.Name("oldClientOrderId").TextOrNull(a.OldClient)
		w.Name("newClientOrderId").TextOrNull(a.NewClient)
		w.Name("filledAmount").Units(a.Filled, in.DigitsAmount)
		w.EndObject()
	}
	w.EndList()
}

// WritePrevented writes prevented matches of the pair.
func WritePrevented(w *json.Writer, in *engine.Instrument, rows []marketdata.PreventedMatch) {
	w.List()
	for i := range rows {
		m := &rows[i]
		w.Object()
		w.Name("id").Uint(m.Number)
		w.Name("currencyPairCode").Word(in.Code)
		w.Name("date").ISO(m.TimeNs, 7)
		w.Name("takerOrderId").ID(uint64(m.Taker))
		w.Name("makerOrderId").ID(uint64(m.Maker))
		w.Name("takerSide").Word(m.Side.String())
		w.Name("price").Units(m.Price, in.DigitsPrice)
		w.Name("takerAmount").Units(m.TakerAmount, in.DigitsAmount)
		w.Name("makerAmount").Units(m.MakerAmount, in.DigitsAmount)
		w.Name("selfTradePrevention").Word(m.STP.String())
		w.EndObject()
	}
	w.EndList()
}

// MaxAmendments is more than the amendments that an order can have.
const MaxAmendments = 100
