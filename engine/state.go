package engine

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/engine/slots"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// StateFormat is the version of the encoding that EncodePair and EncodeControl write. A snapshot of another format is
// refused.
const StateFormat = 5

// maxStateText bounds the texts of a state.
const maxStateText = 1 << 16

// The encoding is canonical: equal states give equal bytes, whatever the slots and pages of the core. Snapshots
// and state hashes both use it. One walk method a structure serves both directions.
//
//	pair     format, instrument, seq, newest n, newest trade, last price, oldest open n,
//	         0 or 1 and the unfinished command (state.go), bids, asks, stops of a rise, of a fall,
//	         trailing buys, trailing sells, order lists, client ids
//	side     number of levels; each, best first: price, number of orders; each in queue
//	         order: n, account, bits, total, shown, rates, [display, hidden]
//	stops    number; each from the one reached first, then in queue order: n, account, side, bits, stop, price,
//	         hold, trail, amount, display, quote, type, tif, flags, state, rates
//	trailing number of groups; each from the farthest extreme on: extreme, number of orders; each in the order in
//	         which they have begun to track: as a stop
//	lists    number; each by n: n, kind, cause, brought; each of its orders: 0: it has ended, 1: it is elsewhere,
//	         2: it pends, then as a stop
//	clients  number in the window, number outside; each by n, that of a list first: n, account, open, 0 or 1:
//	         of a list, hash, content
//
// Numbers are unsigned varints, 128-bit ones two of them, texts have their length before
// them, hashes are 8 little-endian bytes a word.
type walker struct{ *wire.Coder }

// format decodes the version of the format, and reports another one.
func (w walker) format(what string) error {
	var v uint64
	if w.U64(&v); v != StateFormat && w.Err() == nil {
		return fmt.Errorf("engine: %s of state format %d cannot be read by this program, which has %d", what, v,
			StateFormat)
	}
	return nil
}

// bits64 encodes or decodes any 64 bits as an unsigned number, also times before 1970.
func (w walker) bits64(p *int64) {
	u := uint64(*p)
	if w.U64(&u); w.Reading() {
		*p = int64(u)
	}
}

func (w walker) u128(v *fixed.U128) {
	w.U64(&v.Hi)
	w.U64(&v.Lo)
}

func (w walker) i128(v *fixed.I128) {
	w.bits64(&v.Hi)
	w.U64(&v.Lo)
}

func (w walker) hash(h *[2]uint64) {
	w.Fixed64(&h[0])
	w.Fixed64(&h[1])
}

func (w walker) digits(p *int) {
	u := uint8(*p)
	if w.U8(&u, fixed.Scale); w.Reading() {
		*p = int(u)
	}
}

// name encodes or decodes the number of a pair, its code and its digits.
func (w walker) name(i *Instrument, maxID uint64, maxCode int) {
	id := uint64(i.ID)
	w.UpTo(&id, maxID)
	if w.Text(&i.Code, maxCode); w.Reading() {
		i.ID = PairID(id)
		i.Base, i.Quote, _ = strings.Cut(i.Code, "_")
	}
	w.digits(&i.DigitsPrice)
	w.digits(&i.DigitsAmount)
}

// Walk encodes or decodes an instrument of a state, except CreatedNs, which the states of books and of market data
// encode differently. Encoding only reads it: readers of views have it.
func (i *Instrument) Walk(c *wire.Coder, maxID uint64, maxCode int) {
	w := walker{c}
	w.name(i, maxID, maxCode)
	w.digits(&i.BaseDigits)
	w.digits(&i.QuoteDigits)
	limits := i.limits()
	if w.U8(&limits, allLimits); w.Reading() {
		i.HasMinQuote = limits&hasMinQuote != 0
	}
	w.u128(&i.MinQuote)
	w.optionalLimits(i, limits)
	w.U8((*uint8)(&i.State), uint8(lastState))
	w.U32(&i.MakerFee)
	w.U32(&i.TakerFee)
}

func (w walker) instrument(i *Instrument) {
	i.Walk(w.Coder, MaxPairs-1, maxStateText)
	w.bits64(&i.CreatedNs)
}

