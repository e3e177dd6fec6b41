package marketdata

import (
	"fmt"
	"math"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/wire"
)

// The history is encoded as: format, number of accounts, pairs with 1 + the number of their first page, open
// orders by pair and number, remembered and closed orders by their end, fills from the oldest on, order lists,
// amendments and prevented matches. The decoder rebuilds lists and links. The encoding is a function of the events. The
// state hash does not include it.

// historyFormat is the version of the encoding. The decoder refuses any other one.
const historyFormat = 5

// maxAccounts limits the list of accounts that a snapshot can create.
const maxAccounts = 200_000_000

// AppendHistoryState appends the whole order history. The owner calls it between commands.
func (f *Feed) AppendHistoryState(dst []byte) []byte { return f.history.append(dst) }

// What an order and a fill of the simulated market take, about.
const orderBytes, fillBytes = 100, 24

func (h *History) append(dst []byte) []byte {
	h.endCommand()
	// Room for all at once: growing it by append would copy tens of megabytes again and again.
	orders := h.open.InUse() + int(h.remembered.end-h.remembered.first()+h.closed.end-h.closed.first())
	fills := int(h.fills.end - h.fills.first())
	w := walker{wire.Writer(slices.Grow(dst, orders*orderBytes+fills*fillBytes))}
	w.U64(new(uint64(historyFormat)))
	w.Len(len(h.accounts))
	w.Len(len(h.pairs))
	for _, p := range h.pairs {
		base := uint64(0)
		if p != nil {
			base = p.orders.first()
		}
		w.U64(&base)
	}
	w.Len(h.open.InUse())
	for _, p := range h.pairs {
		if p != nil {
			p.orders.eachOpen(h, func(o *orderRec) { h.walkOrder(w, o) })
		}
	}
	for _, r := range []*ring[orderRec]{&h.remembered, &h.closed} {
		w.Len(int(r.end - r.first()))
		for n := r.first(); n < r.end; n++ {
			h.walkOrder(w, r.at(n))
		}
	}
	w.Len(int(h.fills.end - h.fills.first()))
	for n := h.fills.first(); n < h.fills.end; n++ {
		w.fill(h.fills.at(n))
	}
	h.walkLists(w)
	h.walkNotes(w)
	return w.Bytes()
}

// first returns 1 + the number of the first page that contains an order, 0 when no page does.
func (x *orderIndex) first() uint64 {
	for k, p := range x.pages {
		if p != nil {
			return x.base + uint64(k) + 1
		}
	}
	return 0
}

// eachOpen calls yield for the open orders of a pair, by number.
func (x *orderIndex) eachOpen(h *History, yield func(*orderRec)) {
	for k, page := range x.pages {
		if page == nil {
			continue
		}
		for i, at := range page {
			if at&^placeMask != inOpen {
				continue
			}
			o := h.open.At(int32(at & placeMask))
			if n := (x.base+uint64(k))*idPageOrders + uint64(i); o.status.Open() && o.id.N() == n && x.get(o.id) == at {
				yield(o)
			}
		}
	}
}

// DecodeHistoryState restores the bytes of AppendHistoryState. The feed must have its pairs decoded and no
// event folded since. Orders and fills beyond the limits in force are dropped. After an error the feed must not
// be used.
func (f *Feed) DecodeHistoryState(data []byte) error {
	h, restored := f.history, f.history.restored
	*h = *newHistory(f.opts) // in place, because readers on the owner's goroutine hold the pointer
	h.restored = restored + 1
	h.pairs = f.pairs
	w := walker{wire.Reader(data)}
	h.read(w)
	if err := w.End(); err != nil {
		return fmt.Errorf("marketdata: state of the order history: %w", err)
	}
	return nil
}

