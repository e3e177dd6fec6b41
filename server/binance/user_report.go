package binance

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/server/encode"
)

// appendUserMessage appends an event of a user data stream.
func (f *Facade) appendUserMessage(b []byte, m *userMessage) []byte {
	eventMs := encode.FloorDiv(f.opt.Clock.NowNs(), msNs)
	switch {
	case m.order != nil:
		return f.appendReport(b, m.order, eventMs)
	case m.balances == nil:
		b = strconv.AppendInt(append(b, `{"e":"balanceUpdate","E":`...), eventMs, 10)
		b = append(append(append(b, `,"a":"`...), m.currency...), `","d":"`...)
		b = fixed.AppendShortest(b, m.amount, fixed.Scale)
		return append(strconv.AppendInt(append(b, `","T":`...), eventMs, 10), '}')
	}
	b = strconv.AppendInt(append(b, `{"e":"outboundAccountPosition","E":`...), eventMs, 10)
	b = strconv.AppendInt(append(b, `,"u":`...), eventMs, 10)
	b = append(b, `,"B":[`...)
	for i := range m.balances {
		b = append(AppendBalance(b, "a", "f", "l", &m.balances[i]), ',')
	}
	return append(trimComma(b), "]}"...)
}

// execution returns the execution type of an event.
func (r *orderReport) execution() string {
	switch r.event.Kind {
	case engine.EventTrade:
		return "TRADE"
	case engine.EventReplaced:
		return "REPLACED"
	case engine.EventReduced:
		return "TRADE_PREVENTION"
	case engine.EventCanceled:
		switch r.event.Cause {
		case engine.CauseRequest, engine.CauseReplace:
			return "CANCELED"
		case engine.CauseSelfTrade:
			return "TRADE_PREVENTION"
		case engine.CauseRemainder, engine.CauseUnfillable, engine.CauseLimit:
		}
		return "EXPIRED"
	default: // accepted, or a stop that enters the book
		return "NEW"
	}
}

// appendReport appends an executionReport.
func (f *Facade) appendReport(b []byte, r *orderReport, eventMs int64) []byte {
	e, o := &r.event, &r.order
	root := f.opt.Board.Load()
	in := root.View(e.Pair).Instrument
	client, was := f.orderID(o), ""
	if r.execution() == "CANCELED" {
		own := ""
		if e.Client != nil {
			own = e.Client.Text
		}
		client, was = f.cancelID(o, own), client
	}
	b = strconv.AppendInt(append(b, `{"e":"executionReport","E":`...), eventMs, 10)
	b = append(append(append(b, `,"s":"`...), f.symbolsOf(root).of(in)...), `","c":`...)
	b = encode.AppendString(b, client)
	b = append(append(append(b, `,"S":"`...), sideName(o.Side)...), `","o":"`...)
	b = append(append(append(b, typeName(o.Type, o.PostOnly)...), `","f":"`...), tifName(o)...)
	b = appendQuoted(append(b, `",`...), "q", quantity(o), in.DigitsAmount)
	b = appendQuoted(append(b, ','), "p", o.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "P", o.Stop, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "F", o.Display, in.DigitsAmount)
	b = encode.AppendString(append(b, `,"g":-1,"C":`...), was)
	b = append(append(append(b, `,"x":"`...), r.execution()...), `","X":"`...)
	b = append(append(b, orderStatus(o)...), `","r":"NONE","i":`...)
	b = append(strconv.AppendUint(b, uint64(o.ID), 10), ',')
	b = r.appendTrade(b, in)
	b = encode.AppendMs(append(b, `,"T":`...), e.TimeNs)
	b = strconv.AppendUint(append(b, `,"I":`...), uint64(e.Seq), 10)
	b = strconv.AppendBool(append(b, `,"w":`...), o.Status.Open() && works(o))
	b = strconv.AppendBool(append(b, `,"m":`...), r.maker)
	b = encode.AppendMs(append(b, `,"M":false,"O":`...), o.CreatedNs)
	b = appendQuoted128(append(b, ','), "Z", o.FilledQuote, in.DigitsTotal())
	b = appendQuoted128(append(b, ','), "Q", asked(o), in.DigitsTotal())
	switch { // the time at which a stop entered the book is in the report of that event alone
	case e.Kind == engine.EventTriggered:
		b = encode.AppendMs(append(b, `,"W":`...), e.TimeNs)
	case o.Stop == 0:
		b = encode.AppendMs(append(b, `,"W":`...), o.CreatedNs)
	}
	b = append(append(append(b, `,"V":"`...), selfTrades[o.STP]...), '"')
	if r.execution() == "TRADE_PREVENTION" {
		b = appendQuoted(append(b, ','), "A", r.prevented(), in.DigitsAmount)
		b = appendQuoted(append(b, ','), "B", e.Amount, in.DigitsAmount)
	}
	return append(b, '}')
}

// prevented returns the lots that self-trade prevention has taken from the order.
func (r *orderReport) prevented() int64 { return r.order.Reduced + r.order.Canceled }

// appendTrade appends the figures of the last trade, zeros for an event that is none.
func (r *orderReport) appendTrade(b []byte, in *engine.Instrument) []byte {
	e, o := &r.event, &r.order
	var price, amount int64
	trade := int64(-1)
	var fee fixed.I128
	asset := "null"
	if e.Kind == engine.EventTrade {
		price, amount, trade, asset = e.Price, e.Amount, int64(e.Trade), `"`+in.Quote+`"`
		rate, discount := e.TakerFee, e.TakerDiscount
		if r.maker {
			rate, discount = e.MakerFee, e.MakerDiscount
		}
		fee = fixed.Fee(price, amount, in.DigitsTotal(), rate, discount)
	}
	b = appendQuoted(b, "l", amount, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "z", o.Filled, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "L", price, in.DigitsPrice)
	b = fixed.AppendShortest(append(b, `,"n":"`...), fee, fixed.Scale)
	b = append(append(b, `","N":`...), asset...)
	b = strconv.AppendInt(append(b, `,"t":`...), trade, 10)
	return appendQuoted128(append(b, ','), "Y", fixed.Mul64(uint64(price), uint64(amount)), in.DigitsTotal())
}
