package engine

import (
	"math/bits"

	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/internal/wire"
)

// Digest returns a value over every event since the market began, in their order, but for the changes of levels, which
// follow from the others. Two markets that began with the same
// and had the same events have the same; it does not depend on how their commands were cut into parts. It is no part of
// EncodePair and EncodeControl: who decodes a state sets it with SetDigest.
// Only a core for which KeepDigest was called has one.
func (c *Core) Digest() uint64 { return c.ledger.sum }

// KeepDigest makes the core keep its digest, before its first command. A core that nobody compares does without it.
func (c *Core) KeepDigest() { c.ledger.sums = true }

// SetDigest sets the value over the events before the state that was decoded.
func (c *Core) SetDigest(sum uint64) { c.ledger.sum = sum }

// digest mixes all members of an event. Two members share a word, one of them rotated, so that a change of one always
// changes the word; the products are independent of each other, so that the multiplications overlap.
func (e *Event) digest() uint64 {
	at := uint64(e.Pair) | uint64(e.Kind)<<32 | uint64(e.Side)<<40 | uint64(e.Trail)<<48
	sum := mix.Mul((uint64(e.Seq)+bits.RotateLeft64(uint64(e.TimeNs), 32))^0x2d358dccaa6c78a5,
		(at+bits.RotateLeft64(uint64(e.Price), 32))^0x8bb84b93962eacc9)
	kind := uint64(e.Reason) | uint64(e.Flags)<<8 | uint64(e.Type)<<16 | uint64(e.TIF)<<24 | uint64(e.STP)<<32 |
		uint64(e.Status)<<40 | uint64(e.Cause)<<48 | uint64(e.List)<<56
	sum += mix.Mul((uint64(e.Order)+bits.RotateLeft64(uint64(e.Maker), 21))^0x4b33a62ed433d4a3,
		(uint64(e.Amount)+bits.RotateLeft64(uint64(e.OpenAmount), 27))^0x4d5a2da51de1aa47)
	sum += mix.Mul((uint64(e.Trade)+bits.RotateLeft64(uint64(e.MakerOpen), 35))^0xa0761d6478bd642f,
		(kind+bits.RotateLeft64(uint64(e.Display), 25))^0xe7037ed1a0b428db)
	sum += mix.Mul((e.Quote.Lo+bits.RotateLeft64(e.Quote.Hi, 39))^0x8ebc6af09c88c6e3,
		(uint64(e.Account)|uint64(e.MakerAccount)<<32)^0x589965cc75374cc3)
	sum += (uint64(e.TakerFee)|uint64(e.MakerFee)<<32)*0xbf58476d1ce4e5b9 +
		(uint64(e.TakerDiscount)|uint64(e.MakerDiscount)<<32)*0x94d049bb133111eb
	if e.Client != nil || e.Instrument != nil || e.Control != nil {
		sum += e.extras()
	}
	return sum
}

// extras mixes what few events have.
//
//go:noinline
func (e *Event) extras() (sum uint64) {
	if c := e.Client; c != nil {
		sum = mix.Of4(c.Hash[0], c.Hash[1], c.Content[0], c.Content[1])
	}
	w := walker{wire.Writer(nil)}
	if e.Instrument != nil {
		in := *e.Instrument
		w.instrument(&in)
	}
	if e.Control != nil && e.Control.Asset != nil {
		a := *e.Control.Asset
		w.asset(&a)
	}
	if e.Control != nil {
		w.past(e.Control.Past)
	}
	return sum + mix.Bytes(uint64(e.Kind), w.Bytes())
}
