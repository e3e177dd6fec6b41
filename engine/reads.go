package engine

import (
	"iter"
	"maps"
	"slices"

	"github.com/tickhive/tickhive/internal/fixed"
)

// The methods of this file read parts of a Core that events do not carry: configuration, assets, books and
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

// EndPair returns the highest pair number plus one.
func (c *Core) EndPair() PairID { return PairID(len(c.books)) }

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
		return b.stream.seq
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

// OrderState is a copy of an open order. Amounts in lots, prices in ticks.
type OrderState struct {
	ID      OrderID
	Account AccountID
	Side    Side
	Type    OrderType // becomes Limit once the order rests, whatever type it was placed with
	Waiting bool      // it has not been triggered yet
	Price   int64     // 0 for an order at the market's price
	Stop    int64     // stop price of a waiting order, otherwise 0
	Trail   uint16    // basis points of a waiting order that trails, otherwise 0
	Extreme int64     // the best price since it tracks, 0: it does not track
	Hold    int64     // price at which a market buy by amount holds its lots while it waits, otherwise 0
	Total   int64     // filled and open lots
	Open    int64     // shown and hidden lots
	Hidden  int64
	Display int64 // lots of a slice; 0: not an iceberg
	Quote   fixed.U128
	Client  bool    // has a client order id
	List    OrderID // its order list, 0: none
	Pending bool    // its list has not released it
}

// BookOrder is one resting order of a full book, in queue order.
type BookOrder struct {
	ID      OrderID
	Account AccountID
	Price   int64
	Shown   int64
	Hidden  int64
}

// DepthLevel is one price of a book side.
type DepthLevel struct {
	Price  int64
	Shown  int64 // what the public book shows
	Hidden int64
	Orders int
}

// StopState is one waiting order.
type StopState struct {
	ID    OrderID
	Side  Side
	Type  OrderType
	Price int64 // stop price, 0: none; of an order that tracks the price that triggers it now, 0: no price does
	Trail uint16
	// Extreme is the best price since the order tracks, 0: it does not track.
	Extreme int64
}

// Order returns the open order with this id; false when it is closed or does not exist.
func (c *Core) Order(id OrderID) (OrderState, bool) {
	b := c.book(id.Pair())
	if b == nil {
		return OrderState{}, false
	}
	s := b.orders.ids.Get(id.N())
	if s == 0 {
		return OrderState{}, false
	}
	o := b.orders.at(s)
	v := OrderState{
		ID: id, Account: b.orders.account(o), Side: o.side,
		Total: o.total, Hidden: b.orders.hidden(s, o), Client: o.marks&markClient != 0,
	}
	v.Open = o.shown + v.Hidden
	if ls := b.listOf(s, o); ls != 0 {
		v.List = MakeOrderID(b.id, b.lists.at(ls).n)
	}
	if o.marks&markStop != 0 {
		st := b.stops.parked.At(b.orders.cold.At(s).stop)
		v.Pending = st.state == pends || st.state == due
		v.Waiting = !v.Pending
		v.Type, v.Price, v.Stop, v.Display = st.typ, st.price, st.stop, st.display
		v.Trail, v.Extreme, v.Hold = st.trail, b.extremeOf(o, st), st.hold
		if st.flags&FlagQuote != 0 {
			v.Quote = st.quote
		}
		return v, true
	}
	v.Price = b.orders.levels.At(o.level).price
	if o.marks&markIceberg != 0 {
		v.Display = b.orders.cold.At(s).display
	}
	return v, true
}

// Resting yields the orders of one side, best level first, in queue order within a level. depth limits the
// levels; 0 means all. The book must not change meanwhile.
func (c *Core) Resting(p PairID, side Side, depth int) iter.Seq[BookOrder] {
	return func(yield func(BookOrder) bool) {
		b := c.book(p)
		if b == nil {
			return
		}
		b.walk(side, depth, func(lv *level) bool {
			for s := lv.head; s != 0; {
				o := b.orders.at(s)
				v := BookOrder{MakeOrderID(p, o.n), b.orders.account(o), lv.price, o.shown, b.orders.hidden(s, o)}
				if s = o.next; !yield(v) {
					return false
				}
			}
			return true
		})
	}
}

// AppendDepth appends the levels of one side, best first; depth 0: all.
func (c *Core) AppendDepth(dst []DepthLevel, p PairID, side Side, depth int) []DepthLevel {
	b := c.book(p)
	if b == nil {
		return dst
	}
	b.walk(side, depth, func(lv *level) bool {
		dst = append(dst, DepthLevel{lv.price, lv.shown, lv.hidden, int(lv.count)})
		return true
	})
	return dst
}

// Stops yields the waiting orders of a pair: those of a rise before those of a fall; within a direction, by the stop
// price that the market reaches first, then in queue order. Those that track follow, buys before sells, the farthest
// extreme first. The book must not change meanwhile.
func (c *Core) Stops(p PairID) iter.Seq[StopState] {
	return func(yield func(StopState) bool) {
		b, more := c.book(p), true
		for way := 0; b != nil && way < len(b.stops.ways); way++ {
			b.stops.ways[way].Down(func(ls int32) bool {
				lv := b.orders.levels.At(ls)
				for s := lv.head; s != 0 && more; {
					o := b.orders.at(s)
					st := b.stops.parked.At(b.orders.cold.At(s).stop)
					s, more = o.next, yield(StopState{
						ID: MakeOrderID(p, o.n), Side: o.side, Type: st.typ, Price: lv.price, Trail: st.trail,
					})
				}
				return more
			})
			if !more {
				return
			}
		}
		for side := 0; b != nil && side < len(b.stops.trails); side++ {
			for _, g := range b.stops.trails[side].groups {
				for _, st := range b.stops.heap(nil, g.first) {
					o := b.orders.at(st.slot)
					price, _ := trailEnd(o.side, g.extreme, st.trail)
					if !yield(StopState{MakeOrderID(p, o.n), o.side, st.typ, price, st.trail, g.extreme}) {
						return
					}
				}
			}
		}
	}
}

// ListState is an open order list.
type ListState struct {
	ID      OrderID
	Kind    ListKind
	Account AccountID
	Orders  []OrderID  // that are open
	Brought fixed.U128 // opo: what its working order has brought, units of the base
}

// Lists yields the open order lists of a pair, oldest first. The book must not change meanwhile.
func (c *Core) Lists(p PairID) iter.Seq[ListState] {
	return func(yield func(ListState) bool) {
		b := c.book(p)
		if b == nil {
			return
		}
		for ls := b.lists.oldest; ls != 0; ls = b.lists.at(ls).newer {
			l := b.lists.at(ls)
			v := ListState{
				ID: MakeOrderID(p, l.n), Kind: l.kind, Account: AccountID(b.orders.owners.Account(l.owner)),
				Brought: l.brought,
			}
			for i, s := range l.orders {
				if s != 0 {
					v.Orders = append(v.Orders, MakeOrderID(p, l.n+uint64(i)))
				}
			}
			if !yield(v) {
				return
			}
		}
	}
}

// walk visits the levels of a side, best first, until visit returns false. depth limits the levels; 0 means all.
func (b *book) walk(side Side, depth int, visit func(*level) bool) {
	n := 0
	b.sides[side].Down(func(ls int32) bool {
		n++
		return visit(b.orders.levels.At(ls)) && n != depth
	})
}
