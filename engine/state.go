package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

// StateFormat is the version of the encoding that EncodePair and EncodeControl write. A snapshot of another format is
// refused.
const StateFormat = 3

// maxStateText bounds the texts of a state.
const maxStateText = 1 << 16

// The encoding is canonical: equal states give equal bytes, whatever the slots and pages of the core. Snapshots
// and state hashes both use it. One walk method a structure serves both directions.
//
//	pair     format, instrument, seq, newest n, newest trade, last price, oldest open n,
//	         0 or 1 and the unfinished command (state_parts.go), bids, asks, buy stops, sell stops, client ids
//	side     number of levels; each, best first: price, number of orders; each in queue
//	         order: n, account, bits, total, shown, rates, [display, hidden]
//	stops    number; each from the one reached first, then by acceptance: n, account, bits, stop, price,
//	         amount, display, quote, type, tif, flags, rates, [earn limit]
//	clients  number in the window, number outside; each by n: n, account, open, hash, content
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
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], h[0])
	binary.LittleEndian.PutUint64(b[8:], h[1])
	if w.Fixed(b[:]); w.Reading() {
		h[0], h[1] = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	}
}

func (w walker) digits(p *int) {
	u := uint8(*p)
	if w.U8(&u, fixed.Scale); w.Reading() {
		*p = int(u)
	}
}

func (w walker) instrument(i *Instrument) {
	id := uint64(i.ID)
	w.UpTo(&id, MaxPairs-1)
	w.Text(&i.Code, maxStateText)
	if w.Reading() {
		i.ID = PairID(id)
		i.Base, i.Quote, _ = strings.Cut(i.Code, "_")
	}
	w.digits(&i.DigitsPrice)
	w.digits(&i.DigitsAmount)
	i.WalkLimits(w.Coder)
	w.U8((*uint8)(&i.State), uint8(Halted))
	w.U32(&i.MakerFee)
	w.U32(&i.TakerFee)
	w.bits64(&i.CreatedNs)
}

// bits encodes or decodes an order's self-trade mode and marks.
func (w walker) bits(o *order) {
	u := uint64(o.stp) | uint64(o.marks)<<3
	if w.UpTo(&u, math.MaxUint8); w.Reading() {
		o.stp, o.marks = SelfTrade(u&7), marks(u>>3)
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
	w.bits(o)
	w.I63(&st.stop)
	w.I63(&st.price)
	w.I63(&o.shown)
	w.I63(&st.display)
	w.u128(&st.quote)
	w.U8((*uint8)(&st.typ), uint8(StopMarket))
	w.U8((*uint8)(&st.tif), uint8(FOK))
	flags := uint64(st.flags)
	if w.UpTo(&flags, math.MaxUint8); w.Reading() {
		st.flags = uint8(flags)
	}
	w.rates(o)
	if o.marks&markEarn != 0 {
		w.u128(&st.earn)
	}
}

// client encodes or decodes a remembered client id, without its number.
func (w walker) client(id *ClientID, account *AccountID, open *bool) {
	w.U32((*uint32)(account))
	w.Bool(open)
	w.hash(&id.Hash)
	w.hash(&id.Content)
}
