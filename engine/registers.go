package engine

import (
	"maps"
	"slices"
)

// The methods of this file read parts of a Core that events do not carry: configuration, registers and
// counters. Only the owner's goroutine may call them.

// Pair returns the configuration of a pair; false: this core does not have the pair.
func (c *Core) Pair(id PairID) (*Instrument, bool) {
	if b := c.book(id); b != nil {
		return b.inst, true
	}
	return nil, false
}

// PairByCode returns the number of the pair with that code.
func (c *Core) PairByCode(code string) (PairID, bool) {
	id, ok := c.byCode[code]
	return id, ok
}

// Pairs returns the highest pair number plus one; with one loop, the number of pairs.
func (c *Core) Pairs() int { return len(c.books) }

// PairsByCode returns the numbers of the pairs, sorted by code in byte order.
func (c *Core) PairsByCode() []PairID {
	ids := make([]PairID, 0, len(c.byCode))
	for _, code := range slices.Sorted(maps.Keys(c.byCode)) {
		ids = append(ids, c.byCode[code])
	}
	return ids
}

// Asset returns the configuration of a currency.
func (c *Core) Asset(symbol string) (*Asset, bool) {
	a, ok := c.control.assets[symbol]
	return a, ok
}

// Assets returns all assets, sorted by symbol in byte order.
func (c *Core) Assets() []*Asset {
	all := make([]*Asset, 0, len(c.control.assets))
	for _, s := range slices.Sorted(maps.Keys(c.control.assets)) {
		all = append(all, c.control.assets[s])
	}
	return all
}

// LastSeq returns the seq of the newest event of a pair or, for ControlPair, of the control stream; 0: unknown pair.
func (c *Core) LastSeq(p PairID) Seq {
	if p == ControlPair {
		return c.control.seq
	}
	if b := c.book(p); b != nil {
		return b.tape.seq
	}
	return 0
}

// LastOrderID returns the id of a pair's newest order, 0 for none. A mass cancel uses it as its bound.
func (c *Core) LastOrderID(p PairID) OrderID {
	if b := c.book(p); b != nil && b.lastN > 0 {
		return MakeOrderID(p, b.lastN)
	}
	return 0
}

// LastTrade returns the id and price (ticks) of a pair's newest trade, 0 and 0 before the first.
func (c *Core) LastTrade(p PairID) (TradeID, int64) {
	if b := c.book(p); b != nil {
		return b.trade, b.last
	}
	return 0, 0
}

// OpenOrders returns the number of open orders of a pair, waiting stops included.
func (c *Core) OpenOrders(p PairID) int {
	if b := c.book(p); b != nil {
		return b.orders.count
	}
	return 0
}

// OwnOpenOrders returns the number of open orders of an account in a pair, waiting stops included.
func (c *Core) OwnOpenOrders(p PairID, account AccountID) (n int) {
	if b := c.book(p); b != nil {
		n = b.orders.openOf(account)
	}
	return n
}

// ClientOrder returns the order of a remembered client order id (ClientID.Hash), 0 when the pair does not know the id.
func (c *Core) ClientOrder(p PairID, hash [2]uint64) (id OrderID) {
	if b := c.book(p); b != nil {
		if s := b.clients.Find(hash); s != 0 {
			id = MakeOrderID(p, b.clients.At(s).Order())
		}
	}
	return id
}

func (c *Core) book(p PairID) *book {
	if uint64(p) >= uint64(len(c.books)) {
		return nil
	}
	return c.books[p]
}
