package engine

import (
	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/engine/slots"
)

// LookAhead is the number of commands between two calls of Warm.
const LookAhead = 16

// warmOrders is the number of open orders from which on Warm reads a book: a smaller one is in the CPU's cache anyway.
const warmOrders = 16 << 10

// warmer makes the CPU fetch memory that commands will need, where Apply would wait for it command by command. It finds
// what a command needs in three steps, each of which reads what the step before has fetched: where its order
// is indexed; the order; and its client id, its level, and its neighbors in the level and among its owner's orders. A
// place needs the newest orders of level and owner, and the place of its client id.
type warmer struct {
	needed [4]bool             // by window: whether any command of it is of a large book
	orders [2][LookAhead]int32 // by window: the slots of the orders that commands name, 0: none
	lines  [6 * LookAhead]slots.CacheLine
	fetch  func([]slots.CacheLine) // slots.Fetch, except in a test
}

// Warm fetches the memory that cmds[at:] will need. A call is due before cmds[at] whenever at is a multiple of
// LookAhead. Each step is a window of LookAhead commands ahead of the next step, so none waits. It changes nothing.
func (c *Core) Warm(cmds []*Command, at int) {
	w, n := &c.warmer, at/LookAhead
	if n == 0 {
		w.index(c, cmds, 0)
		w.index(c, cmds, 1)
		w.order(c, cmds, 0)
	}
	w.index(c, cmds, n+2)
	if w.needed[(n+1)%len(w.needed)] {
		w.order(c, cmds, n+1)
	}
	if w.needed[n%len(w.needed)] {
		w.links(c, cmds, n)
	}
}

// window returns the n-th window of commands.
func window(cmds []*Command, n int) []*Command {
	from := min(n*LookAhead, len(cmds))
	return cmds[from:min(from+LookAhead, len(cmds))]
}

// index takes the first step for the n-th window of commands: it fetches the places at which the book's indexes find
// the orders and client ids that the commands name.
func (w *warmer) index(c *Core, cmds []*Command, n int) {
	lines, needed := w.lines[:0], false
	for _, cmd := range window(cmds, n) {
		b := c.book(cmd.Pair)
		if b == nil {
			continue
		}
		if cmd.Kind == Place && cmd.Client.Named() {
			lines = append(lines, b.clients.CacheLine(cmd.Client.Hash))
		}
		if b.orders.count < warmOrders {
			continue
		}
		needed = true
		if cmd.Kind != Place {
			lines = append(lines, b.orders.ids.CacheLine(cmd.Order.N()))
		}
	}
	w.needed[n%len(w.needed)] = needed
	w.fetch(lines)
}

// order takes the second step: it looks the orders up in the index and fetches them.
func (w *warmer) order(c *Core, cmds []*Command, n int) {
	lines, found := w.lines[:0], &w.orders[n%len(w.orders)]
	for i, cmd := range window(cmds, n) {
		found[i] = 0
		if b := c.book(cmd.Pair); b != nil && cmd.Kind != Place && b.orders.count >= warmOrders {
			found[i] = b.orders.ids.Get(cmd.Order.N())
			lines = append(lines, b.orders.hot.CacheLine(found[i]))
			if b.clients.Open() > 0 {
				lines = append(lines, b.orders.cold.CacheLine(found[i]))
			}
		}
	}
	w.fetch(lines)
}

// links takes the third step: it fetches what the orders refer to, that is their levels, neighbors and client ids. For
// a place it fetches the newest orders of the level and the owner.
func (w *warmer) links(c *Core, cmds []*Command, n int) {
	lines, found := w.lines[:0], &w.orders[n%len(w.orders)]
	for i, cmd := range window(cmds, n) {
		b := c.book(cmd.Pair)
		if b == nil || b.orders.count < warmOrders {
			continue
		}
		q := &b.orders
		if cmd.Kind == Place {
			lines = append(lines, q.hot.CacheLine(q.levels.At(b.sides[cmd.Side&1].cached(cmd.Price)).tail))
			if cmd.Account != 0 {
				lines = append(lines, q.hot.CacheLine(q.owners.At(q.owners.Find(uint32(cmd.Account))).Tail))
			}
		} else if s := found[i]; s != 0 {
			o := q.at(s)
			lines = append(lines, q.levels.CacheLine(o.level), q.hot.CacheLine(o.prev), q.hot.CacheLine(o.next))
			if o.owner != owners.Builtin {
				lines = append(lines, q.hot.CacheLine(o.ownPrev), q.hot.CacheLine(o.ownNext))
			}
			if o.marks&markClient != 0 {
				lines = append(lines, b.clients.EntryCacheLine(q.cold.At(s).client))
			}
		}
	}
	w.fetch(lines)
}
