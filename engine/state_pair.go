package engine

import (
	"crypto/sha256"
	"fmt"
	"math"

	"tickhive/engine/owners"
	"tickhive/internal/wire"
)

// pairState encodes the state of a pair or decodes it.
type pairState struct {
	walker
	b    *book
	part *partState // nil: no command is unfinished
}

// EncodePair appends the whole state of a pair; DecodePair restores it. Equal pairs have equal bytes. It
// appends nothing for an unknown pair. Only the owner's goroutine may call it.
func (c *Core) EncodePair(dst []byte, p PairID) []byte {
	b := c.book(p)
	if b == nil {
		return dst
	}
	s := pairState{walker{wire.Writer(dst)}, b, b.partState()}
	s.write()
	return s.Bytes()
}

// HashPair returns the SHA-256 of EncodePair, without the whole encoding in memory; zero for an unknown pair. It calls
// pause, unless it is nil, after every 64 KiB; the pair must not change before HashPair has returned.
func (c *Core) HashPair(p PairID, pause func()) (sum [32]byte) {
	if b := c.book(p); b != nil {
		h := sha256.New()
		s := pairState{walker{wire.Stream(wire.Pausing(h, pause))}, b, b.partState()}
		s.write()
		_ = s.End() // a hash accepts every write
		h.Sum(sum[:0])
	}
	return sum
}

func (s *pairState) write() {
	s.U64(new(uint64(StateFormat)))
	s.instrument(s.b.inst)
	s.walk()
}

// DecodePair adds the pair that EncodePair wrote. The core must not have the pair yet. After an error the core
// is unchanged. A state may exceed a limit of the options; the limit then only refuses further orders.
func (c *Core) DecodePair(data []byte) (PairID, error) {
	w := walker{wire.Reader(data)}
	if err := w.format("a pair"); err != nil {
		return 0, err
	}
	inst := &Instrument{}
	w.instrument(inst)
	b := newBook(inst, &c.opts)
	if err := inst.Validate(); err != nil {
		w.Fail("%w", err)
	}
	s := pairState{walker: w, b: b}
	s.walk() // after an error it reads zeros
	if _, ok := c.byCode[inst.Code]; ok || c.book(b.id) != nil {
		w.Fail("the core has this pair, or this number, already")
	}
	if err := w.End(); err != nil {
		return 0, fmt.Errorf("engine: state of pair %q: %w", inst.Code, err)
	}
	c.register(b)
	return b.id, nil
}

// walk encodes or decodes everything after the instrument.
func (s *pairState) walk() {
	b := s.b
	s.UpTo((*uint64)(&b.tape.seq), math.MaxInt64)
	s.UpTo(&b.lastN, 1<<orderIDBits-1)
	s.UpTo((*uint64)(&b.trade), math.MaxInt64)
	s.I63(&b.last)
	oldest, _, _ := b.orders.ids.Next(0)
	s.UpTo(&oldest, b.lastN)
	if s.Reading() {
		b.orders.ids.Span(oldest, b.lastN)
	}
	unfinished := s.part != nil
	if s.Bool(&unfinished); unfinished {
		s.codePart()
	}
	for side := range b.sides {
		s.side(Side(side))
	}
	if b.sides.crossed() { // never while it writes
		s.Fail("the book is crossed")
	}
	for side := range b.stops.sides {
		if s.Reading() {
			s.readStops(Side(side))
		} else {
			s.writeStops(Side(side))
		}
	}
	if !s.Reading() {
		s.writeClients()
		return
	}
	if s.part != nil {
		s.restorePart()
	}
	s.relink(oldest)
	s.readClients()
	if s.part != nil {
		s.linkTaker()
	}
}

func (s *pairState) side(side Side) {
	b := s.b
	l := &b.sides[side]
	levels := s.Len(l.Count())
	if !s.Reading() {
		b.walk(side, 0, func(lv *level) bool {
			s.I63(&lv.price)
			s.Len(int(lv.count))
			for i := lv.head; i != 0; {
				o := b.orders.at(i)
				account := b.orders.account(o)
				s.U64(&o.n)
				s.order(o, b.orders.cold.At(i), &account)
				i = o.next
			}
			return true
		})
		return
	}
	for range levels {
		var price int64
		s.I63(&price)
		if w := l.Lowest(); price < 1 || w != 0 && !l.better(b.orders.levels.At(w).price, price) {
			s.Fail("level %d is out of order", price)
		}
		n := s.Len(0)
		if n == 0 {
			s.Fail("level %d is empty", price)
		}
		for range n {
			s.readOrder(side, price)
		}
	}
}

func (s *pairState) readOrder(side Side, price int64) {
	b := s.b
	o, c, account := order{side: side, n: s.readN()}, coldOrder{}, AccountID(0)
	s.order(&o, &c, &account)
	if o.marks&markIceberg != 0 && o.shown > c.display {
		s.Fail("order %d shows more than a slice", o.n)
	}
	if o.stp > Decrement || o.marks&(markStop|markEarn) != 0 || o.shown < 1 || c.hidden > o.total-o.shown ||
		!b.roomFor(side, c.hidden+o.shown) {
		s.Fail("order %d does not add up", o.n)
	}
	if s.Err() != nil {
		return
	}
	i := b.orders.restore(o, c, account)
	b.append(i, b.orders.at(i), price, c.hidden)
}

