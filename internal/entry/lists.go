package entry

import (
	"fmt"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
)

// OrderList is an order list and its orders, as they are at one moment.
type OrderList struct {
	marketdata.ListRecord
	// Orders has those orders that are retained, all of them while the list executes, in the order of their ids.
	Orders     []marketdata.OrderRecord
	Instrument *engine.Instrument
}

// read fills l with the list, and returns whether it is there. It runs inside Exchange.Query.
func (l *OrderList) read(h *marketdata.History, record marketdata.ListRecord, found bool) bool {
	if !found {
		return false
	}
	l.ListRecord, l.Orders = record, l.Orders[:0]
	for _, id := range record.Orders {
		if o, ok := h.Order(id); ok {
			l.Orders = append(l.Orders, o)
		}
	}
	return true
}

// List returns a retained order list by its id. A signed request finds only the caller's own lists.
func (e *Entry) List(caller engine.AccountID, id engine.OrderID) (OrderList, *refuse.Refusal) {
	name := fmt.Sprint(uint64(id))
	return e.list(caller, id.Pair(), "listId", name, func(h *marketdata.History) (marketdata.ListRecord, bool) {
		return h.List(id)
	})
}

// ClientList returns the newest retained order list of the caller in the pair that has the client id.
func (e *Entry) ClientList(caller engine.AccountID, pair engine.PairID, client string) (OrderList, *refuse.Refusal) {
	return e.list(caller, pair, "clientOrderId", client, func(h *marketdata.History) (marketdata.ListRecord, bool) {
		return h.ListByClient(caller, pair, client)
	})
}

func (e *Entry) list(caller engine.AccountID, pair engine.PairID, field, name string,
	find func(*marketdata.History) (marketdata.ListRecord, bool),
) (l OrderList, refusal *refuse.Refusal) {
	v, found := e.opt.Board.Load().View(pair), false
	if v != nil {
		l.Instrument = v.Instrument
		if err := e.opt.Exchange.QueryPair(pair, func() {
			record, ok := find(e.opt.History)
			found = l.read(e.opt.History, record, ok)
		}); err != nil {
			return OrderList{}, NotApplied(err)
		}
	}
	if found && (caller == 0 || l.Account == caller) {
		return l, nil
	}
	return OrderList{}, noList(caller, field, name)
}

// Lists returns a page of an account's order lists, newest first, and the cursor of the page after it, as Orders does.
func (e *Entry) Lists(q marketdata.Query) ([]marketdata.ListRecord, marketdata.Cursor, *refuse.Refusal) {
	return page(e, q, e.opt.History.Lists, (*marketdata.ListRecord).Cursor)
}

// WholeLists returns what Lists does, with the orders of each list, which have no fills.
func (e *Entry) WholeLists(q marketdata.Query) (lists []OrderList, next marketdata.Cursor, refusal *refuse.Refusal) {
	records, next, refusal := e.Lists(q)
	if refusal != nil {
		return nil, next, refusal
	}
	root := e.opt.Board.Load()
	lists = make([]OrderList, len(records))
	err := e.opt.Exchange.Query(func() {
		for i := range records {
			l := &lists[i]
			l.ListRecord, l.Instrument = records[i], root.View(records[i].ID.Pair()).Instrument
			if now, ok := e.opt.History.List(l.ID); ok {
				l.ListRecord = now // of the moment of its orders
			}
			for _, id := range l.ListRecord.Orders {
				if o, ok := e.opt.History.Summary(id); ok {
					l.Orders = append(l.Orders, o)
				}
			}
		}
	})
	if err != nil {
		return nil, next, NotApplied(err)
	}
	return lists, next, nil
}

// ParseList returns the id of a list that a path names.
func (e *Entry) ParseList(caller engine.AccountID, text string) (engine.OrderID, *refuse.Refusal) {
	id, _, refusal := e.ParseOrder(caller, text)
	switch {
	case refusal == nil:
		return id, nil
	case refusal.Code == refuse.NotFound:
		return 0, noList(caller, "listId", text)
	}
	return 0, refuse.Param("listId", "The list id must be an integer.")
}

// noList returns the refusal of a list that does not exist, or is not the caller's.
func noList(caller engine.AccountID, field, name string) *refuse.Refusal {
	if caller != 0 {
		return refuse.Missing(field, "You have no order list %s.", name)
	}
	return refuse.Missing(field, "There is no order list %s.", name)
}

// Clients returns the client ids of the orders of lists, "" for an order that has none or is not retained.
func (e *Entry) Clients(lists []marketdata.ListRecord) (map[engine.OrderID]string, *refuse.Refusal) {
	clients := map[engine.OrderID]string{}
	for len(lists) > 0 {
		some := lists[:min(len(lists), clientLists)]
		lists = lists[len(some):]
		if err := e.opt.Exchange.Query(func() {
			for i := range some {
				for _, id := range some[i].Orders {
					if o, ok := e.opt.History.Summary(id); ok {
						clients[id] = o.Client
					}
				}
			}
		}); err != nil {
			return nil, NotApplied(err)
		}
	}
	return clients, nil
}

// clientLists is the number of lists of which Clients reads the orders at once.
const clientLists = 100

// Amendments returns the retained amendments of an order, which is the caller's, from a number on, oldest first, at
// most limit.
func (e *Entry) Amendments(order engine.OrderID, from uint64, limit int) (list []marketdata.Amendment,
	refusal *refuse.Refusal,
) {
	if err := e.opt.Exchange.QueryPair(order.Pair(), func() {
		list = e.opt.History.Amendments(order, from, limit)
	}); err != nil {
		return nil, NotApplied(err)
	}
	return list, nil
}

// PreventedMatches returns the retained prevented matches that q chooses, in the order of their numbers.
func (e *Entry) PreventedMatches(q marketdata.PreventedQuery) ([]marketdata.PreventedMatch, *refuse.Refusal) {
	list, err := e.opt.History.PreventedMatches(q, e.opt.Exchange.Query)
	if err != nil {
		return nil, NotApplied(err)
	}
	return list, nil
}

// FillCredit returns the marketdata.History.FillCredit of an account.
func (e *Entry) FillCredit(account engine.AccountID) (credit uint32, refusal *refuse.Refusal) {
	if err := e.opt.Exchange.Query(func() { credit = e.opt.History.FillCredit(account) }); err != nil {
		return 0, NotApplied(err)
	}
	return credit, nil
}
