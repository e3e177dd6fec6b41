package entry

import (
	"tickhive/engine"
	"tickhive/marketdata"
)

// Answer is the outcome of one command. The history's goroutine fills it immediately after it has folded the
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

	begun bool // a part of the command had events
}

// collect fills a from the events of its command, or of one part of it.
func (a *Answer) collect(h *marketdata.History, caller engine.AccountID, records bool, cmd *engine.Command,
	events []engine.Event,
) {
	if len(events) == 0 {
		return
	}
	if a.begun {
		a.Seq = events[len(events)-1].Seq
		if r, ok := h.Order(a.Order); ok && a.Found {
			a.Record = r
		}
		return
	}
	a.begun = true
	first := &events[0]
	a.Order, a.TimeNs, a.Seq = cmd.Order, first.TimeNs, events[len(events)-1].Seq
	a.Found, a.Reason = false, engine.NotRejected
	if first.Kind == engine.EventRejected {
		a.Reason = first.Reason
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
	if a.Record, a.Found = h.Order(a.Order); !a.Found {
		panic("BUG: entry: the history lacks an order that was just answered")
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
	if !a.Found || a.Record.Account != cmd.Account {
		// An order of another account is reported as unknown, whatever its state.
		a.Record, a.Found, a.Reason = marketdata.OrderRecord{}, false, engine.UnknownOrder
	}
}
