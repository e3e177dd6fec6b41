package entry

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// Answer is the outcome of one command. The loop's goroutine fills it immediately after it has folded the
// command, before any later command. The request's goroutine reads it.
type Answer struct {
	Record     marketdata.OrderRecord
	Found      bool          // Record holds the order
	Reason     engine.Reason // why the command was refused
	Order      engine.OrderID
	Seq        engine.Seq // seq of the last event of the command
	TimeNs     int64
	Place      *Place             // the order of a PlaceOrder
	Instrument *engine.Instrument // nil: unknown pair
	// List is the list of a PlaceOrderList, and that of an order that was canceled with all of its list, as the command
	// left it; nil: none.
	List *OrderList
	// Credit is the caller's marketdata.History.FillCredit right after the command; 0 without a caller.
	Credit uint32

	begun  bool // a part of the command had events
	faulty int  // the number of the order for which a list was refused, 0: the list itself, or no list
}

// collect fills a from the events of its command, or of one part of it.
func (a *Answer) collect(h *marketdata.History, caller engine.AccountID, records bool, cmd *engine.Command,
	events []engine.Event,
) {
	if len(events) == 0 {
		return
	}
	if caller != 0 {
		a.Credit = h.FillCredit(caller)
	}
	if a.begun {
		a.Seq = events[len(events)-1].Seq
		if a.List != nil {
			a.collectList(h, a.List.ID)
		}
		if r, ok := h.Order(a.Order); ok && a.Found {
			a.Record = r
		}
		return
	}
	a.begun = true
	first := &events[0]
	a.Order, a.TimeNs, a.Seq = cmd.Order, first.TimeNs, events[len(events)-1].Seq
	a.Found, a.Reason, a.List, a.faulty = false, engine.NotRejected, nil, 0
	if first.Kind == engine.EventRejected {
		a.Reason = first.Reason
	}
	if cmd.Kind == engine.PlaceList {
		a.collectPlaced(h, first)
		return
	}
	if caller != 0 && (!records || cmd.Kind != engine.Place) {
		a.collectOwn(h, cmd, first)
		return
	}
	switch {
	case a.Reason == engine.UnknownPair && cmd.Kind != engine.Place:
		a.Reason = engine.UnknownOrder // the order id belongs to a pair that does not exist
		return
	case a.Reason != engine.NotRejected:
		return
	case first.Kind == engine.EventRejected:
		// A repeated client order id: return the first answer if it is retained.
		a.Order = first.Order
		if a.Record, a.Found = h.FirstAnswer(a.Order); !a.Found {
			a.Record, a.Found = h.Order(a.Order)
		}
		if !a.Found {
			a.Reason = engine.DuplicateClientOrderID
		}
		return
	case cmd.Kind == engine.Place:
		a.Order = first.Order
	}
	a.Record, a.Found = h.Order(a.Order)
	if a.collectCanceled(h, cmd); !a.Found && a.List == nil {
		panic("BUG: entry: the history lacks an order that was just answered")
	}
}

// collectPlaced fills the answer of a new list. The repeat of a client id has the first list.
func (a *Answer) collectPlaced(h *marketdata.History, first *engine.Event) {
	if a.Order, a.faulty = first.Order, int(first.MakerOpen); a.Reason != engine.NotRejected {
		return
	}
	a.faulty = 0
	if a.collectList(h, first.Order); a.List == nil {
		a.Reason = engine.DuplicateClientOrderID // it is no longer retained
	}
}

// collectList fills in a list as it is.
func (a *Answer) collectList(h *marketdata.History, id engine.OrderID) {
	l := &OrderList{Instrument: a.Instrument}
	if record, ok := h.List(id); l.read(h, record, ok) {
		a.List = l
	}
}

// collectOwn fills the answer of a signed request. For a new order it has only the id (see Request.Records), for a
// changed order the record.
func (a *Answer) collectOwn(h *marketdata.History, cmd *engine.Command, first *engine.Event) {
	if cmd.Kind == engine.Place {
		a.Order = first.Order
		return
	}
	a.Record, a.Found = h.Order(cmd.Order)
	a.collectCanceled(h, cmd)
	own := a.Found && a.Record.Account == cmd.Account || a.List != nil && a.List.Account == cmd.Account
	if !own {
		// An order of another account is reported as unknown, whatever its state.
		a.Record, a.Found, a.List, a.Reason = marketdata.OrderRecord{}, false, nil, engine.UnknownOrder
	}
}

// collectCanceled fills in the list that a cancel has ended. The list may be retained longer than the order that the
// cancel names.
func (a *Answer) collectCanceled(h *marketdata.History, cmd *engine.Command) {
	list := a.Record.List
	if cmd.Kind == engine.Cancel && cmd.Flags&engine.FlagList != 0 {
		list = cmd.Order
	}
	if cmd.Kind == engine.Cancel && list != 0 && a.Reason == engine.NotRejected {
		a.collectList(h, list)
	}
}
