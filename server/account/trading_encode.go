package account

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// appendUserOrder appends the members of the order view of docs/contract/trading.md#order-view.
func appendUserOrder(b []byte, r *marketdata.OrderRecord, ins *engine.Instrument, userID string) []byte {
	market := r.Type == engine.Market || r.Type == engine.StopMarket
	b = strconv.AppendUint(append(b, `"id":"`...), uint64(r.ID), 10)
	b = encode.AppendNullable(append(b, `","clientOrderId":`...), r.Client)
	b = appendBool(b, `,"isMarket":`, market)
	b = append(append(append(b, `,"currencyPairCode":"`...), ins.Code...), '"')
	b = appendBool(b, `,"isBid":`, r.Side == engine.Buy)
	b = encode.AppendUnits(append(b, `,"price":`...), r.Price, ins.DigitsPrice, !market)
	b = encode.AppendUnits(append(b, `,"initialAmount":`...), r.Amount, ins.DigitsAmount, !r.ByQuote)
	b = encode.AppendUnits(append(b, `,"amount":`...), r.Open, ins.DigitsAmount, !r.ByQuote)
	b = encode.AppendUnits(append(b, `,"decrementedAmount":`...), r.Reduced, ins.DigitsAmount, !r.ByQuote)
	b = append(b, `,"quoteAmount":`...)
	if market {
		b = append(b, "null"...)
	} else {
		b = fixed.AppendU128(b, fixed.Mul64(uint64(r.Price), uint64(r.Open)), ins.DigitsTotal())
	}
	b = encode.AppendISO(append(b, `,"date":"`...), r.CreatedNs, 7)
	b = append(append(b, `","userId":"`...), userID...)
	canceled := r.Status == engine.Canceled || r.Status == engine.PartiallyExecutedAndCanceled
	b = strconv.AppendBool(append(b, `","isCanceled":`...), canceled)
	b = append(append(b, `,"status":"`...), r.Status.String()...)
	return appendOrderTerms(append(b, '"'), r, ins)
}

// appendOrderTerms appends the members of the order view that say what the order asked for and what became of it.
func appendOrderTerms(b []byte, r *marketdata.OrderRecord, ins *engine.Instrument) []byte {
	b = append(append(b, `,"type":"`...), r.Type.String()...)
	b = append(append(b, `","timeInForce":"`...), r.TIF.String()...)
	b = appendBool(b, `","postOnly":`, r.PostOnly)
	b = append(append(b, `,"selfTradePrevention":"`...), r.STP.String()...)
	b = encode.AppendUnits(append(b, `","stopPrice":`...), r.Stop, ins.DigitsPrice, r.Stop != 0)
	b = append(b, `,"isTriggered":`...)
	switch r.Trigger {
	case marketdata.Waiting, marketdata.Triggered:
		b = strconv.AppendBool(b, r.Trigger == marketdata.Triggered)
	case marketdata.NoStop, marketdata.TriggerUnknown:
		b = append(b, "null"...)
	}
	b = encode.AppendUnits(append(b, `,"displayAmount":`...), r.Display, ins.DigitsAmount, r.Display != 0)
	b = append(b, `,"initialQuoteAmount":`...)
	if r.ByQuote {
		b = fixed.AppendU128(b, r.Quote, ins.DigitsTotal())
	} else {
		b = append(b, "null"...)
	}
	b = fixed.AppendI64(append(b, `,"filledAmount":`...), r.Filled, ins.DigitsAmount)
	b = fixed.AppendU128(append(b, `,"filledQuoteAmount":`...), r.FilledQuote, ins.DigitsTotal())
	b = encode.AppendAveragePrice(append(b, `,"averagePrice":`...), r.FilledQuote, r.Filled, ins.DigitsPrice)
	b = append(b, `,"fee":`...)
	if r.FeeKnown {
		b = appendMoney(b, r.Fee)
	} else {
		b = append(b, "null"...)
	}
	b = append(append(append(b, `,"feeCurrencyCode":"`...), ins.Quote...), `","dateChanged":`...)
	if r.ChangedNs == 0 {
		return append(b, "null"...)
	}
	return append(encode.AppendISO(append(b, '"'), r.ChangedNs, 7), '"')
}

// appendResult appends the result of one command of a batch: the view of its order, or why it was refused.
func appendResult(b []byte, a *entry.Answer, userID string) []byte {
	if a.Reason == engine.NotRejected && a.Found {
		return append(appendUserOrder(append(b, '{'), &a.Record, a.Instrument, userID), `,"rejectReason":null}`...)
	}
	var client string
	b = append(b, `{"id":`...)
	if a.Place != nil {
		client = string(a.Place.Client)
		b = append(b, "null"...)
	} else {
		b = append(appendID(append(b, '"'), uint64(a.Order)), '"')
	}
	b = encode.AppendNullable(append(b, `,"clientOrderId":`...), client)
	b = append(append(b, `,"status":"Rejected","rejectReason":"`...), a.Reason.String()...)
	return append(b, `"}`...)
}

// appendFillDeal appends the members of a fill's public deal, as the fill's owner sees it.
func appendFillDeal(b []byte, f *marketdata.Fill, ins *engine.Instrument) []byte {
	t := marketdata.Trade{TimeNs: f.TimeNs, Price: f.Price, Amount: f.Amount, TakerSide: f.TakerSide}
	const other = ^engine.AccountID(0)
	if t.Buyer, t.Seller = f.Account, other; f.Side == engine.Sell {
		t.Buyer, t.Seller = other, f.Account
	}
	return encode.AppendDeal(b, ins, f.Trade, &t, &f.Account)
}

// appendFill appends the members of a fill: the public deal and the members for its owner.
func appendFill(b []byte, f *marketdata.Fill, ins *engine.Instrument) []byte {
	b = appendFillDeal(b, f, ins)
	b = appendID(append(b, `,"orderId":"`...), uint64(f.Order))
	b = appendID(append(b, `","tradeId":`...), uint64(f.Trade))
	b = appendMoney(append(b, `,"fee":`...), f.Fee)
	b = append(append(append(b, `,"feeCurrencyCode":"`...), ins.Quote...), '"')
	return appendBool(b, `,"isMaker":`, f.IsMaker)
}

func appendID(b []byte, id uint64) []byte { return strconv.AppendUint(b, id, 10) }
