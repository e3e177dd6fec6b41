package admin

import (
	"strconv"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// appendOrder appends the Order object of an answer. A member that does not apply is null
// (docs/contract/internal.md#orders).
func appendOrder(b []byte, a *entry.Answer) []byte {
	if !a.Found {
		return appendRefused(b, a)
	}
	r, ins := &a.Record, a.Instrument
	b = strconv.AppendUint(append(b, `{"orderId":`...), uint64(r.ID), 10)
	b = encode.AppendNullable(append(b, `,"clientOrderId":`...), r.Client)
	b = encode.AppendUUID(append(b, `,"accountId":"`...), accounts.UserID(uint32(r.Account)))
	b = append(append(append(b, `","currencyPairCode":"`...), ins.Code...), '"')
	b = appendWords(b, r.Side, r.Type, r.TIF)
	market := r.Type == engine.Market || r.Type == engine.StopMarket
	b = encode.AppendUnits(append(b, `,"price":`...), r.Price, ins.DigitsPrice, !market)
	b = encode.AppendUnits(append(b, `,"amount":`...), r.Amount, ins.DigitsAmount, !r.ByQuote)
	b = append(b, `,"quoteAmount":`...)
	if r.ByQuote {
		b = fixed.AppendU128(b, r.Quote, ins.DigitsTotal())
	} else {
		b = append(b, "null"...)
	}
	b = encode.AppendUnits(append(b, `,"stopPrice":`...), r.Stop, ins.DigitsPrice, r.Stop != 0)
	b = encode.AppendUnits(append(b, `,"displayAmount":`...), r.Display, ins.DigitsAmount, r.Display != 0)
	b = appendFlags(b, r.PostOnly, r.STP, r.Status)
	b = encode.AppendUnits(append(b, `,"filledAmount":`...), r.Filled, ins.DigitsAmount, true)
	b = encode.AppendUnits(append(b, `,"remainingAmount":`...), r.Open+r.Canceled, ins.DigitsAmount, !r.ByQuote)
	b = encode.AppendUnits(append(b, `,"decrementedAmount":`...), r.Reduced, ins.DigitsAmount, !r.ByQuote)
	b = fixed.AppendU128(append(b, `,"filledQuoteAmount":`...), r.FilledQuote, ins.DigitsTotal())
	b = append(b, `,"averagePrice":`...)
	b = encode.AppendAveragePrice(b, r.FilledQuote, r.Filled, ins.DigitsPrice)
	b = strconv.AppendInt(append(b, `,"createdAtNs":`...), r.CreatedNs, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), uint64(r.Seq), 10)
	b = appendFills(append(b, `,"fills":`...), r.Fills, ins)
	return append(b, `,"rejectReason":null}`...)
}

// appendRefused appends the Order object of a refused order from the members of the request that could be read.
// A number that is no multiple of the pair's units is written as its shortest text.
func appendRefused(b []byte, a *entry.Answer) []byte {
	o := a.Place
	priceDigits, amountDigits, totalDigits := -1, -1, -1
	if a.Instrument != nil {
		ins := a.Instrument
		priceDigits, amountDigits, totalDigits = ins.DigitsPrice, ins.DigitsAmount, ins.DigitsTotal()
	}
	b = encode.AppendNullable(append(b, `{"orderId":null,"clientOrderId":`...), string(o.Client))
	b = encode.AppendUUID(append(b, `,"accountId":"`...), o.Account)
	b = append(append(append(b, `","currencyPairCode":"`...), o.Pair...), '"')
	b = appendWords(b, o.Side, o.Type, o.TIF)
	b = appendEcho(append(b, `,"price":`...), o.Price, priceDigits)
	b = appendEcho(append(b, `,"amount":`...), o.Amount, amountDigits)
	b = appendEcho(append(b, `,"quoteAmount":`...), o.Quote, totalDigits)
	b = appendEcho(append(b, `,"stopPrice":`...), o.Stop, priceDigits)
	b = appendEcho(append(b, `,"displayAmount":`...), o.Display, amountDigits)
	b = appendFlags(b, o.PostOnly, o.SelfTrade(o.Account != [16]byte{}), engine.Rejected)
	b = encode.AppendUnits(append(b, `,"filledAmount":`...), 0, max(amountDigits, 0), true)
	b = appendEcho(append(b, `,"remainingAmount":`...), o.Amount, amountDigits)
	b = encode.AppendUnits(append(b, `,"decrementedAmount":`...), 0, max(amountDigits, 0), o.Quote == nil)
	b = encode.AppendUnits(append(b, `,"filledQuoteAmount":`...), 0, max(totalDigits, 0), true)
	b = strconv.AppendInt(append(b, `,"averagePrice":null,"createdAtNs":`...), a.TimeNs, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), uint64(a.Seq), 10)
	b = append(append(b, `,"fills":[],"rejectReason":"`...), a.Reason.String()...)
	return append(b, `"}`...)
}

// appendResult appends the result of one command of a batch.
func appendResult(b []byte, a *entry.Answer) []byte {
	if a.Found || a.Place != nil {
		return appendOrder(b, a)
	}
	b = strconv.AppendUint(append(b, `{"orderId":`...), uint64(a.Order), 10)
	b = append(append(b, `,"status":"Rejected","rejectReason":"`...), a.Reason.String()...)
	return append(b, `"}`...)
}

func appendWords(b []byte, side engine.Side, typ engine.OrderType, tif engine.TimeInForce) []byte {
	b = append(append(b, `,"side":"`...), side.String()...)
	b = append(append(b, `","type":"`...), typ.String()...)
	b = append(append(b, `","timeInForce":"`...), tif.String()...)
	return append(b, '"')
}

func appendFlags(b []byte, postOnly bool, stp engine.SelfTrade, status engine.Status) []byte {
	b = strconv.AppendBool(append(b, `,"postOnly":`...), postOnly)
	b = append(append(b, `,"selfTradePrevention":"`...), stp.String()...)
	b = append(append(b, `","status":"`...), status.String()...)
	return append(b, '"')
}

// appendEcho appends a decimal of a request with digits decimals. It appends the shortest text when the decimal
// has more, or when digits is negative because the pair is unknown.
func appendEcho(b, text []byte, digits int) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	d := fixed.MustText(text)
	if digits >= 0 {
		q, rest := d.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
		if rest == 0 {
			if d.Sign() < 0 {
				b = append(b, '-')
			}
			return fixed.AppendU128(b, q, digits)
		}
	}
	return fixed.AppendShortest(b, d, fixed.Scale)
}

func appendFills(b []byte, fills []marketdata.Fill, ins *engine.Instrument) []byte {
	b = append(b, '[')
	for i := range fills {
		f := &fills[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, `{"tradeId":`...), uint64(f.Trade), 10)
		b = fixed.AppendI64(append(b, `,"price":`...), f.Price, ins.DigitsPrice)
		b = fixed.AppendI64(append(b, `,"amount":`...), f.Amount, ins.DigitsAmount)
		b = fixed.AppendShortest(append(b, `,"fee":`...), f.Fee, fixed.Scale)
		b = append(append(b, `,"feeCurrencyCode":"`...), ins.Quote...)
		b = append(strconv.AppendBool(append(b, `","isMaker":`...), f.IsMaker), '}')
	}
	return append(b, ']')
}
