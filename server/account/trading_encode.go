package account

import (
	"strconv"

	"tickhive/engine"
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
	return append(b, '"')
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

// appendFillFee appends the members that a fill adds to the public deal.
func appendFillFee(b []byte, f *marketdata.Fill, ins *engine.Instrument) []byte {
	b = appendMoney(append(b, `,"fee":`...), f.Fee)
	b = append(append(append(b, `,"feeCurrencyCode":"`...), ins.Quote...), '"')
	return appendBool(b, `,"isMaker":`, f.IsMaker)
}

func appendID(b []byte, id uint64) []byte { return strconv.AppendUint(b, id, 10) }
