package enginetest

import (
	"fmt"
	"maps"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Reader rebuilds a pair from its events alone, as any consumer of the stream can: the levels from level
// events, each order from its own events. It also checks what every stream guarantees: no gap in seq, trade ids
// that rise by one, lots that add up.
type Reader struct {
	pair   engine.PairID
	Seq    engine.Seq
	Trade  engine.TradeID
	last   int64
	levels [2]map[int64]int64
	Orders map[engine.OrderID]*readOrder
	Closed int
	lists  map[engine.OrderID]int // open orders of each open order list
}

type readOrder struct {
	side                                   engine.Side
	account                                engine.AccountID
	quoteOrder                             bool
	amount, traded, reduced, canceled, now int64 // lots
	spent                                  fixed.U128
	quote                                  fixed.U128
	waits                                  bool
	list                                   engine.OrderID
}

// NewReader returns a reader of one pair's events.
func NewReader(p engine.PairID) *Reader {
	return &Reader{
		pair: p, Orders: map[engine.OrderID]*readOrder{},
		levels: [2]map[int64]int64{{}, {}}, lists: map[engine.OrderID]int{},
	}
}

// Read takes the events of one command. It fails the test at the first event that breaks a guarantee.
func (r *Reader) Read(events []engine.Event) error {
	if len(events) == 0 {
		return fmt.Errorf("a command made no event")
	}
	for i := range events {
		e := &events[i]
		if r.Seq++; e.Seq != r.Seq || e.Pair != r.pair {
			return fmt.Errorf("seq %d of pair %d after %d", e.Seq, e.Pair, r.Seq-1)
		}
		if err := r.one(e); err != nil {
			return fmt.Errorf("seq %d: %w", e.Seq, err)
		}
	}
	for id, open := range r.lists {
		if open == 0 {
			return fmt.Errorf("list %d outlives its orders", id)
		}
	}
	return nil
}

func (r *Reader) one(e *engine.Event) error {
	switch e.Kind {
	case engine.EventLevel:
		if old := r.levels[e.Side][e.Price]; old == e.Amount {
			return fmt.Errorf("level %s %d did not change from %d", e.Side, e.Price, old)
		}
		r.levels[e.Side][e.Price] = e.Amount
		if e.Amount == 0 {
			delete(r.levels[e.Side], e.Price)
		}
		return nil
	case engine.EventRejected, engine.EventPair, engine.EventNothing:
		return nil
	case engine.EventList:
		r.lists[e.Order] = 0
		return nil
	case engine.EventListEnded:
		if open, ok := r.lists[e.Order]; !ok || open != 0 {
			return fmt.Errorf("list %d ends with %d open orders (%v)", e.Order, open, ok)
		}
		delete(r.lists, e.Order)
		return nil
	case engine.EventAccepted:
		return r.accept(e)
	default: // the event concerns an open order
	}
	o := r.Orders[e.Order]
	if o == nil {
		return fmt.Errorf("event %d of order %d, which is not open", e.Kind, e.Order)
	}
	if e.Account != o.account || e.Side != o.side {
		return fmt.Errorf("event %d of order %d names account %d, side %s", e.Kind, e.Order, e.Account, e.Side)
	}
	switch e.Kind {
	case engine.EventTrade:
		return r.fill(e, o)
	case engine.EventCanceled:
		o.canceled = e.Amount
		o.now -= e.Amount
		return r.end(e, o)
	case engine.EventReplaced:
		o.amount = e.Amount + o.reduced
		o.now = e.OpenAmount
	case engine.EventReduced:
		if !o.quoteOrder {
			o.reduced += e.Amount
			o.now -= e.Amount
		} else if o.quote = o.quote.Sub(fixed.Mul64(uint64(e.Price),
			uint64(e.Amount))); e.Quote != o.quote.Sub(o.spent) {
			return fmt.Errorf("order %d has %v left to spend after the reduction", e.Order, e.Quote)
		}
		if o.now != e.OpenAmount {
			return fmt.Errorf("order %d has %d open after the reduction, not %d", e.Order, o.now, e.OpenAmount)
		}
	case engine.EventReleased:
		o.amount, o.now, o.waits = e.Amount, e.Amount, e.Type.Waits()
		if e.Maker != o.list {
			return fmt.Errorf("list %d releases order %d of list %d", e.Maker, e.Order, o.list)
		}
	case engine.EventTriggered:
		o.waits = false
	default: // other events change nothing that the Reader rebuilds
	}
	return nil
}

// accept notes a new order, and counts it in its list.
func (r *Reader) accept(e *engine.Event) error {
	if r.Orders[e.Order] != nil {
		return fmt.Errorf("order %d is accepted again", e.Order)
	}
	r.Orders[e.Order] = &readOrder{
		side: e.Side, account: e.Account, amount: e.Amount, now: e.Amount, quote: e.Quote,
		quoteOrder: e.Flags&engine.FlagQuote != 0, list: e.Maker,
		waits: e.Type.Waits() && e.Status != engine.Pending,
	}
	if _, ok := r.lists[e.Maker]; e.Maker != 0 && !ok {
		return fmt.Errorf("order %d is of list %d, which is not open", e.Order, e.Maker)
	}
	if e.Maker != 0 {
		r.lists[e.Maker]++
	}
	return nil
}

func (r *Reader) fill(e *engine.Event, o *readOrder) error {
	m := r.Orders[e.Maker]
	if r.Trade++; e.Trade != r.Trade || m == nil || m.side == e.Side || m.account != e.MakerAccount {
		return fmt.Errorf("trade %d after %d, maker %d", e.Trade, r.Trade-1, e.Maker)
	}
	r.last = e.Price
	sum := fixed.Mul64(uint64(e.Price), uint64(e.Amount))
	for _, x := range []*readOrder{o, m} {
		x.traded += e.Amount
		x.spent = x.spent.Add(sum)
		if !x.quoteOrder {
			x.now -= e.Amount
		}
	}
	if o.quoteOrder {
		if left := o.quote.Sub(o.spent); e.Quote != left || e.OpenAmount != 0 {
			return fmt.Errorf("order %d has %v left to spend, not %v", e.Order, left, e.Quote)
		}
	}
	if o.now != e.OpenAmount || m.now != e.MakerOpen {
		return fmt.Errorf("trade %d leaves %d and %d open, not %d and %d",
			e.Trade, o.now, m.now, e.OpenAmount, e.MakerOpen)
	}
	if m.now == 0 {
		r.close(e.Maker)
	}
	if o.now == 0 && !o.quoteOrder {
		r.close(e.Order)
	}
	return nil
}

func (r *Reader) end(e *engine.Event, o *readOrder) error {
	want := engine.Canceled
	if o.traded > 0 {
		want = engine.PartiallyExecutedAndCanceled
	}
	if e.Status != want && !(o.quoteOrder && o.traded > 0 && e.Status == engine.Completed) {
		return fmt.Errorf("order %d ends %s after %d traded", e.Order, e.Status, o.traded)
	}
	if !o.quoteOrder && o.amount != o.traded+o.reduced+o.canceled {
		return fmt.Errorf("order %d: %d = %d traded + %d reduced + %d canceled does not hold",
			e.Order, o.amount, o.traded, o.reduced, o.canceled)
	}
	if o.quoteOrder && e.Quote != o.quote.Sub(o.spent) {
		return fmt.Errorf("order %d gives back %v of %v after %v", e.Order, e.Quote, o.quote, o.spent)
	}
	r.close(e.Order)
	return nil
}

func (r *Reader) close(id engine.OrderID) {
	if list := r.Orders[id].list; list != 0 {
		r.lists[list]--
	}
	delete(r.Orders, id)
	r.Closed++
}

// Agree compares the rebuilt state with the core's state.
func (r *Reader) Agree(c *engine.Core) error {
	if c.LastSeq(r.pair) != r.Seq {
		return fmt.Errorf("the core is at seq %d, the reader at %d", c.LastSeq(r.pair), r.Seq)
	}
	if id, last := c.LastTrade(r.pair); id != r.Trade || last != r.last {
		return fmt.Errorf("the core's last trade is %d at %d, the reader's %d at %d", id, last, r.Trade, r.last)
	}
	for side := range r.levels {
		got := map[int64]int64{}
		for _, lv := range c.AppendDepth(nil, r.pair, engine.Side(side), 0) {
			got[lv.Price] = lv.Shown
		}
		if !maps.Equal(got, r.levels[side]) {
			return fmt.Errorf("%s side: the core has %v, the reader %v", engine.Side(side), got, r.levels[side])
		}
	}
	if n := c.OpenOrders(r.pair); n != len(r.Orders) {
		return fmt.Errorf("%d orders are open, the reader knows %d", n, len(r.Orders))
	}
	for id, o := range r.Orders {
		got, ok := c.Order(id)
		if !ok || got.Open != o.now || got.Total != o.traded+o.now || got.Waiting != o.waits ||
			got.Account != o.account {
			return fmt.Errorf("order %d: the core has %+v (%v), the reader %+v", id, got, ok, *o)
		}
	}
	return nil
}
