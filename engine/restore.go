package engine

import (
	"fmt"
	"math"
	"strings"
)

// DecodePair adds the pair that EncodePair wrote. The core must not have it. An error
// says why the bytes are no pair, and leaves the core as it was; a limit of the options
// that the state exceeds is no error, it only keeps more from coming.
func (c *Core) DecodePair(data []byte) (PairID, error) {
	r := &stateReader{buf: data}
	if v := r.uint(1<<64 - 1); v != StateFormat && r.err == nil {
		return 0, fmt.Errorf("engine: a pair of state format %d cannot be read by this version, which has %d", v, StateFormat)
	}
	b := newBook(readInstrument(r), &c.opts)
	if r.err == nil {
		r.err = b.inst.Validate()
	}
	if r.err == nil {
		b.Read(r)
	}
	if r.err == nil && len(r.buf) > 0 {
		r.fail("%d bytes are left", len(r.buf))
	}
	if _, ok := c.byCode[b.inst.Code]; ok || c.book(b.id) != nil {
		r.fail("the core has this pair, or this number, already")
	}
	if r.err != nil {
		return 0, fmt.Errorf("engine: state of pair %q: %w", b.inst.Code, r.err)
	}
	c.enroll(b)
	return b.id, nil
}

func readInstrument(r *stateReader) *Instrument {
	i := &Instrument{ID: PairID(r.uint(MaxPairs - 1)), Code: r.text()}
	i.Base, i.Quote, _ = strings.Cut(i.Code, "_")
	i.DigitsPrice, i.DigitsAmount = int(r.uint(18)), int(r.uint(18))
	i.HasMinQuote, i.MinQuote = r.bool(), r.u128()
	i.State = PairState(r.uint(uint64(Halted)))
	i.MakerFee, i.TakerFee = r.u32(), r.u32()
	i.CreatedNs = r.any64()
	return i
}

func (b *book) Read(r *stateReader) {
	b.tape.seq = Seq(r.uint(1<<63 - 1))
	b.lastN = r.uint(1<<orderIDBits - 1)
	b.trade = TradeID(r.uint(1<<63 - 1))
	b.last = r.int()
	oldest := r.uint(b.lastN)
	// The whole span of the index at once: orders come by price, not by id.
	b.orders.ids.base = oldest >> pageBits
	if oldest == 0 {
		b.orders.ids.base = b.lastN >> pageBits
	}
	b.orders.ids.pages = make([]*idPage, b.lastN>>pageBits-b.orders.ids.base+1)
	for side := range b.sides {
		b.readSide(r, Side(side))
	}
	if b.sides.crossed() {
		r.fail("the book is crossed")
	}
	for side := range b.stops.sides {
		b.readStops(r, Side(side))
	}
	if n, _, _ := b.orders.ids.Next(0); n != oldest {
		r.fail("the oldest open order is %d, not %d", n, oldest)
	}
	if r.err == nil {
		b.relink(r)
		b.readClients(r)
	}
}

func (b *book) readSide(r *stateReader, side Side) {
	l := &b.sides[side]
	for range r.count() {
		price := r.int()
		if w := l.worst(); price < 1 || w != 0 && !l.better(b.orders.levels.at(w).price, price) {
			r.fail("level %d is out of order", price)
		}
		n := r.count()
		if n == 0 {
			r.fail("level %d is empty", price)
		}
		for range n {
			if r.err != nil {
				return
			}
			b.readOrder(r, side, price)
		}
	}
}

func (b *book) readOrder(r *stateReader, side Side, price int64) {
	o := order{side: side, n: b.readN(r)}
	account := AccountID(r.u32())
	bits := r.uint(1<<8 - 1)
	o.stp, o.marks = SelfTrade(bits&7), marks(bits>>3)
	o.total, o.shown = r.int(), r.int()
	r.rates(&o)
	var c coldOrder
	if o.marks&markIceberg != 0 {
		c.display, c.hidden = r.int(), r.int()
		if o.shown > c.display {
			r.fail("order %d shows more than a slice", o.n)
		}
	}
	if o.stp > Decrement || o.marks&(markStop|markEarn) != 0 || o.shown < 1 || c.hidden > o.total-o.shown ||
		!b.roomFor(side, o.shown) || !b.roomFor(side, c.hidden+o.shown) {
		r.fail("order %d does not add up", o.n)
	}
	if r.err != nil {
		return
	}
	s := b.orders.revive(o, c, account)
	b.append(s, b.orders.at(s), price, c.hidden)
}

