package engine

// Visits returns the orders and levels that the newest part of a pair looked at without an event.
func (c *Core) Visits(p PairID) int { return c.books[p].stream.visits }