// readN decodes the number of an order, which must not have occurred before.
func (s *pairState) readN() (n uint64) {
	ids := &s.b.orders.ids
	s.UpTo(&n, s.b.lastN)
	if n == 0 || ids.Get(n) != 0 {
		s.Fail("order %d is there twice, or out of range", n)
	}
	return n
}

// relink builds the owners' lists of open orders, by id.
func (s *pairState) relink(oldest uint64) {
	q := &s.b.orders
	if n, _, _ := q.ids.Next(0); n != oldest {
		s.Fail("the oldest open order is %d, not %d", n, oldest)
	}
	var turns wire.Turns
	for n, i, ok := q.ids.Next(0); ok; n, i, ok = q.ids.Next(n + 1) {
		turns.Turn()
		if o := q.at(i); o.owner != owners.Builtin {
			q.link(i, o)
		}
	}
}

func (s *pairState) writeStops(side Side) {
	q, keys := &s.b.orders, s.b.stops.sides[side]
	n := 0
	keys.Down(func(ls int32) bool {
		n += int(q.levels.At(ls).count)
		return true
	})
	s.Len(n)
	keys.Down(func(ls int32) bool {
		for i := q.levels.At(ls).head; i != 0; {
			o := q.at(i)
			account := q.account(o)
			s.U64(&o.n)
			s.stop(o, s.b.stops.parked.At(q.cold.At(i).stop), &account)
			i = o.next
		}
		return true
	})
}

func (s *pairState) readStops(side Side) {
	b := s.b
	first := int64(math.MaxInt64)
	var before uint64
	for range s.Len(0) {
		o, st, account := order{side: side, n: s.readN()}, stopOrder{}, AccountID(0)
		s.stop(&o, &st, &account)
		key := stopKey(side, st.stop)
		if key > first || key == first && o.n < before || through(b.last, side, st.stop) && s.part == nil {
			s.Fail("stop %d is out of order or already through", o.n)
		}
		first, before = key, o.n
		if i := s.restoreStop(&o, &st, account); i != 0 {
			b.stops.add(&b.orders, i, b.orders.at(i), st.stop)
		}
	}
}

// restoreStop restores a stop that was read, and returns its slot, 0 after an error. The caller
// queues it.
func (s *pairState) restoreStop(o *order, st *stopOrder, account AccountID) int32 {
	b, side, limit := s.b, o.side, st.typ == StopLimit
	o.total = o.shown
	if o.stp > Decrement || o.marks&^(markClient|markEarn) != markStop ||
		o.marks&markEarn != 0 && st.earn.IsZero() || st.typ < StopLimit || st.stop < 1 ||
		limit && (st.price < 1 || o.shown < 1 || st.display > o.shown || !b.roomFor(side, o.shown)) {
		s.Fail("stop %d does not add up", o.n)
	}
	if s.Err() != nil {
		return 0
	}
	if limit {
		b.stops.lots[side] += o.shown
		b.slices += st.slices(o.shown)
	}
	ps := b.stops.parked.Alloc()
	*b.stops.parked.At(ps) = *st
	i := b.orders.restore(*o, coldOrder{stop: ps}, account)
	b.orders.owners.At(b.orders.at(i).owner).Stops++
	return i
}

// writeClients writes the window from the oldest on, then the ids of open orders that
// have left it.
func (s *pairState) writeClients() {
	c := &s.b.clients
	inside := 0
	for range c.Window() {
		inside++
	}
	outside := c.Outside()
	s.Len(inside)
	s.Len(len(outside))
	for e := range c.Window() {
		s.writeClient(e)
	}
	for _, i := range outside {
		s.writeClient(c.At(i))
	}
}

func (s *pairState) writeClient(e *owners.Client) {
	n, account, open := e.Order(), AccountID(s.b.orders.owners.Account(e.Owner)), e.Open()
	s.U64(&n)
	s.client(&ClientID{Hash: e.Hash, Content: e.Content}, &account, &open)
}

func (s *pairState) readClients() {
	b, q := s.b, &s.b.orders
	named := 0
	inside, outside := s.Len(0), s.Len(0)
	var last uint64
	for i := range inside + outside {
		if i == inside {
			last = 0
		}
		var n uint64
		var account AccountID
		var open bool
		var id ClientID
		s.UpTo(&n, b.lastN)
		s.client(&id, &account, &open)
		slot := q.ids.Get(n)
		if n <= last || b.clients.Find(id.Hash) != 0 || open != (slot != 0) || !open && i >= inside ||
			open && (q.at(slot).marks&markClient == 0 || q.account(q.at(slot)) != account ||
				q.cold.At(slot).client != 0) {
			s.Fail("client id of order %d does not fit", n)
		}
		if s.Err() != nil {
			return
		}
		last = n
		entry := b.clients.Restore(&q.owners, owners.Client{Hash: id.Hash, Content: id.Content}, n, uint32(account),
			open, i < inside)
		if open {
			named++
			q.cold.At(slot).client = entry
		}
	}
	var turns wire.Turns
	for n, i, ok := q.ids.Next(0); ok; n, i, ok = q.ids.Next(n + 1) {
		turns.Turn()
		if q.at(i).marks&markClient != 0 {
			named--
		}
	}
	if named != 0 {
		s.Fail("an order lacks its client id")
	}
}
