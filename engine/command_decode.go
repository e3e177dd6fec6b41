package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"tickhive/internal/fixed"
)

// ErrRecord reports a journal record that is not a command of CommandVersion.
var ErrRecord = errors.New("engine: the record is not a command")

// recordReader decodes fields from a record. After the first error every field reads as zero.
type recordReader struct {
	b   []byte
	bad bool
}

func (r *recordReader) u8(limit byte) byte {
	if len(r.b) == 0 || r.b[0] > limit {
		r.fault()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *recordReader) u64le() uint64 {
	if len(r.b) < 8 {
		r.fault()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *recordReader) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > limit {
		r.fault()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fault()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *recordReader) u128() fixed.U128 {
	hi := r.uvarint(1<<64 - 1)
	return fixed.U128{Hi: hi, Lo: r.uvarint(1<<64 - 1)}
}

func (r *recordReader) text() string {
	n := r.uvarint(maxRecordText)
	if uint64(len(r.b)) < n {
		r.fault()
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *recordReader) boolean() bool { return r.u8(1) == 1 }

func (r *recordReader) fault() { r.b, r.bad = nil, true }

// IsSkip reports whether a record is a Skip; it reads only the first byte.
func IsSkip(record []byte) bool {
	return len(record) > 0 && CommandKind(record[0]&(1<<rulesShift-1)) == Skip
}

// DecodeCommand reads one record into c, which shares no memory with it.
func DecodeCommand(record []byte, c *Command) error {
	*c = Command{}
	r := recordReader{b: record}
	if err := r.kind(c); err != nil {
		return err
	}
	c.TimeNs = int64(r.u64le())
	c.Pair = PairID(r.uvarint(uint64(ControlPair)))
	switch c.Kind {
	case Place:
		r.place(c)
	case Cancel, CancelAll:
		c.Flags = r.u8(0xff)
		c.Account = AccountID(r.uvarint(1<<32 - 1))
		c.Order = OrderID(r.uvarint(1<<64 - 1))
		if c.Kind == Cancel && len(r.b) > 0 {
			c.Client = &ClientID{Text: r.text()}
		}
	case Replace:
		c.Flags, c.Refuse = r.u8(0xff), Reason(r.u8(byte(lastReason)))
		c.Account = AccountID(r.uvarint(1<<32 - 1))
		c.Order = OrderID(r.uvarint(1<<64 - 1))
		c.Price, c.Amount = r.varint(), r.varint()
		if c.Flags&FlagFunded != 0 {
			c.SpendLimit = r.u128()
			c.EarnLimit = r.u128()
		}
	case AddPair, SetPair:
		c.Instrument = r.instrument()
	case SetAsset:
		c.Asset = r.asset()
	case Skip:
		c.Order = OrderID(r.uvarint(1<<64 - 1))
	case Continue: // no members
	}
	if r.bad || len(r.b) != 0 {
		return fmt.Errorf("%w: %d bytes of kind %d", ErrRecord, len(record), c.Kind)
	}
	return nil
}

// kind decodes the first byte. Rules of another version are an error.
func (r *recordReader) kind(c *Command) error {
	b := r.u8(0xff)
	c.Kind, c.First = CommandKind(b&(1<<rulesShift-1)), b&firstBit != 0
	if rules := b >> rulesShift & rulesMask; !r.bad && rules != RulesVersion {
		return fmt.Errorf("%w: it has rules version %d, and this program reads %d alone: "+
			"use the program that wrote it, or another data directory", ErrRecord, rules, RulesVersion)
	}
	if c.Kind > Continue {
		r.fault()
	}
	return nil
}

func (r *recordReader) place(c *Command) {
	c.Side, c.Type = Side(r.u8(byte(Sell))), OrderType(r.u8(byte(StopMarket)))
	c.TIF, c.STP = TimeInForce(r.u8(byte(FOK))), SelfTrade(r.u8(byte(Decrement)))
	c.Flags = r.u8(0xff)
	has := r.uvarint(hasReusable<<1 - 1)
	c.Account = AccountID(r.uvarint(1<<32 - 1))
	c.Price, c.Amount = r.varint(), r.varint()
	if has&hasStop != 0 {
		c.Stop = r.varint()
	}
	if has&hasDisplay != 0 {
		c.Display = r.varint()
	}
	if has&hasQuote != 0 {
		c.Quote = r.u128()
	}
	if has&hasSpend != 0 {
		c.SpendLimit = r.u128()
	}
	if has&hasRates != 0 {
		c.MakerFee, c.TakerFee = uint32(r.uvarint(RateOne)), uint32(r.uvarint(RateOne))
		c.Discount = uint32(r.uvarint(RateOne))
	}
	if has&hasClient != 0 {
		c.Client = &ClientID{Text: r.text()}
		c.Client.Hash = [2]uint64{r.u64le(), r.u64le()}
		c.Client.Content = [2]uint64{r.u64le(), r.u64le()}
	}
	if has&hasRefuse != 0 {
		c.Refuse = Reason(r.u8(byte(lastReason)))
	}
	if has&hasEarn != 0 {
		c.EarnLimit = r.u128()
	}
	if has&hasReusable != 0 {
		if c.Client == nil {
			r.fault()
			return
		}
		c.Client.Reusable = true
	}
}

func (r *recordReader) instrument() *Instrument {
	in := &Instrument{ID: PairID(r.uvarint(maxRecordPairs)), Code: r.text()}
	in.Base, in.Quote, _ = strings.Cut(in.Code, "_")
	in.DigitsPrice, in.DigitsAmount = int(r.u8(fixed.Scale)), int(r.u8(fixed.Scale))
	in.State = PairState(r.u8(byte(Halted)))
	limits := r.u8(0xff) // unknown ones differ from in.limits below
	in.HasMinQuote, in.MinQuote = limits&hasMinQuote != 0, r.u128()
	in.MakerFee, in.TakerFee = uint32(r.uvarint(RateOne)), uint32(r.uvarint(RateOne))
	in.CreatedNs = r.varint()
	if limits&hasMaxQuote != 0 {
		in.MaxQuote = r.u128()
	}
	if limits&hasBandUp != 0 {
		in.BandUp = r.uvarint(1<<64 - 1)
	}
	if limits&hasBandDown != 0 {
		in.BandDown = r.uvarint(1<<64 - 1)
	}
	if in.limits() != limits {
		r.fault()
	}
	return in
}

func (r *recordReader) asset() *Asset {
	a := &Asset{Symbol: r.text(), Name: r.text()}
	a.Fiat, a.HasUnifiedID, a.CanWithdraw, a.CanDeposit = r.boolean(), r.boolean(), r.boolean(), r.boolean()
	a.HasMinWithdraw, a.HasMaxWithdraw = r.boolean(), r.boolean()
	a.HasMakerFee, a.HasTakerFee = r.boolean(), r.boolean()
	a.UnifiedCryptoassetID = r.varint()
	for _, p := range [...]*fixed.I128{&a.MinWithdraw, &a.MaxWithdraw, &a.MakerFee, &a.TakerFee} {
		p.Hi = r.varint()
		p.Lo = r.uvarint(1<<64 - 1)
	}
	return a
}
