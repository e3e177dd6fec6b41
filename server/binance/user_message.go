package binance

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/json"
	"tickhive/server/private"
)

// appendUserMessage appends an event of a user data stream.
func (f *Facade) appendUserMessage(b []byte, m *private.Event) []byte {
	w := json.Quoted(b)
	nowNs := f.opt.Clock.NowNs()
	begin := func(name string) {
		w.Object()
		w.Name("e").Word(name)
		w.Name("E").Ms(nowNs)
	}
	switch {
	case m.Order != nil:
		begin("executionReport")
		f.writeReport(&w, reportOf(m.Order))
	case m.Transfer != nil:
		begin("balanceUpdate")
		w.Name("a").Word(m.Transfer.Currency)
		writeMoney(w.Name("d"), m.Transfer.Amount.Wide(), m.Transfer.Digits)
		w.Name("T").Ms(nowNs)
	default:
		begin("outboundAccountPosition")
		w.Name("u").Ms(nowNs)
		w.Name("B").List()
		for i := range m.Balances {
			w.Object()
			writeBalance(&w, "a", "f", "l", &m.Balances[i])
			w.EndObject()
		}
		w.EndList()
	}
	w.EndObject()
	return w.Bytes()
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

// writeReport writes the members of an executionReport behind its time.
func (f *Facade) writeReport(w *json.Writer, r *orderReport) {
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
	w.Name("s").Word(f.symbolsOf(root).of(in))
	w.Name("c").Text(client)
	w.Name("S").Word(sideName(o.Side))
	w.Name("o").Word(typeName(o.Type, o.PostOnly))
	w.Name("f").Word(tifName(o))
	w.Name("q").Units(quantity(o), in.DigitsAmount)
	w.Name("p").Units(o.Price, in.DigitsPrice)
	w.Name("P").Units(o.Stop, in.DigitsPrice)
	w.Name("F").Units(o.Display, in.DigitsAmount)
	w.Name("g").Int(-1)
	w.Name("C").Text(was)
	w.Name("x").Word(r.execution())
	w.Name("X").Word(orderStatus(o))
	w.Name("r").Word("NONE")
	w.Name("i").Uint(uint64(o.ID))
	r.writeTrade(w, in)
	w.Name("T").Ms(e.TimeNs)
	w.Name("I").Uint(uint64(e.Seq))
	w.Name("w").Bool(o.Status.Open() && works(o))
	w.Name("m").Bool(r.maker)
	w.Name("M").Bool(false)
	w.Name("O").Ms(o.CreatedNs)
	w.Name("Z").Sum(o.FilledQuote, in.DigitsTotal())
	w.Name("Q").Sum(asked(o), in.DigitsTotal())
	switch { // the time at which a stop entered the book is in the report of that event alone
	case e.Kind == engine.EventTriggered:
		w.Name("W").Ms(e.TimeNs)
	case o.Stop == 0:
		w.Name("W").Ms(o.CreatedNs)
	}
	w.Name("V").Word(selfTrades[o.STP])
	if r.execution() == "TRADE_PREVENTION" {
		w.Name("A").Units(r.prevented(), in.DigitsAmount)
		w.Name("B").Units(e.Amount, in.DigitsAmount)
	}
}

// prevented returns the lots that self-trade prevention has taken from the order.
func (r *orderReport) prevented() int64 { return r.order.Reduced + r.order.Canceled }

// writeTrade writes the figures of the last trade, zeros for an event that is none.
func (r *orderReport) writeTrade(w *json.Writer, in *engine.Instrument) {
	e := &r.event
	var price, amount int64
	trade := int64(-1)
	if e.Kind == engine.EventTrade {
		price, amount, trade = e.Price, e.Amount, int64(e.Trade)
	}
	w.Name("l").Units(amount, in.DigitsAmount)
	w.Name("z").Units(r.order.Filled, in.DigitsAmount)
	w.Name("L").Units(price, in.DigitsPrice)
	if trade < 0 {
		w.Name("n").Word("0")
		w.Name("N").Null()
	} else {
		fill := marketdata.FillOf(e, in, r.maker)
		writeCommission(w, in, &fill, "n", "N")
	}
	w.Name("t").Int(trade)
	w.Name("Y").Sum(fixed.Mul64(uint64(price), uint64(amount)), in.DigitsTotal())
}
