package events

import (
	"fmt"

	"github.com/goccy/go-json"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// head has the members that every message begins with.
type head struct {
	Type   string     `json:"type"`
	Epoch  string     `json:"epoch"`
	Pair   string     `json:"currencyPairCode"`
	Seq    engine.Seq `json:"seq"`
	TimeNs int64      `json:"timeNs"`
}

// tradeBody is the message of a trade.
type tradeBody struct {
	head
	TradeID        engine.TradeID  `json:"tradeId"`
	Price          json.RawMessage `json:"price"`
	Amount         json.RawMessage `json:"amount"`
	TakerSide      string          `json:"takerSide"`
	TakerOrder     engine.OrderID  `json:"takerOrderId"`
	TakerAccount   string          `json:"takerAccountId"`
	TakerRemaining json.RawMessage `json:"takerRemainingAmount"` // null for a market buy by quote amount
	TakerStatus    string          `json:"takerStatus"`
	MakerOrder     engine.OrderID  `json:"makerOrderId"`
	MakerAccount   string          `json:"makerAccountId"`
	MakerRemaining json.RawMessage `json:"makerRemainingAmount"`
}

// orderBody is the message of any other event of an order. Members that the event does not have are null.
type orderBody struct {
	head
	Event     string          `json:"event"`
	Order     *engine.OrderID `json:"orderId"`
	Account   string          `json:"accountId"`
	Client    *string         `json:"clientOrderId"`
	Side      string          `json:"side"`
	OrderType *string         `json:"orderType"`
	Force     *string         `json:"timeInForce"`
	Price     json.RawMessage `json:"price"`
	StopPrice json.RawMessage `json:"stopPrice"`
	Amount    json.RawMessage `json:"amount"`
	Remaining json.RawMessage `json:"remainingAmount"`
	Quote     json.RawMessage `json:"quoteAmount"` // of an order that has no amount
	Status    *string         `json:"status"`
	Reason    *string         `json:"reason"`
	Trail     *uint16         `json:"trailingDelta"`
	List      *engine.OrderID `json:"listId"`
}

// bookBody is the message of the levels that changed. Seq belongs to the last change.
type bookBody struct {
	head
	FirstSeq engine.Seq           `json:"firstSeq"`
	Bids     [][2]json.RawMessage `json:"bids"`
	Asks     [][2]json.RawMessage `json:"asks"`
}

var null = json.RawMessage("null")

func (w *Writer) head(kind string, p engine.PairID, seq engine.Seq, timeNs int64) head {
	return head{Type: kind, Epoch: w.epoch, Pair: w.pairs[p].Code, Seq: seq, TimeNs: timeNs}
}

func (w *Writer) tradeBody(e *engine.Event) *tradeBody {
	in := w.pairs[e.Pair]
	b := &tradeBody{
		head:    w.head("trade", e.Pair, e.Seq, e.TimeNs),
		TradeID: e.Trade, Price: decimal(e.Price, in.DigitsPrice), Amount: decimal(e.Amount, in.DigitsAmount),
		TakerSide: e.Side.String(), TakerOrder: e.Order, TakerAccount: w.account(e.Account),
		TakerRemaining: decimal(e.OpenAmount, in.DigitsAmount), TakerStatus: e.Status.String(),
		MakerOrder: e.Maker, MakerAccount: w.account(e.MakerAccount),
		MakerRemaining: decimal(e.MakerOpen, in.DigitsAmount),
	}
	if e.Flags&engine.FlagQuote != 0 {
		b.TakerRemaining = null
	}
	return b
}

// orderEvents names the events of an order.
var orderEvents = map[engine.EventKind]string{
	engine.EventAccepted: "accepted", engine.EventRejected: "rejected", engine.EventCanceled: "canceled",
	engine.EventReplaced: "replaced", engine.EventTriggered: "triggered", engine.EventRefilled: "refilled",
	engine.EventReduced: "reduced", engine.EventReleased: "released", engine.EventActivated: "activated",
}

// listBody is the message of an order list that begins or ends.
type listBody struct {
	head
	Event   string           `json:"event"`
	List    engine.OrderID   `json:"listId"`
	Account string           `json:"accountId"`
	Kind    *string          `json:"kind"`
	Client  *string          `json:"clientOrderId"`
	Orders  []engine.OrderID `json:"orderIds"`
}

// preventedBody is the message of a prevented match.
type preventedBody struct {
	head
	Number      engine.TradeID  `json:"preventedMatchId"`
	Account     string          `json:"accountId"`
	TakerOrder  engine.OrderID  `json:"takerOrderId"`
	MakerOrder  engine.OrderID  `json:"makerOrderId"`
	TakerSide   string          `json:"takerSide"`
	Price       json.RawMessage `json:"price"`
	TakerAmount json.RawMessage `json:"takerAmount"`
	MakerAmount json.RawMessage `json:"makerAmount"`
	STP         string          `json:"selfTradePrevention"`
}

func (w *Writer) listBody(e *engine.Event) *listBody {
	b := &listBody{
		head: w.head("list", e.Pair, e.Seq, e.TimeNs), Event: "ended", List: e.Order, Account: w.account(e.Account),
	}
	if e.Kind == engine.EventListEnded {
		return b
	}
	b.Event, b.Kind = "began", text(e.List)
	if e.Client.Named() {
		b.Client = &e.Client.Text
	}
	for i := range e.Amount {
		b.Orders = append(b.Orders, e.Order+engine.OrderID(i))
	}
	return b
}

func (w *Writer) preventedBody(e *engine.Event) *preventedBody {
	in := w.pairs[e.Pair]
	return &preventedBody{
		head:   w.head("prevented", e.Pair, e.Seq, e.TimeNs),
		Number: e.Trade, Account: w.account(e.Account), TakerOrder: e.Order, MakerOrder: e.Maker,
		TakerSide: e.Side.String(), Price: decimal(e.Price, in.DigitsPrice),
		TakerAmount: decimal(e.Amount, in.DigitsAmount), MakerAmount: decimal(e.OpenAmount, in.DigitsAmount),
		STP: e.STP.String(),
	}
}

func (w *Writer) orderBody(e *engine.Event) *orderBody {
	in := w.pairs[e.Pair]
	b := &orderBody{
		head: w.head("order", e.Pair, e.Seq, e.TimeNs), Event: orderEvents[e.Kind], Account: w.account(e.Account),
		Side: e.Side.String(), Price: null, StopPrice: null, Amount: null, Remaining: null,
		Quote: null,
	}
	if e.Order != 0 {
		b.Order = &e.Order
	}
	if e.Client.Named() && e.Kind != engine.EventCanceled { // there it is the cancel's own, not the order's
		b.Client = &e.Client.Text
	}
	replaced := e.Kind == engine.EventReplaced
	if e.Price != 0 && !(replaced && e.Type.AtMarket()) { // there it is the price at which it holds money
		b.Price = decimal(e.Price, in.DigitsPrice)
	}
	if e.Trail != 0 {
		b.Trail = &e.Trail
	}
	if e.Maker != 0 && (e.Kind == engine.EventAccepted || e.Kind == engine.EventReleased) {
		b.List = &e.Maker
	}
	if replaced && e.Type.Waits() || e.Kind == engine.EventAccepted || e.Kind == engine.EventTriggered ||
		e.Kind == engine.EventReleased {
		stop := e.MakerOpen
		if replaced {
			stop = e.StopPrice()
		}
		if b.OrderType = text(e.Type); stop != 0 {
			b.StopPrice = decimal(stop, in.DigitsPrice)
		}
	}
	if e.Kind == engine.EventAccepted {
		b.Force = text(e.TIF)
	}
	if e.Amount != 0 && e.Kind != engine.EventRejected {
		b.Amount = decimal(e.Amount, in.DigitsAmount)
	}
	switch e.Kind {
	case engine.EventAccepted:
		b.Status = text(e.Status)
		if e.Flags&engine.FlagQuote != 0 {
			b.Quote = fixed.AppendU128(nil, e.Quote, in.DigitsTotal())
		} else {
			b.Remaining = decimal(e.OpenAmount, in.DigitsAmount)
		}
	case engine.EventReleased:
		b.Status = text(e.Status)
	case engine.EventActivated:
	case engine.EventCanceled:
		b.Status, b.Reason = text(e.Status), text(e.Cause)
	case engine.EventRejected:
		if e.Reason != engine.NotRejected {
			b.Status, b.Reason = text(e.Status), text(e.Reason)
		}
	default:
		b.Remaining = decimal(e.OpenAmount, in.DigitsAmount)
	}
	return b
}

func (w *Writer) bookBody(p engine.PairID, b *book) []byte {
	in := w.pairs[p]
	return encode(&bookBody{
		head: w.head("book", p, b.last, b.timeNs), FirstSeq: b.first,
		Bids: levels(b.bids, in), Asks: levels(b.asks, in),
	})
}

// levels returns the last state of each changed level, in the order of the last changes.
func levels(changes []level, in *engine.Instrument) [][2]json.RawMessage {
	last := make(map[int64]int, len(changes))
	for i, l := range changes {
		last[l.price] = i
	}
	out := make([][2]json.RawMessage, 0, len(last))
	for i, l := range changes {
		if last[l.price] == i {
			out = append(out, [2]json.RawMessage{decimal(l.price, in.DigitsPrice), decimal(l.amount, in.DigitsAmount)})
		}
	}
	return out
}

func decimal(v int64, digits int) json.RawMessage { return fixed.AppendI64(nil, v, digits) }

func text(v fmt.Stringer) *string {
	s := v.String()
	return &s
}

// encode returns the JSON of a body, which has no value that JSON cannot hold.
func encode(body any) []byte {
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("BUG: events: %v", err))
	}
	return b
}
