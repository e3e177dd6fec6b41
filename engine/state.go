package engine

import (
	"crypto/sha256"
	"encoding/binary"

	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

// StateFormat is the version of the encoding that EncodePair and EncodeControl write. A
// snapshot of another format is refused.
const StateFormat = 1

// The encoding is canonical: equal states give equal bytes, whatever slots and pages a
// core has used to get there. So one encoding serves snapshots and state hashes.
//
//	pair     format, instrument, seq, newest n, newest trade, last price, oldest open n,
//	         bids, asks, buy stops, sell stops, client ids
//	side     number of levels; each, best first: price, number of orders; each in queue
//	         order: n, account, bits, total, shown, rates, [display, hidden]
//	stops    number; each from the one reached first, then by acceptance: n, account, bits, stop, price,
//	         amount, display, quote, type, tif, flags, rates, [earn limit]
//	clients  number in the window, number outside; each by n: n, account, open, hash, content
//
// Numbers are unsigned varints, 128-bit ones two of them, texts have their length before
// them, hashes are 8 little-endian bytes a word.
type stateWriter struct {
	buf   []byte
	sink  func([]byte) // nil: keep everything
	turns wire.Turns
}

// stateChunk is how much is gathered before the sink gets it.
const stateChunk = 64 << 10

func (w *stateWriter) uint(v uint64) {
	w.turns.Turn()
	w.buf = binary.AppendUvarint(w.buf, v)
}

func (w *stateWriter) int(v int64) { w.uint(uint64(v)) }

func (w *stateWriter) u128(v fixed.U128) {
	w.uint(v.Hi)
	w.uint(v.Lo)
}

func (w *stateWriter) bool(v bool) {
	if v {
		w.buf = append(w.buf, 1)
		return
	}
	w.buf = append(w.buf, 0)
}

func (w *stateWriter) text(s string) {
	w.uint(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *stateWriter) hash(h [2]uint64) {
	w.buf = binary.LittleEndian.AppendUint64(w.buf, h[0])
	w.buf = binary.LittleEndian.AppendUint64(w.buf, h[1])
}

// pass hands on what was gathered when it is enough.
func (w *stateWriter) pass(least int) {
	if w.sink != nil && len(w.buf) >= least {
		w.sink(w.buf)
		w.buf = w.buf[:0]
	}
}

// EncodePair appends everything that a pair is: DecodePair makes the same pair of it, and
// equal pairs have equal bytes. Nothing for an unknown pair. For the owner goroutine.
func (c *Core) EncodePair(dst []byte, p PairID) []byte {
	w := stateWriter{buf: dst}
	if b := c.book(p); b != nil {
		b.write(&w)
	}
	return w.buf
}

// HashPair is the SHA-256 of EncodePair, made without holding all of it; zero for an
// unknown pair.
func (c *Core) HashPair(p PairID) (sum [32]byte) {
	b := c.book(p)
	if b == nil {
		return sum
	}
	h := sha256.New()
	w := stateWriter{buf: make([]byte, 0, 2*stateChunk), sink: func(part []byte) { h.Write(part) }}
	b.write(&w)
	w.pass(0)
	h.Sum(sum[:0])
	return sum
}

func (b *book) write(w *stateWriter) {
	w.uint(StateFormat)
	b.inst.write(w)
	w.uint(uint64(b.tape.seq))
	w.uint(b.lastN)
	w.uint(uint64(b.trade))
	w.int(b.last)
	oldest, _, _ := b.orders.ids.Next(0)
	w.uint(oldest)
	for side := range b.sides {
		b.writeSide(w, Side(side))
	}
	for side := range b.stops.sides {
		b.writeStops(w, Side(side))
	}
	b.writeClients(w)
}

func (i *Instrument) write(w *stateWriter) {
	w.uint(uint64(i.ID))
	w.text(i.Code)
	w.uint(uint64(i.DigitsPrice))
	w.uint(uint64(i.DigitsAmount))
	w.bool(i.HasMinQuote)
	w.u128(i.MinQuote)
	w.uint(uint64(i.State))
	w.uint(uint64(i.MakerFee))
	w.uint(uint64(i.TakerFee))
	w.int(i.CreatedNs)
}

func (b *book) writeSide(w *stateWriter, side Side) {
	w.uint(uint64(b.sides[side].count()))
	b.walk(side, 0, func(lv *level) {
		w.int(lv.price)
		w.uint(uint64(lv.count))
		for s := lv.head; s != 0; {
			o := b.orders.at(s)
			b.writeOrder(w, s, o)
			s = o.next
			w.pass(stateChunk)
		}
	})
}

// bits of an order: its self-trade mode and marks.
func (o *order) bits() uint64 { return uint64(o.stp) | uint64(o.marks)<<3 }

func (b *book) writeOrder(w *stateWriter, s int32, o *order) {
	w.uint(o.n)
	w.uint(uint64(b.orders.account(o)))
	w.uint(o.bits())
	w.int(o.total)
	w.int(o.shown)
	w.rates(o)
	if o.marks&markIceberg != 0 {
		c := b.orders.cold.at(s)
		w.int(c.display)
		w.int(c.hidden)
	}
}

func (w *stateWriter) rates(o *order) {
	w.uint(uint64(o.makerFee))
	w.uint(uint64(o.takerFee))
	w.uint(uint64(o.discount))
}

func (b *book) writeStops(w *stateWriter, side Side) {
	n := 0
	b.stops.sides[side].down(func(ls int32) bool {
		n += int(b.orders.levels.at(ls).count)
		return true
	})
	w.uint(uint64(n))
	b.stops.sides[side].down(func(ls int32) bool {
		for s := b.orders.levels.at(ls).head; s != 0; {
			o := b.orders.at(s)
			st := b.stops.parked.at(b.orders.cold.at(s).stop)
			w.uint(o.n)
			w.uint(uint64(b.orders.account(o)))
			w.uint(o.bits())
			w.int(st.stop)
			w.int(st.price)
			w.int(o.shown)
			w.int(st.display)
			w.u128(st.quote)
			w.uint(uint64(st.typ))
			w.uint(uint64(st.tif))
			w.uint(uint64(st.flags))
			w.rates(o)
			if o.marks&markEarn != 0 {
				w.u128(st.earn)
			}
			s = o.next
		}
		w.pass(stateChunk)
		return true
	})
}

// writeClients writes the window from the oldest on, then the ids of open orders that
// have left it.
func (b *book) writeClients(w *stateWriter) {
	c := &b.clients
	inside := 0
	for s := c.oldest; s != 0; s = c.entries.at(s).newer {
		inside++
	}
	outside := b.clients.outside()
	w.uint(uint64(inside))
	w.uint(uint64(len(outside)))
	for s := c.oldest; s != 0; s = c.entries.at(s).newer {
		b.writeClient(w, s)
		w.pass(stateChunk)
	}
	for _, s := range outside {
		b.writeClient(w, s)
	}
}

func (b *book) writeClient(w *stateWriter, s int32) {
	e := b.clients.entries.at(s)
	w.uint(e.n())
	w.uint(uint64(b.orders.owners.account(e.owner)))
	w.bool(e.order&clientOpen != 0)
	w.hash(e.hash)
	w.hash(e.content)
}
