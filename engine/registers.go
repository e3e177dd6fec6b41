package engine

import (
	"maps"
	"slices"
)

// What the owner goroutine may read of a Core: configuration, registers and counters. All
// else comes from the events.

// Pair is the configuration of a pair; false: this core has no such pair.
func (c *Core) Pair(id PairID) (*Instrument, bool) {
	if b := c.book(id); b != nil {
		return b.inst, true
	}
	return nil, false
}

// PairByCode is the number of the pair with that code.
func (c *Core) PairByCode(code string) (PairID, bool) {
	id, ok := c.byCode[code]
	return id, ok
}

// Pairs is one more than the highest pair number; with one loop, how many pairs there are.
func (c *Core) Pairs() int { return len(c.books) }

// PairsByCode is the numbers of the pairs, sorted by code in byte order.
func (c *Core) PairsByCode() []PairID {
	ids := make([]PairID, 0, len(c.byCode))
	for _, code := range slices.Sorted(maps.Keys(c.byCode)) {
		ids = append(ids, c.byCode[code])
	}
	return ids
}

// Asset is what is configured of a currency.
func (c *Core) Asset(symbol string) (*Asset, bool) {
	a, ok := c.control.assets[symbol]
	return a, ok
}

// Assets is all of them, sorted by symbol in byte order.
func (c *Core) Assets() []*Asset {
	all := make([]*Asset, 0, len(c.control.assets))
	for _, s := range slices.Sorted(maps.Keys(c.control.assets)) {
		all = append(all, c.control.assets[s])
	}
	return all
}

// Account is the number of the account with that UUID; the zero UUID is the built-in one.
func (c *Core) Account(uuid [16]byte) (AccountID, bool) {
	id, ok := c.control.accounts[uuid]
	return id, ok
}

// AccountUUID is the UUID of an account, zero for an unknown one.
func (c *Core) AccountUUID(id AccountID) [16]byte {
	if uint64(id) >= uint64(len(c.control.uuids)) {
		return [16]byte{}
	}
	return c.control.uuids[id]
}

// Accounts is one more than the highest AccountID: the built-in account counts.
func (c *Core) Accounts() int { return len(c.control.uuids) }

// LastSeq is the seq of a pair's newest event, 0 for an unknown pair; of the control
// stream for ControlPair.
func (c *Core) LastSeq(p PairID) Seq {
	if p == ControlPair {
		return c.control.seq
	}
	if b := c.book(p); b != nil {
		return b.seq
	}
	return 0
}

// LastOrderID is the newest order's id of a pair: the bound of a mass cancel sequenced
// now. 0: the pair is unknown or has taken no order.
func (c *Core) LastOrderID(p PairID) OrderID {
	if b := c.book(p); b != nil && b.lastN > 0 {
		return MakeOrderID(p, b.lastN)
	}
	return 0
}

// LastTrade is the id and price (ticks) of a pair's newest trade, 0 and 0 before the first.
func (c *Core) LastTrade(p PairID) (TradeID, int64) {
	if b := c.book(p); b != nil {
		return b.trade, b.last
	}
	return 0, 0
}

// OpenOrders is how many orders of a pair are open, waiting stops included.
func (c *Core) OpenOrders(p PairID) int {
	if b := c.book(p); b != nil {
		return b.open
	}
	return 0
}

func (c *Core) book(p PairID) *book {
	if uint64(p) >= uint64(len(c.books)) {
		return nil
	}
	return c.books[p]
}
