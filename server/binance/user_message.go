package binance

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
)

// appendUserMessage appends an event of a user data stream, with times in a unit.
func (f *Facade) appendUserMessage(b []byte, u unit, m *private.Event) []byte {
	w := u.writer(b)
	nowNs := f.opt.Clock.NowNs()
	begin := func(name string) {
		w.Object()
		w.Name("e").Word(name)
		w.Name("E").Time(nowNs)
	}
	switch {
	case m.Order != nil:
		begin("executionReport")
		f.writeReport(&w, reportOf(m.Order))
	case m.List != nil:
		begin("listStatus")
		f.writeListEvent(&w, m.List)
	case m.Transfer != nil:
		begin("balanceUpdate")
		w.Name("a").Word(m.Transfer.Currency)
		writeMoney(w.Name("d"), m.Transfer.Amount.Wide(), m.Transfer.Digits)
		w.Name("T").Time(nowNs)
	default:
		begin("outboundAccountPosition")
		w.Name("u").Time(nowNs)
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

// writeListEvent writes the members of a listStatus behind its time.
func (f *Facade) writeListEvent(w *json.Writer, l *private.List) {
	of := entry.OrderList{ListRecord: l.List, Instrument: f.opt.Board.Load().View(l.List.ID.Pair()).Instrument}
	for i, id := range l.List.Orders {
		of.Orders = append(of.Orders, marketdata.OrderRecord{ID: id, Client: l.Clients[i]})
	}
	kind, status := "EXEC_STARTED", "EXECUTING"
	switch l.Event.Kind {
	case engine.EventListEnded:
		kind, status = "ALL_DONE", "ALL_DONE"
	case engine.EventReplaced: // an order of it has another client order id
		kind = "UPDATED"
	default:
	}
	lw := f.lists(w, &of)
	w.Name("s").Word(lw.symbol)
	w.Name("g").Uint(uint64(l.List.ID))
	w.Name("c").Word(contingency(l.List.Kind))
	w.Name("l").Word(kind)
	w.Name("L").Word(status)
	w.Name("r").Word("NONE")
	w.Name("C").Text(f.listID(&l.List))
	w.Name("T").Time(l.Event.TimeNs)
	lw.members("O", "s", "i", "c")
}

// orderReport is an event of an order, and the order as the event left it.
type orderReport struct {
	event     engine.Event
	order     marketdata.OrderRecord
	maker     bool // the order is the maker of the trade
	prevented *private.Prevented
	was       string // the client id before an EventReplaced, "" for none
}

// reportOf returns the report of an event. A purchase by quote amount that has spent it is filled by its last trade:
// the other exchange has no further event, so deliver leaves out the event that ends the purchase.
func reportOf(o *private.Order) *orderReport {
	r := &orderReport{event: o.Event, order: o.Order, maker: o.Maker, prevented: o.Prevented, was: o.Was}
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
		switch orderStatus(&r.order) {
		case "CANCELED":
			return "CANCELED"
		case "EXPIRED_IN_MATCH":
			return "TRADE_PREVENTION"
		}
		return "EXPIRED"
	default: // accepted, released, or a stop that enters the book
		return "NEW"
	}
}

// writeReport writes the members of an executionReport behind its time.
func (f *Facade) writeReport(w *json.Writer, r *orderReport) {
	e, o := &r.event, &r.order
	root := f.opt.Board.Load()
	in := root.View(e.Pair).Instrument
	client, was := f.orderID(o), ""
	switch r.execution() {
	case "REPLACED":
		if was = r.was; was == "" {
			was = f.ids.generate(o.ID, ofOrder)
		}
	case "CANCELED":
		own := ""
		if e.Client != nil {
			own = e.Client.Text
		}
		client, was = f.cancelID(o, own), client
	}
	symbol := f.symbolsOf(root).of(in)
	w.Name("s").Word(symbol)
	w.Name("c").Text(client)
	w.Name("S").Word(sideName(o.Side))
	w.Name("o").Word(typeName(o.Type, o.PostOnly))
	w.Name("f").Word(tifName(o))
	w.Name("q").Units(quantity(o), in.DigitsAmount)
	w.Name("p").Units(o.Price, in.DigitsPrice)
	w.Name("P").Units(o.Stop, in.DigitsPrice)
	w.Name("F").Units(o.Display, in.DigitsAmount)
	w.Name("g")
	orderWriter{Writer: w}.listID(o.List)
	w.Name("C").Text(was)
	w.Name("x").Word(r.execution())
	w.Name("X").Word(orderStatus(o))
	w.Name("r").Word("NONE")
	w.Name("i").Uint(uint64(o.ID))
	price, amount, trade := r.trade()
	w.Name("l").Units(amount, in.DigitsAmount)
	w.Name("z").Units(o.Filled, in.DigitsAmount)
	w.Name("L").Units(price, in.DigitsPrice)
	if trade < 0 {
		w.Name("n").Word("0")
		w.Name("N").Null()
	} else {
		fill := marketdata.FillOf(e, in, r.maker)
		writeCommission(w, in, &fill, "n", "N")
	}
	w.Name("T").Time(e.TimeNs)
	w.Name("t").Int(trade)
	if r.execution() == "TRADE_PREVENTION" {
		w.Name("v").Uint(o.Prevented)
	}
	w.Name("I").Uint(uint64(e.Seq))
	w.Name("w").Bool(o.Status.Open() && works(o))
	w.Name("m").Bool(r.maker)
	w.Name("M").Bool(false)
	w.Name("O").Time(o.CreatedNs)
	w.Name("Z").Sum(o.FilledQuote, in.DigitsTotal())
	w.Name("Y").Sum(fixed.Mul64(uint64(price), uint64(amount)), in.DigitsTotal())
	w.Name("Q").Sum(asked(o), in.DigitsTotal())
	switch { // the time at which a stop or a pending order entered the book is in the report of that event alone
	case e.Kind == engine.EventTriggered || e.Kind == engine.EventReleased && works(o):
		w.Name("W").Time(e.TimeNs)
	case o.Stop == 0 && o.Trail == 0 && works(o):
		w.Name("W").Time(o.CreatedNs)
	}
	w.Name("V").Word(selfTrades[o.STP])
	r.writeConditional(w, in, symbol)
}

// writeConditional writes the members that only some reports have.
func (r *orderReport) writeConditional(w *json.Writer, in *engine.Instrument, symbol string) {
	o := &r.order
	if o.Trail != 0 {
		w.Name("d").Int(int64(o.Trail))
		w.Name("D")
		orderWriter{Writer: w}.timeOrNone(o.TrackNs, o.TrackNs != 0)
	}
	if o.Strategy != nil {
		w.Name("j").Int(*o.Strategy)
	}
	if o.StrategyType != nil {
		w.Name("J").Int(*o.StrategyType)
	}
	if r.execution() == "TRADE_PREVENTION" {
		w.Name("A").Units(prevented(o), in.DigitsAmount)
		w.Name("B").Units(r.event.Amount, in.DigitsAmount)
		if p := r.prevented; p != nil {
			w.Name("u").Int(noGroup)
			w.Name("U").Uint(uint64(p.Counter))
			w.Name("Cs").Word(symbol)
			w.Name("pl").Units(p.Lots, in.DigitsAmount)
			w.Name("pL").Units(p.Price, in.DigitsPrice)
			w.Name("pY").Sum(fixed.Mul64(uint64(p.Price), uint64(p.Lots)), in.DigitsTotal())
		}
	}
	if why := expiryReason(o); why != "" {
		w.Name("eR").Word(why)
	}
}

// trade returns the price, the amount and the id of the event's trade; zeros and -1 for another event.
func (r *orderReport) trade() (price, amount, id int64) {
	if e := &r.event; e.Kind == engine.EventTrade {
		return e.Price, e.Amount, int64(e.Trade)
	}
	return 0, 0, -1
}
