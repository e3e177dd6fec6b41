package binance

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
	"tickhive/server/private"
)

// appendUserMessage appends an event of a user data stream.
func (f *Facade) appendUserMessage(b []byte, m *private.Event) []byte {
	eventMs := encode.FloorDiv(f.opt.Clock.NowNs(), msNs)
	switch {
	case m.Order != nil:
		return f.appendReport(b, reportOf(m.Order), eventMs)
	case m.Transfer != nil:
		b = strconv.AppendInt(append(b, `{"e":"balanceUpdate","E":`...), eventMs, 10)
		b = append(append(append(b, `,"a":"`...), m.Transfer.Currency...), `","d":"`...)
		b = appendMoney(b, m.Transfer.Amount.Wide(), m.Transfer.Digits)
		return append(strconv.AppendInt(append(b, `","T":`...), eventMs, 10), '}')
	}
	b = strconv.AppendInt(append(b, `{"e":"outboundAccountPosition","E":`...), eventMs, 10)
	b = strconv.AppendInt(append(b, `,"u":`...), eventMs, 10)
	b = append(b, `,"B":[`...)
	for i := range m.Balances {
		b = append(AppendBalance(b, "a", "f", "l", &m.Balances[i]), ',')
	}
	return append(trimComma(b), "]}"...)
}

// orderReport is an event of an order, and the order as the event left it.
type orderReport struct {
	event engine.Event
	order marketdata.OrderRecord
	maker bool // the order is the maker of the trade
}

// reportOf returns the report of an event. A purchase by quote amount that has spent it is filled by its last trade:
// the other exchange has no further event, so deliver leaves out the event that ends the purchase.
func reportOf(o *private.Order) *orderReport {
	r := &orderReport{event: o.Event, order: o.Order, maker: o.Maker}
	if o.Final != nil {
		r.order = *o.Final
	}
	return r
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
		case engine.CauseRemainder, engine.CauseUnfillable, engine.CauseFunds:
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
	if e.Kind == engine.EventTrade {
		price, amount, trade = e.Price, e.Amount, int64(e.Trade)
	}
	b = appendQuoted(b, "l", amount, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "z", o.Filled, in.DigitsAmount)
	b = appendQuoted(append(b, ','), "L", price, in.DigitsPrice)
	if trade < 0 {
		b = append(b, `,"n":"0","N":null`...)
	} else {
		fill := marketdata.FillOf(e, in, r.maker)
		b = appendCommission(append(b, ','), in, &fill, "n", "N")
	}
	b = strconv.AppendInt(append(b, `,"t":`...), trade, 10)
	return appendQuoted128(append(b, ','), "Y", fixed.Mul64(uint64(price), uint64(amount)), in.DigitsTotal())
}
