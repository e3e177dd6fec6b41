package engine_test

import (
	"math/big"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// purseList is an order list as a purse reads it: what each order would need alone, and what all of them hold.
type purseList struct {
	id      engine.OrderID
	account engine.AccountID
	kind    engine.ListKind
	orders  map[engine.OrderID]*purseOrder
	brought *big.Int // units
}

type purseOrder struct {
	side engine.Side
	need *big.Int // lots or product units, while it is open and not pending
}

// want returns what the orders of a side hold in units: the working order its need, the others the largest of theirs.
func (l *purseList) want(p *purse, s engine.Side) *big.Int {
	works, most := new(big.Int), new(big.Int)
	for id, o := range l.orders {
		switch {
		case o.need == nil || o.side != s:
		case id == l.id && l.kind != engine.OCO:
			works = o.need
		case o.need.Cmp(most) > 0:
			most = o.need
		}
	}
	sum := p.units(s, new(big.Int).Add(works, most))
	if s == engine.Sell {
		sum.Add(sum, l.brought)
	}
	return sum
}

// of returns the list of an order, nil: it is of none.
func (p *purse) listOf(id engine.OrderID) (*purseList, *purseOrder) {
	for _, l := range p.lists {
		if o := l.orders[id]; o != nil {
			return l, o
		}
	}
	return nil, nil
}

// bookList books an event of an order of a list, or of the list, but for a trade; it returns false for any other.
func (p *purse) bookList(e *engine.Event) bool {
	if e.Kind == engine.EventList {
		p.lists[e.Order] = &purseList{
			id: e.Order, account: e.Account, kind: e.List, orders: map[engine.OrderID]*purseOrder{},
			brought: new(big.Int),
		}
		return true
	}
	if e.Kind == engine.EventListEnded {
		p.changeList(p.lists[e.Order], func(l *purseList) { l.brought.SetInt64(0) })
		delete(p.lists, e.Order)
		return true
	}
	if l := p.lists[e.Maker]; e.Kind == engine.EventAccepted && l != nil {
		l.orders[e.Order] = &purseOrder{side: e.Side}
		if e.Status != engine.Pending {
			p.changeList(l, func(*purseList) { l.orders[e.Order].need = heldBy(e.Side, e.Price, e.Amount, e.Quote) })
		}
		return true
	}
	l, o := p.listOf(e.Order)
	if l == nil || e.Kind == engine.EventTrade {
		return false
	}
	p.changeList(l, func(*purseList) {
		switch e.Kind {
		case engine.EventReleased:
			l.brought.SetInt64(0)
			o.need = heldBy(e.Side, e.Price, e.Amount, e.Quote)
		case engine.EventCanceled:
			o.need = nil
			if l.pending() {
				l.brought.SetInt64(0) // nothing will be released
			}
		case engine.EventReduced:
			if o.need != nil {
				o.need = new(big.Int).Sub(o.need, heldBy(e.Side, e.Display, e.Amount, fixed.U128{}))
			}
		case engine.EventReplaced:
			if o.need != nil {
				o.need = heldBy(e.Side, e.Price, e.OpenAmount, fixed.U128{})
			}
		case engine.EventTriggered:
			if e.Type.AtMarket() && e.Side == engine.Buy && e.OpenAmount != 0 && e.Account != 0 {
				o.need = toBig(e.Quote)
			}
		}
	})
	return true
}

// pending reports whether an order of the list pends.
func (l *purseList) pending() bool {
	for id, o := range l.orders {
		if o.need == nil && id != l.id {
			return true
		}
	}
	return false
}

// changeList changes a list and holds what it wants more, or releases what it wants less.
func (p *purse) changeList(l *purseList, change func(l *purseList)) {
	var before [2]*big.Int
	for s := range before {
		before[s] = l.want(p, engine.Side(s))
	}
	change(l)
	for s := range before {
		p.holdUnits(l.account, engine.Side(s), new(big.Int).Sub(l.want(p, engine.Side(s)), before[s]))
	}
}

// tradeOfList takes paid out of what an order of a list needs, and keeps what a working order has brought; the trade
// has moved both already.
func (p *purse) tradeOfList(e *engine.Event, id engine.OrderID, paid *big.Int) {
	l, o := p.listOf(id)
	if l == nil {
		return
	}
	if id != l.id || l.kind == engine.OCO { // from now on it is alone
		p.changeList(l, func(*purseList) {
			for other, x := range l.orders {
				if other != id && (other != l.id || l.kind == engine.OCO) {
					x.need = nil
				}
			}
		})
	}
	if o.need = new(big.Int).Sub(o.need, paid); o.side == engine.Buy && l.kind >= engine.OPO && id == l.id {
		rate, discount := e.MakerFee, e.MakerDiscount
		if id == e.Order {
			rate, discount = e.TakerFee, e.TakerDiscount
		}
		units := fromBig(p.units(engine.Sell, big.NewInt(e.Amount)))
		p.changeList(l, func(*purseList) {
			l.brought.Add(l.brought, toBig(units.Sub(fixed.Fee(units, rate, discount))))
		})
	}
}

// listHold returns what the orders of a list hold by the book, in units.
func listHold(p *purse, c *engine.Core, l *engine.ListState, s engine.Side) *big.Int {
	read := purseList{
		id: l.ID, account: l.Account, kind: l.Kind, orders: map[engine.OrderID]*purseOrder{}, brought: toBig(l.Brought),
	}
	for _, id := range l.Orders {
		o, _ := c.Order(id)
		x := &purseOrder{side: o.Side}
		if !o.Pending {
			quote := o.Quote
			if o.Waiting && o.Type.AtMarket() && o.Quote.IsZero() {
				quote = fixed.Mul64(uint64(o.Hold), uint64(o.Open))
			}
			x.need = heldBy(o.Side, o.Price, o.Open, quote)
		}
		read.orders[id] = x
	}
	return read.want(p, s)
}