// bits encodes or decodes an order's self-trade mode, marks and number of amendments.
func (w walker) bits(o *order) {
	u := uint64(o.stp) | uint64(o.marks)<<3 | uint64(o.amends)<<8
	if w.UpTo(&u, MaxAmends<<8|math.MaxUint8); w.Reading() {
		o.stp, o.marks, o.amends = SelfTrade(u&7), marks(u&math.MaxUint8>>3), uint8(u>>8)
	}
}

func (w walker) rates(o *order) {
	w.U32(&o.makerFee)
	w.U32(&o.takerFee)
	w.U32(&o.discount)
}

// order encodes or decodes an order of a level, without its number.
func (w walker) order(o *order, c *coldOrder, account *AccountID) {
	w.U32((*uint32)(account))
	w.bits(o)
	w.I63(&o.total)
	w.I63(&o.shown)
	w.rates(o)
	if o.marks&markIceberg != 0 {
		w.I63(&c.display)
		w.I63(&c.hidden)
	}
}

// stop encodes or decodes a waiting stop, without its number.
func (w walker) stop(o *order, st *stopOrder, account *AccountID) {
	w.U32((*uint32)(account))
	w.U8((*uint8)(&o.side), uint8(Sell))
	w.bits(o)
	w.I63(&st.stop)
	w.I63(&st.price)
	w.I63(&st.hold)
	trail := uint64(st.trail)
	if w.UpTo(&trail, MaxTrail); w.Reading() {
		st.trail = uint16(trail)
	}
	w.I63(&o.shown)
	w.I63(&st.display)
	w.u128(&st.quote)
	w.U8((*uint8)(&st.typ), uint8(lastType))
	w.U8((*uint8)(&st.tif), uint8(FOK))
	flags := uint64(st.flags)
	if w.UpTo(&flags, math.MaxUint8); w.Reading() {
		st.flags = uint8(flags)
	}
	w.U8((*uint8)(&st.state), uint8(tracks))
	w.rates(o)
}

// client encodes or decodes a remembered client id, without its number.
func (w walker) client(id *ClientID, account *AccountID, open, ofList *bool) {
	w.U32((*uint32)(account))
	w.Bool(open)
	w.Bool(ofList)
	w.hash(&id.Hash)
	w.hash(&id.Content)
}

// EncodeControl appends everything that belongs to no pair: assets by symbol. Like EncodePair, it is canonical.
func (c *Core) EncodeControl(dst []byte) []byte {
	w := walker{wire.Writer(dst)}
	k := &c.control
	w.U64(new(uint64(StateFormat)))
	w.U64((*uint64)(&k.seq))
	assets := c.Assets()
	w.Len(len(assets))
	for _, a := range assets {
		w.asset(a)
	}
	return w.Bytes()
}

// HashControl returns the SHA-256 of EncodeControl.
func (c *Core) HashControl() [32]byte { return sha256.Sum256(c.EncodeControl(nil)) }

// DecodeControl replaces the registers of an empty core by the ones that EncodeControl wrote. After an error
// the core is unchanged.
func (c *Core) DecodeControl(data []byte) error {
	w := walker{wire.Reader(data)}
	if err := w.format("registers"); err != nil {
		return err
	}
	k := control{assets: map[string]*Asset{}}
	w.UpTo((*uint64)(&k.seq), 1<<63-1)
	for range w.Len(0) {
		a := &Asset{}
		w.asset(a)
		if k.assets[a.Symbol] != nil {
			w.Fail("asset %q is there twice", a.Symbol)
		}
		k.assets[a.Symbol] = a
	}
	if err := w.End(); err != nil {
		return fmt.Errorf("engine: state of the registers: %w", err)
	}
	c.control = k
	return nil
}