func (r *stateReader) rates(o *order) {
	o.makerFee, o.takerFee, o.discount = r.u32(), r.u32(), r.u32()
}

// readN reads the number of an order that must be new.
func (b *book) readN(r *stateReader) uint64 {
	n := r.uint(b.lastN)
	if n == 0 || n>>pageBits < b.orders.ids.base || b.orders.ids.get(n) != 0 {
		r.fail("order %d is there twice, or out of range", n)
	}
	return n
}

// relink hangs every open order into its owner's list, by id.
func (b *book) relink(r *stateReader) {
	for n, s, ok := b.orders.ids.Next(0); ok; n, s, ok = b.orders.ids.Next(n + 1) {
		r.turns.Turn()
		if o := b.orders.at(s); o.owner != builtinOwner {
			b.orders.link(s, o)
		}
	}
}

func (b *book) readStops(r *stateReader, side Side) {
	first, before := int64(math.MaxInt64), uint64(0)
	for range r.count() {
		o := order{side: side, n: b.readN(r)}
		account := AccountID(r.u32())
		bits := r.uint(1<<8 - 1)
		o.stp, o.marks = SelfTrade(bits&7), marks(bits>>3)
		st := stopOrder{stop: r.int(), price: r.int()}
		o.shown = r.int()
		o.total = o.shown
		st.display, st.quote = r.int(), r.u128()
		st.typ, st.tif, st.flags = OrderType(r.uint(uint64(StopMarket))), TimeInForce(r.uint(uint64(FOK))), uint8(r.uint(255))
		r.rates(&o)
		if o.marks&markEarn != 0 {
			st.earn = r.u128()
		}
		key := stopKey(side, st.stop)
		if key > first || key == first && o.n < before || through(b.last, side, st.stop) {
			r.fail("stop %d is out of order or already through", o.n)
		}
		first, before = key, o.n
		limit := st.typ == StopLimit
		if o.stp > Decrement || o.marks&^(markClient|markEarn) != markStop || o.marks&markEarn != 0 && st.earn.IsZero() || st.typ < StopLimit || st.stop < 1 ||
			limit && (st.price < 1 || o.shown < 1 || st.display < 0 || st.display > o.shown || !b.roomFor(side, o.shown)) {
			r.fail("stop %d does not add up", o.n)
		}
		if r.err != nil {
			return
		}
		if limit {
			b.stops.lots[side] += o.shown
			b.slices += st.slices(o.shown)
		}
		ps := b.stops.parked.take()
		*b.stops.parked.at(ps) = st
		s := b.orders.revive(o, coldOrder{stop: ps}, account)
		b.orders.owners.slots.at(b.orders.at(s).owner).stops++
		b.stops.hang(&b.orders, s, b.orders.at(s), st.stop)
	}
}

func (b *book) readClients(r *stateReader) {
	named := 0
	inside, outside := r.count(), r.count()
	last := uint64(0)
	for i := range inside + outside {
		if i == inside {
			last = 0
		}
		n := r.uint(b.lastN)
		account, open := AccountID(r.u32()), r.bool()
		id := ClientID{Hash: r.hash(), Content: r.hash()}
		slot := b.orders.ids.get(n)
		if n <= last || b.clients.find(id.Hash) != 0 || open != (slot != 0) || !open && i >= inside ||
			open && (b.orders.at(slot).marks&markClient == 0 || b.orders.owners.account(b.orders.at(slot).owner) != account ||
				b.orders.cold.at(slot).client != 0) {
			r.fail("client id of order %d does not fit", n)
		}
		if r.err != nil {
			return
		}
		last = n
		s := b.clients.revive(&b.orders.owners, n, account, open, i < inside, &id)
		if open {
			named++
			b.orders.cold.at(slot).client = s
		}
	}
	for n, s, ok := b.orders.ids.Next(0); ok; n, s, ok = b.orders.ids.Next(n + 1) {
		r.turns.Turn()
		if b.orders.at(s).marks&markClient != 0 {
			named--
		}
	}
	if named != 0 {
		r.fail("an order lacks its client id")
	}
}
