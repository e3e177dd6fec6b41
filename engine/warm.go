package engine

// LookAhead is the number of commands that Warm reads ahead.
const LookAhead = 16

// warmOrders is the number of open orders from which on Warm reads a book: a smaller one is in the CPU's cache anyway.
const warmOrders = 16 << 10

// Warm reads what the first LookAhead of the next commands will need: the place of a client id in its table, and of
// large books the order that a command names, its neighbors and its level, or the level that an order joins. Apply
// would wait for this memory command by command; here the CPU fetches it for all at the same time. It changes nothing
// that an event depends on.
func (c *Core) Warm(next []*Command) {
	var orders, levels [LookAhead]int32
	var books [LookAhead]*book
	next = next[:min(len(next), LookAhead)]
	for i, cmd := range next {
		b := c.book(cmd.Pair)
		if b == nil {
			continue
		}
		if cmd.Client != nil && cmd.Kind == Place {
			c.warmed += b.clients.Warm(cmd.Client.Hash)
		}
		if b.orders.count < warmOrders {
			continue
		}
		books[i] = b
		if cmd.Kind == Place {
			levels[i] = b.sides[cmd.Side&1].cached(cmd.Price)
		} else {
			orders[i] = b.orders.ids.Get(cmd.Order.N())
		}
	}
	var links [LookAhead][2]int32 // orders whose links a command changes
	for i, s := range orders[:len(next)] {
		if s != 0 {
			o := books[i].orders.at(s)
			levels[i], links[i] = o.level, [2]int32{o.prev, o.next}
		}
	}
	for i, ls := range levels[:len(next)] {
		if lv := int32(0); ls != 0 {
			if lv = books[i].orders.levels.At(ls).tail; orders[i] == 0 {
				links[i][0] = lv
			}
			c.warmed += lv
		}
	}
	for i := range links[:len(next)] {
		for _, s := range links[i] {
			if s != 0 {
				c.warmed += books[i].orders.at(s).level
			}
		}
	}
}