func (w walker) asset(a *Asset) {
	w.Text(&a.Symbol, maxStateText)
	w.Text(&a.Name, maxStateText)
	w.digits(&a.Digits)
	w.bits64(&a.UnifiedCryptoassetID)
	for _, v := range [...]*fixed.I128{&a.MinWithdraw, &a.MaxWithdraw, &a.MakerFee, &a.TakerFee} {
		w.i128(v)
	}
	for _, b := range [...]*bool{
		&a.HasMinWithdraw, &a.HasMaxWithdraw, &a.HasMakerFee, &a.HasTakerFee,
		&a.Fiat, &a.HasUnifiedID, &a.CanWithdraw, &a.CanDeposit,
	} {
		w.Bool(b)
	}
}

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
	b := newBook(inst, &c.opts, &c.ledger)
	if err := inst.Validate(); err != nil {
		w.Fail("%w", err)
	}
	s := pairState{walker: w, b: b}
	s.walk() // after an error it reads zeros
	if _, ok := c.byCode[inst.Code]; ok || c.book(b.id) != nil {
		w.Fail("the core has this pair, or this number, already")
	}
	if !c.digitsFit(inst) {
		w.Fail("%s or %s has other digits in another pair", inst.Base, inst.Quote)
	}
	if err := w.End(); err != nil {
		return 0, fmt.Errorf("engine: state of pair %q: %w", inst.Code, err)
	}
	c.register(b)
	return b.id, nil
}

// digitsFit reports whether the digits of a pair are those of the other pairs.
func (c *Core) digitsFit(i *Instrument) bool {
	base, ok := c.digits[i.Base]
	quote, also := c.digits[i.Quote]
	return (!ok || base == i.BaseDigits) && (!also || quote == i.QuoteDigits)
}