func (h *History) read(w walker) {
	format := uint64(0)
	if w.U64(&format); format != historyFormat {
		w.Fail("an order history of format %d cannot be read by this program, which has %d", format, historyFormat)
	}
	accounts := uint64(0)
	if w.U64(&accounts); accounts > maxAccounts {
		w.Fail("%d accounts", accounts)
	}
	if pairs := w.Len(0); pairs != len(h.pairs) {
		w.Fail("%d pairs, but %d were read", pairs, len(h.pairs))
	}
	if w.Err() != nil {
		return
	}
	h.accounts = make([]accountState, max(accounts, 1))
	for _, p := range h.pairs {
		base := uint64(0)
		if w.U64(&base); p != nil && base > 0 {
			// One more order holds the first page: lower limits evict orders before those of lower numbers are read.
			p.orders = orderIndex{base: base - 1, pages: []*idPage{{}}, counts: []uint16{1}}
			defer p.orders.forget(engine.MakeOrderID(p.id, (base-1)*idPageOrders))
		}
	}
	h.readOpen(w)
	for range w.Len(0) {
		if o := h.readOrder(w); o != nil {
			h.pushRemembered(o)
		}
	}
	for range w.Len(0) {
		if o := h.readOrder(w); o != nil {
			h.pairs[o.id.Pair()].orders.add(o.id, inClosed|location(h.closed.next))
			h.pushClosed(o)
		}
	}
	for range w.Len(0) {
		var f fillRec
		if w.fill(&f); !h.checkFill(w, &f) {
			return
		}
		h.pushFill(&f)
	}
	h.walkLists(w)
	h.walkNotes(w)
}

func (h *History) readOpen(w walker) {
	var slots []int32
	for range w.Len(0) {
		o := h.readOrder(w)
		if o == nil {
			return
		}
		i := h.open.Alloc()
		*h.open.At(i) = *o
		h.pairs[o.id.Pair()].orders.add(o.id, inOpen|location(i))
		if o.account != 0 { // the built-in account has no list, see linkOpen
			slots = append(slots, i)
		}
	}
	var turns wire.Turns
	slices.SortFunc(slots, func(a, b int32) int {
		turns.Turn()
		return newer(h.open.At(b), h.open.At(a))
	})
	for _, i := range slots {
		turns.Turn()
		h.linkOpen(i, h.open.At(i))
	}
}

// readOrder reads the next order; it returns nil for an invalid one.
func (h *History) readOrder(w walker) *orderRec {
	if w.Err() != nil {
		return nil
	}
	o := &orderRec{}
	h.walkOrder(w, o)
	if p := int(o.id.Pair()); p >= len(h.pairs) || h.pairs[p] == nil || o.id.N()/idPageOrders < h.pairs[p].orders.base {
		w.Fail("order %d belongs to no pair", o.id)
	}
	if int(o.account) >= len(h.accounts) {
		w.Fail("order %d belongs to no account", o.id)
	}
	if w.Err() != nil {
		return nil
	}
	return o
}

func (h *History) checkFill(w walker, f *fillRec) bool {
	if p := int(f.taker.Pair()); p >= len(h.pairs) || h.pairs[p] == nil || f.maker.Pair() != f.taker.Pair() ||
		int(max(f.takerAccount, f.makerAccount)) >= len(h.accounts) {
		w.Fail("trade %d belongs to no pair or account", f.trade)
	}
	return w.Err() == nil
}

func (h *History) pushRemembered(o *orderRec) {
	place := h.remembered.next
	if h.remembered.full() {
		h.forget(h.remembered.atPlace(place))
	}
	*h.remembered.push() = *o
	h.pairs[o.id.Pair()].orders.add(o.id, inRemembered|location(place))
}

// pushFill appends a fill and links it into the lists of its orders and accounts.
func (h *History) pushFill(f *fillRec) {
	n := h.fills.end
	var noTaker, noMaker uint64 // receive the link of an order that is no longer retained
	taker, maker := &noTaker, &noMaker
	if o, _ := h.lookup(f.taker); o != nil {
		taker = &o.lastFill
	}
	if o, _ := h.lookup(f.maker); o != nil {
		maker = &o.lastFill
	}
	f.takerPrev, f.makerPrev = distance(n, *taker), distance(n, *maker)
	*taker, *maker = n+1, n+1
	ta, ma := &h.accounts[f.takerAccount], &h.accounts[f.makerAccount]
	f.takerAccountPrev, f.makerAccountPrev = distance(n, ta.fill), distance(n, ma.fill)
	ta.fill, ma.fill = n+1, n+1
	*h.newFill() = *f
	ta.fillCount++
	ma.fillCount++
}

