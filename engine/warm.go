package engine

import "tickhive/engine/slots"

// LookAhead is the number of commands between two calls of Warm.
const LookAhead = 16

// warmOrders is the number of open orders from which on Warm reads a book: a smaller one is in the CPU's cache anyway.
const warmOrders = 16 << 10

// warmer makes the CPU fetch memory that commands will need, where Apply would wait for it command by command. It finds
// what a command needs in three steps, each of which reads what the step before has fetched: where its order
// is indexed; the order; and the order's level and neighbors. A place needs only the newest order of its level, and
// where its client id is to be stored.
type warmer struct {
	needed [4]bool             // by window: whether any command of it is of a large book
	orders [2][LookAhead]int32 // by window: the slots of the orders that commands name, 0: none
	lines  [3 * LookAhead]slots.Line
	fetch  func([]slots.Line) // slots.Fetch, except in a test
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

// index takes the first step for the n-th window of commands.
func (w *warmer) index(c *Core, cmds []*Command, n int) {
	l, needed := 0, false
	for _, cmd := range window(cmds, n) {
		b := c.book(cmd.Pair)
		if b == nil {
			continue
		}
		if cmd.Client != nil && cmd.Kind == Place {
			w.lines[l] = b.clients.Line(cmd.Client.Hash)
			l++
		}
		if b.orders.count < warmOrders {
			continue
		}
		needed = true
		if cmd.Kind != Place {
			w.lines[l] = b.orders.ids.Line(cmd.Order.N())
			l++
		}
	}
	w.needed[n%len(w.needed)] = needed
	w.fetch(w.lines[:l])
}

// order takes the second step.
func (w *warmer) order(c *Core, cmds []*Command, n int) {
	l, found := 0, &w.orders[n%len(w.orders)]
	for i, cmd := range window(cmds, n) {
		found[i] = 0
		if b := c.book(cmd.Pair); b != nil && cmd.Kind != Place && b.orders.count >= warmOrders {
			s := b.orders.ids.Get(cmd.Order.N())
			found[i] = s
			w.lines[l] = b.orders.hot.Line(s)
			l++
		}
	}
	w.fetch(w.lines[:l])
}

// links takes the third step.
func (w *warmer) links(c *Core, cmds []*Command, n int) {
	l, found := 0, &w.orders[n%len(w.orders)]
	for i, cmd := range window(cmds, n) {
		b := c.book(cmd.Pair)
		if b == nil || b.orders.count < warmOrders {
			continue
		}
		q := &b.orders
		if cmd.Kind == Place {
			w.lines[l] = q.hot.Line(q.levels.At(b.sides[cmd.Side&1].cached(cmd.Price)).tail)
			l++
		} else if s := found[i]; s != 0 {
			o := q.at(s)
			w.lines[l] = q.levels.Line(o.level)
			w.lines[l+1] = q.hot.Line(o.prev)
			w.lines[l+2] = q.hot.Line(o.next)
			l += 3
		}
	}
	w.fetch(w.lines[:l])
}