// walk encodes or decodes everything after the instrument.
func (s *pairState) walk() {
	b := s.b
	s.UpTo((*uint64)(&b.stream.seq), math.MaxInt64)
	s.UpTo(&b.lastN, 1<<orderIDBits-1)
	s.UpTo((*uint64)(&b.trade), math.MaxInt64)
	s.UpTo((*uint64)(&b.prevented), math.MaxInt64)
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
	for way := range b.stops.ways {
		if s.Reading() {
			s.readStops(direction(way))
		} else {
			s.writeStops(direction(way))
		}
	}
	for side := range b.stops.trails {
		if s.Reading() {
			s.readTrails(Side(side))
		} else {
			s.writeTrails(Side(side))
		}
	}
	if !s.Reading() {
		s.writeLists()
		s.writeClients()
		return
	}
	if s.part != nil {
		s.restorePart()
	}
	s.readLists()
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
	if o.stp > Decrement || o.marks&markStop != 0 || o.shown < 1 || c.hidden > o.total-o.shown ||
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

func (s *pairState) writeStops(way direction) {
	q, keys := &s.b.orders, s.b.stops.ways[way]
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

func (s *pairState) readStops(way direction) {
	b := s.b
	first := int64(math.MaxInt64)
	for range s.Len(0) {
		o, st, account := order{n: s.readN()}, stopOrder{}, AccountID(0)
		s.stop(&o, &st, &account)
		key := stopKey(way, st.stop)
		if st.state != waits || key > first || st.way(o.side) != way || through(b.last, way, st.stop) && s.part == nil {
			s.Fail("stop %d is out of order or already through", o.n)
		}
		first = key
		if i := s.restoreStop(&o, &st, account); i != 0 {
			b.stops.add(&b.orders, i, b.orders.at(i))
		}
	}
}

func (s *pairState) writeTrails(side Side) {
	b := s.b
	t := &b.stops.trails[side]
	s.Len(len(t.groups) - t.empty)
	var orders []*stopOrder
	for i := range t.groups {
		g := &t.groups[i]
		if g.first == 0 {
			continue
		}
		orders = b.stops.heap(orders[:0], g.first)
		s.I63(&g.extreme)
		s.Len(len(orders))
		for _, st := range orders {
			o := b.orders.at(st.slot)
			account := b.orders.account(o)
			s.U64(&o.n)
			s.stop(o, st, &account)
		}
	}
}

func (s *pairState) readTrails(side Side) {
	b := s.b
	t := &b.stops.trails[side]
	for range s.Len(0) {
		g := trailGroup{from: t.joined + 1}
		s.I63(&g.extreme)
		last := len(t.groups) - 1
		if g.extreme < 1 || s.part == nil &&
			(side.beyond(b.last, g.extreme) || last >= 0 && !side.beyond(t.groups[last].extreme, g.extreme)) {
			s.Fail("the extreme %d is out of order", g.extreme)
		}
		orders := s.Len(0)
		if orders == 0 {
			s.Fail("no order has the extreme %d", g.extreme)
		}
		if s.Err() != nil {
			return
		}
		t.groups = append(t.groups, g)
		for range orders {
			o, st, account := order{n: s.readN()}, stopOrder{}, AccountID(0)
			s.stop(&o, &st, &account)
			end, ok := trailEnd(side, g.extreme, st.trail)
			if st.trail == 0 || st.state != tracks || o.side != side ||
				ok && through(b.last, endOf(side), end) && s.part == nil {
				s.Fail("order %d does not trail, or is already through", o.n)
			}
			i := s.restoreStop(&o, &st, account)
			if i == 0 {
				return
			}
			b.joinLast(t, i, b.orders.at(i), g.extreme)
		}
	}
}

// restoreStop restores a stop that was read, and returns its slot, 0 after an error. The caller
// queues it.
func (s *pairState) restoreStop(o *order, st *stopOrder, account AccountID) int32 {
	b, side, limit := s.b, o.side, !st.typ.AtMarket()
	o.total = o.shown
	kept := st.state == pends || st.state == due
	holds := st.typ.Waits() && !limit && side == Buy && st.flags&FlagQuote == 0 && account != 0
	if o.stp > Decrement || o.marks&^(markClient|markList) != markStop || holds != (st.hold != 0) ||
		!kept && (!st.typ.Waits() || limit && o.shown < 1) || kept && o.marks&markList == 0 ||
		st.typ.Waits() && st.trail == 0 && st.stop == 0 || st.trail != 0 && !validTrail(st.trail) ||
		limit && (st.price < 1 || !b.roomFor(side, o.shown)) {
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
	n, account, open, ofList := e.Order(), AccountID(s.b.orders.owners.Account(e.Owner)), e.Open(), e.OfList()
	s.U64(&n)
	s.client(&ClientID{Hash: e.Hash, Content: e.Content}, &account, &open, &ofList)
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
		var open, ofList bool
		var id ClientID
		s.UpTo(&n, b.lastN)
		s.client(&id, &account, &open, &ofList)
		key := owners.Key(n, ofList)
		entry, fits := s.clientOf(n, account, ofList)
		if key <= last || b.clients.Find(id.Hash) != 0 || open != (entry != nil) || !open && i >= inside || !fits {
			s.Fail("client id of order %d does not fit", n)
		}
		if s.Err() != nil {
			return
		}
		last = key
		c := b.clients.Restore(&q.owners, owners.Client{Hash: id.Hash, Content: id.Content}, key, uint32(account),
			open, i < inside)
		if open {
			*entry = c
			if !ofList {
				named++
			}
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

// clientOf returns the place of the client id of an open order, or of the open list that begins with it, nil: it is not
// open. fits is false when it has none or has it already.
func (s *pairState) clientOf(n uint64, account AccountID, ofList bool) (entry *int32, fits bool) {
	b, q := s.b, &s.b.orders
	if ofList {
		for ls := b.lists.oldest; ls != 0; ls = b.lists.at(ls).newer {
			if l := b.lists.at(ls); l.n == n {
				return &l.client, l.client == 0 && AccountID(q.owners.Account(l.owner)) == account
			}
		}
		return nil, true
	}
	slot := q.ids.Get(n)
	if slot == 0 {
		return nil, true
	}
	entry = &q.cold.At(slot).client
	return entry, q.at(slot).marks&markClient != 0 && q.account(q.at(slot)) == account && *entry == 0
}

// writeLists writes the open order lists, and their pending orders.
func (s *pairState) writeLists() {
	b := s.b
	s.Len(b.lists.all.InUse())
	for ls := b.lists.oldest; ls != 0; ls = b.lists.at(ls).newer {
		l := b.lists.at(ls)
		s.list(l)
		for _, i := range l.orders[:l.kind.Orders()] {
			where := uint8(ended)
			if i != 0 {
				if where = elsewhere; b.pends(i) {
					where = pending
				}
			}
			if s.U8(&where, pending); where == pending {
				o := b.orders.at(i)
				account := b.orders.account(o)
				s.stop(o, b.stops.parked.At(b.orders.cold.At(i).stop), &account)
			}
		}
	}
}

// Where the state has an order of a list.
const (
	ended uint8 = iota
	elsewhere
	pending
)

// pends reports whether an order is kept back by its list, in no queue.
func (b *book) pends(i int32) bool {
	return b.orders.at(i).marks&markStop != 0 && b.stops.parked.At(b.orders.cold.At(i).stop).state == pends
}

func (w walker) list(l *list) {
	w.U64(&l.n)
	w.U8((*uint8)(&l.kind), uint8(lastList))
	w.U8((*uint8)(&l.cause), math.MaxUint8)
	w.u128(&l.brought)
}

// readLists reads the order lists behind all other orders.
func (s *pairState) readLists() {
	b, last, linked := s.b, uint64(0), 0
	for range s.Len(0) {
		l := list{}
		s.list(&l)
		before := last
		last = l.n + uint64(l.kind.Orders()) - 1
		if l.n <= before || last < l.n || last > b.lastN || l.kind == NoList {
			s.Fail("list %d is out of order", l.n)
		}
		if l.cause > CauseOperator && l.cause != causeFilled {
			s.Fail("list %d has no cause %d", l.n, l.cause)
		}
		if s.Err() != nil {
			return
		}
		ls := b.lists.add(l)
		linked += s.readListed(b.lists.at(ls), ls)
		if s.Err() != nil {
			return
		}
		if s.part == nil && !b.sound(b.lists.at(ls)) {
			s.Fail("list %d does not add up", l.n)
			return
		}
	}
	var turns wire.Turns
	for n, i, ok := b.orders.ids.Next(0); ok; n, i, ok = b.orders.ids.Next(n + 1) {
		if turns.Turn(); b.orders.at(i).marks&markList != 0 {
			linked--
		}
	}
	if linked != 0 {
		s.Fail("an order lacks its list")
	}
}

// readListed reads the orders of a list and returns how many are open.
func (s *pairState) readListed(l *list, ls int32) (open int) {
	b := s.b
	for at := range l.kind.Orders() {
		n, where := l.n+uint64(at), uint8(0)
		s.U8(&where, pending)
		i := int32(0)
		switch where {
		case ended:
			continue
		case pending:
			o, st, account := order{n: n}, stopOrder{}, AccountID(0)
			if n > b.lastN || b.orders.ids.Get(n) != 0 {
				s.Fail("order %d is there twice, or out of range", n)
			}
			if s.stop(&o, &st, &account); st.state != pends {
				s.Fail("order %d does not pend", n)
			}
			i = s.restoreStop(&o, &st, account)
		default:
			i = b.orders.ids.Get(n)
		}
		if i == 0 || b.orders.at(i).marks&markList == 0 || l.owner != 0 && l.owner != b.orders.at(i).owner ||
			b.listOf(i, b.orders.at(i)) != 0 {
			s.Fail("order %d of a list does not fit", n)
			return 0
		}
		if l.orders[at] = i; l.owner == 0 {
			l.owner = b.orders.at(i).owner
			b.orders.owners.At(l.owner).Lists++
		}
		b.setList(i, ls)
		open++
	}
	if open == 0 {
		s.Fail("list %d has no order", l.n)
	}
	return open
}

// sound reports whether the orders of a list fit together. No command of the pair is unfinished.
func (b *book) sound(l *list) bool {
	legs := l.orders[l.kind.Leg():l.kind.Orders()]
	works, most := l.kind.Works() && l.orders[0] != 0, fixed.U128{}
	if works {
		o := b.orders.at(l.orders[0])
		if o.marks&markStop != 0 || l.kind.Brings() && o.side != Buy || slices.Contains(legs, 0) {
			return false
		}
		if l.kind.Brings() {
			most = b.inst.BaseUnits(o.total - o.shown - b.orders.hidden(l.orders[0], o))
		}
	}
	return !most.Less(l.brought) &&
		!slices.ContainsFunc(legs, func(i int32) bool { return i != 0 && !b.soundLeg(l, i, works) })
}

// soundLeg reports whether an order that does not work fits its list, whose working order is open or not.
func (b *book) soundLeg(l *list, i int32, works bool) bool {
	o, x := b.orders.at(i), l.other(i)
	if b.pends(i) != works ||
		o.marks&markStop != 0 && b.stops.parked.At(b.orders.cold.At(i).stop).flags&FlagQuote != 0 ||
		works && l.kind.Brings() != (o.total == 0) || works && l.kind.Brings() && o.side != Sell {
		return false
	}
	if x == 0 {
		return true
	}
	p := b.orders.at(x)
	return p.side == o.side && p.total == o.total && o.total == o.shown+b.orders.hidden(i, o) &&
		(o.marks|p.marks)&markStop != 0
}

// setList notes the list of an order.
func (b *book) setList(i, ls int32) {
	c := b.orders.cold.At(i)
	if b.orders.at(i).marks&markStop != 0 {
		b.stops.parked.At(c.stop).list = ls
	} else {
		c.stop = ls
	}
}

// partState is the unfinished command of a pair as the state has it:
//
//	part     0 or 1 and the record of its command, first number to cancel, canceled;
//	         0 or 1 and the taker: n, account, client, list, amendments, due, side, market, type, limits, amounts,
//	         rates;
//	         walk over the other side: need, cost, price, n, hidden;
//	         wave; number of reached stops; each in the order in which they are triggered:
//	         wave, n, then as a waiting stop
type partState struct {
	continuation
	record  []byte
	account AccountID // of the taker
	named   bool      // the taker has a client id
	listed  bool      // the taker is of a list
	amends  uint8     // how often the taker was amended
	stops   []reachedState
}

type reachedState struct {
	wave    uint32
	order   order
	stop    stopOrder
	account AccountID
}

// partState returns the unfinished command of b, nil for none.
func (b *book) partState() *partState {
	if b.unfinished == nil {
		return nil
	}
	p := &partState{continuation: *b.unfinished}
	if p.cmd != nil {
		p.record = AppendCommand(nil, p.cmd)
	}
	if p.taker != nil {
		p.account, p.named, p.listed = p.taker.account, p.taker.client != 0, p.taker.list != 0
		p.amends = b.orders.at(p.taker.slot).amends
	}
	queue := slices.DeleteFunc(slices.Clone(b.stops.queue), func(q slots.Queued) bool { return !b.awaits(q) })
	slices.SortFunc(queue, slots.Queued.Compare)
	p.stops = make([]reachedState, len(queue))
	for i, r := range queue {
		o := b.orders.at(r.Slot)
		p.stops[i] = reachedState{r.Wave, *o, *b.stops.parked.At(b.orders.cold.At(r.Slot).stop), b.orders.account(o)}
	}
	return p
}

// codePart codes the unfinished command.
func (s *pairState) codePart() {
	if s.Reading() {
		s.part = &partState{}
	}
	p, b := s.part, s.b
	s.codeCommand(p)
	hasTaker := p.taker != nil
	if s.Bool(&hasTaker); hasTaker {
		if s.Reading() {
			p.taker = &taker{}
		}
		s.codeTaker(p, p.taker)
	}
	at := &b.scan
	s.I63(&at.need)
	s.u128(&at.cost)
	s.I63(&at.sold)
	s.I63(&at.price)
	s.UpTo(&at.n, b.lastN)
	s.I63(&at.hidden)
	s.U32(&b.stops.wave)
	n := s.Len(len(p.stops))
	for i := range n {
		if s.Err() != nil {
			return
		}
		if s.Reading() {
			p.stops = append(p.stops, reachedState{})
		}
		r := &p.stops[i]
		s.U32(&r.wave)
		s.U64(&r.order.n)
		s.stop(&r.order, &r.stop, &r.account)
	}
	if !p.sound(at) {
		s.Fail("the unfinished command does not add up")
	}
}

// sound reports whether the command or the taker of p may be in the walk at, or in none.
func (p *partState) sound(at *scan) bool {
	t, walks := p.taker, at.need != 0
	switch {
	case at.cost.Hi >= 1<<62:
		return false // reach adds less than 2^126
	case p.cmd != nil:
		return t == nil && walks == (p.cmd.Kind != CancelAll)
	case t == nil:
		return !walks
	case t.due:
		return walks && t.byAmount() && t.typ == Market
	case t.stop != 0:
		return walks && t.asks() && t.typ.Waits() && t.typ.AtMarket()
	}
	return !walks || t.tif == FOK && !t.market
}

func (s *pairState) codeCommand(p *partState) {
	has := p.cmd != nil
	if s.Bool(&has); !has {
		return
	}
	text := string(p.record)
	if s.Text(&text, maxStateText); s.Reading() {
		p.cmd = &Command{}
		if err := DecodeCommand([]byte(text), p.cmd); err != nil ||
			p.cmd.Kind != Place && p.cmd.Kind != PlaceList && p.cmd.Kind != CancelAll || p.cmd.Pair != s.b.id {
			s.Fail("the unfinished command is none: %v", err)
		}
	}
	s.U64(&p.from)
	s.Bool(&p.canceled)
}

func (s *pairState) codeTaker(p *partState, t *taker) {
	s.UpTo(&t.n, s.b.lastN)
	s.U32((*uint32)(&p.account))
	s.Bool(&p.named)
	s.Bool(&p.listed)
	s.U8(&p.amends, MaxAmends)
	s.Bool(&t.due)
	s.U8((*uint8)(&t.side), uint8(Sell))
	s.Bool(&t.market)
	s.U8((*uint8)(&t.typ), uint8(lastType))
	s.U8((*uint8)(&t.tif), uint8(FOK))
	s.U8((*uint8)(&t.stp), uint8(Decrement))
	s.U8(&t.flags, math.MaxUint8)
	for _, v := range [...]*int64{&t.limit, &t.left, &t.filled, &t.display, &t.was, &t.found, &t.stop, &t.hold} {
		s.I63(v)
	}
	s.Bool(&t.capped)
	s.u128(&t.money)
	s.I63(&t.sells)
	s.U32(&t.makerFee)
	s.U32(&t.takerFee)
	s.U32(&t.discount)
	if s.Reading() {
		t.cause, t.account = CauseRemainder, p.account
	}
}

// restorePart restores the taker and the reached stops of a book that is read.
func (s *pairState) restorePart() {
	b, p := s.b, s.part
	if t := p.taker; t != nil {
		if t.n == 0 || b.orders.ids.Get(t.n) != 0 || t.left < 1 || t.limit < 1 {
			s.Fail("the unfinished order %d does not add up", t.n)
		}
		o := order{
			n: t.n, side: t.side, stp: t.stp, makerFee: t.makerFee, takerFee: t.takerFee, discount: t.discount,
			amends: p.amends,
		}
		if p.named {
			o.marks = markClient
		}
		if p.listed {
			o.marks |= markList
		}
		t.id = MakeOrderID(b.id, t.n)
		t.slot = b.orders.restore(o, coldOrder{}, p.account)
		t.owner = b.orders.at(t.slot).owner
	}
	if at := &b.scan; at.hidden > 0 && at.hidden > b.hiddenAt(at.price) {
		s.Fail("the walk has passed %d hidden lots", at.hidden)
	}
	before := slots.Queued{}
	for i := range p.stops {
		r := &p.stops[i]
		now := slots.Queued{N: r.order.n, Wave: r.wave}
		n := r.order.n
		if n == 0 || n > b.lastN || b.orders.ids.Get(n) != 0 || before.Compare(now) >= 0 || r.wave > b.stops.wave ||
			r.stop.state == pends || r.stop.state == tracks || r.stop.state == waits && r.stop.stop == 0 {
			s.Fail("the reached stop %d is out of order", n)
		}
		before = now
		now.Slot = s.restoreStop(&r.order, &r.stop, r.account)
		b.stops.queue = append(b.stops.queue, now) // sorted, so it is a heap
	}
	c := p.continuation
	b.unfinished = &c
}

// hiddenAt returns the hidden lots of the orders of a price.
func (b *book) hiddenAt(price int64) (lots int64) {
	for side := range b.sides {
		if ls := b.sides[side].find(&b.orders.levels, price); ls != 0 {
			lots += b.orders.levels.At(ls).hidden
		}
	}
	return lots
}

// linkTaker gives the taker the client id that was read after it.
func (s *pairState) linkTaker() {
	if t := s.part.taker; t != nil {
		c := s.b.orders.cold.At(t.slot)
		if s.part.named {
			t.client = c.client
		}
		if s.part.listed {
			t.list = c.stop
		}
	}
}