func (h *History) walkOrder(w walker, o *orderRec) {
	w.U64((*uint64)(&o.id))
	w.U32((*uint32)(&o.account))
	w.U8((*uint8)(&o.side), 1)
	w.U8((*uint8)(&o.typ), uint8(engine.TakeMarket))
	w.U8((*uint8)(&o.tif), uint8(engine.FOK))
	w.U8((*uint8)(&o.stp), uint8(engine.Decrement))
	w.U8(&o.flags, 255)
	w.status(&o.status)
	w.cause(&o.cause)
	marks := o.bits / bitTriggered
	w.U8(&marks, (bitTriggered|bitKept)/bitTriggered)
	for _, v := range [...]*int64{&o.price, &o.amount, &o.filled, &o.open, &o.createdNs, &o.changedNs} {
		w.I64(v)
	}
	if w.Reading() {
		o.bits = bitPlaced | marks*bitTriggered
	}
	w.u128(&o.filledQuote)
	w.u128(&o.fee)
	w.seq(&o.seq)
	has := o.extra != 0
	w.Bool(&has)
	if !has {
		return
	}
	h.walkExtra(w, h.extra(o))
}

func (h *History) walkExtra(w walker, x *orderExtra) {
	w.Bool(&x.firstTriggered)
	w.Bool(&x.firstTracks)
	for _, v := range [...]*int64{
		&x.stop, &x.display, &x.trackNs, &x.firstPrice, &x.firstAmount, &x.firstFilled, &x.firstOpen, &x.firstStop,
	} {
		w.I64(v)
	}
	w.U8(&x.list, engine.MaxListOrders)
	w.trail(&x.trail)
	w.trail(&x.firstTrail)
	w.U64(&x.prevented)
	w.U64(&x.firstPrevented)
	w.u128(&x.quote)
	w.u128(&x.firstFilledQuote)
	w.seq(&x.firstSeq)
	w.status(&x.firstStatus)
	// Number the fills from the oldest retained one on; the encoded value is that number + 1.
	first := uint64(0)
	if begin := h.fills.first(); x.firstFill > begin {
		first = x.firstFill - begin
	}
	if w.U64(&first); w.Reading() {
		x.firstFill = first
	}
	w.client(&x.client)
}

// maxClientText is the largest length of a client id.
const maxClientText = 64

// client encodes or decodes a client id with the labels of its order, or that there is none.
func (w walker) client(p **engine.ClientID) {
	has := *p != nil
	if w.Bool(&has); !has {
		return
	}
	if w.Reading() {
		*p = &engine.ClientID{}
	}
	c := *p
	w.Text(&c.Text, maxClientText)
	for _, v := range [...]*uint64{&c.Hash[0], &c.Hash[1], &c.Content[0], &c.Content[1]} {
		w.U64(v)
	}
	for _, label := range [...]**int64{&c.Strategy, &c.StrategyType} {
		given := *label != nil
		if w.Bool(&given); !given {
			continue
		}
		if w.Reading() {
			*label = new(int64)
		}
		w.I64(*label)
	}
}

func (w walker) status(v *engine.Status) { w.U8((*uint8)(v), uint8(engine.Pending)) }

func (w walker) cause(v *engine.CancelCause) { w.U8((*uint8)(v), uint8(engine.CauseOperator)) }

func (w walker) trail(v *uint16) {
	n := uint64(*v)
	w.UpTo(&n, math.MaxUint16)
	*v = uint16(n)
}

func (w walker) fill(f *fillRec) {
	for _, v := range [...]*uint64{(*uint64)(&f.trade), (*uint64)(&f.taker), (*uint64)(&f.maker)} {
		w.U64(v)
	}
	w.I64(&f.timeNs)
	w.positive(&f.price)
	w.positive(&f.amount)
	for _, v := range [...]*uint32{
		&f.takerFee, &f.takerDiscount, &f.makerFee, &f.makerDiscount,
		(*uint32)(&f.takerAccount), (*uint32)(&f.makerAccount),
	} {
		w.U32(v)
	}
	w.U8((*uint8)(&f.side), 1)
}
