package server

import (
	"crypto/sha256"
	"encoding/binary"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// buildPlace fills cmd from a decoded order of the pair. Faults that only the text shows (off
// tick, beyond int64) set cmd.Refuse, so that the engine sequences the refusal.
func buildPlace(cmd *engine.Command, o *orderRequest, ins *engine.Instrument, account engine.AccountID) {
	*cmd = engine.Command{
		Kind: engine.Place, Pair: ins.ID, Account: account,
		Side: o.side, Type: o.typ, TIF: o.tif, STP: o.stp,
	}
	if !o.stpGiven && account != 0 {
		cmd.STP = engine.CancelTaker
	}
	if o.postOnly {
		cmd.Flags |= engine.FlagPostOnly
	}
	if o.price != nil {
		cmd.Price = readPrice(cmd, o.price, ins.DigitsPrice)
	}
	if o.stop != nil {
		cmd.Stop = readPrice(cmd, o.stop, ins.DigitsPrice)
	}
	if o.amount != nil {
		cmd.Amount = readAmount(cmd, o.amount, ins.DigitsAmount)
	}
	if o.quote != nil {
		cmd.Flags |= engine.FlagQuote
		cmd.Quote = readQuote(cmd, o.quote, ins.DigitsTotal())
	}
	if o.display != nil {
		cmd.Display = readAmount(cmd, o.display, ins.DigitsAmount)
	}
	if o.client != nil {
		cmd.Client = NewClientID(cmd, string(o.client))
	}
}

// buildReplace fills cmd from a decoded replace of an order of the pair.
func buildReplace(cmd *engine.Command, id engine.OrderID, p *replaceRequest, ins *engine.Instrument) {
	*cmd = engine.Command{Kind: engine.Replace, Pair: ins.ID, Order: id, Flags: engine.FlagAllAccount}
	if p.price != nil {
		cmd.Flags |= engine.FlagHasPrice
		cmd.Price = readPrice(cmd, p.price, ins.DigitsPrice)
	}
	if p.amount != nil {
		cmd.Flags |= engine.FlagHasAmount
		cmd.Amount = readAmount(cmd, p.amount, ins.DigitsAmount)
	}
}

func readPrice(cmd *engine.Command, text []byte, digits int) int64 {
	v, negative, res := fixed.TextUnits(text, digits)
	switch {
	case negative || v == 0 && res == fixed.UnitsExact:
		setReason(cmd, engine.PriceNotPositive)
	case res == fixed.UnitsOff:
		setReason(cmd, engine.PriceOffTick)
	case res == fixed.UnitsTooMany:
		setReason(cmd, engine.PriceOutOfRange)
	}
	return v
}

func readAmount(cmd *engine.Command, text []byte, digits int) int64 {
	v, negative, res := fixed.TextUnits(text, digits)
	switch {
	case negative || v == 0 && res == fixed.UnitsExact:
		setReason(cmd, engine.AmountNotPositive)
	case res == fixed.UnitsOff:
		setReason(cmd, engine.AmountOffLot)
	case res == fixed.UnitsTooMany:
		setReason(cmd, engine.AmountOutOfRange)
	}
	return v
}

// readQuote returns a quote amount in product units (price units times amount units).
func readQuote(cmd *engine.Command, text []byte, digitsTotal int) fixed.U128 {
	d := fixed.MustText(text)
	if d.Sign() <= 0 {
		setReason(cmd, engine.AmountNotPositive)
		return fixed.U128{}
	}
	q, rest := d.Abs().DivMod64(fixed.Pow10[fixed.Scale-digitsTotal])
	if rest != 0 {
		setReason(cmd, engine.AmountOffLot)
	}
	return q
}

// setReason sets the reason unless cmd has one: members are read in the order of
// docs/contract/errors.md#order-refusals, so the first reason wins.
func setReason(cmd *engine.Command, r engine.Reason) {
	if cmd.Refuse == engine.NotRejected {
		cmd.Refuse = r
	}
}

// NewClientID returns the client order id of a complete Place command: the text, the hash that
// makes it unique and the hash of the content (docs/contract/matching.md#client-order-ids).
// Stamped values (rates, limits) are no content: a repeat stays equal when they change.
func NewClientID(cmd *engine.Command, text string) *engine.ClientID {
	var buf [128]byte
	b := binary.BigEndian.AppendUint32(buf[:0], uint32(cmd.Account))
	b = binary.BigEndian.AppendUint32(b, uint32(cmd.Pair))
	id := &engine.ClientID{Text: text, Hash: hash128(append(b, text...))}

	const content = engine.FlagPostOnly | engine.FlagQuote
	b = append(buf[:0], byte(cmd.Side), byte(cmd.Type), byte(cmd.TIF), byte(cmd.STP), cmd.Flags&content, byte(cmd.Refuse))
	for _, v := range [...]uint64{
		uint64(cmd.Price), uint64(cmd.Amount), uint64(cmd.Stop), uint64(cmd.Display), cmd.Quote.Hi, cmd.Quote.Lo,
	} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	id.Content = hash128(b)
	return id
}

func hash128(b []byte) [2]uint64 {
	sum := sha256.Sum256(b)
	return [2]uint64{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}
