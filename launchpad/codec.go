package launchpad

import (
	"fmt"

	"tickhive/internal/wire"
)

// RecordVersion is the version of the encoding of records and snapshots.
const RecordVersion = 3

// maxText limits each text of a record, in bytes.
const maxText = MaxMetadata

// appendRecord appends the encoding of rec for the log.
func appendRecord(dst []byte, rec *Record) []byte { return wire.Append(dst, rec.code) }

// DecodeRecord decodes the result of appendRecord. Any other bytes are an error.
func DecodeRecord(b []byte) (rec Record, err error) {
	if err := wire.Decode(b, rec.code); err != nil {
		return Record{}, fmt.Errorf("launchpad: record: %w", err)
	}
	return rec, nil
}

// code encodes or decodes the members that each kind of record has.
func (r *Record) code(c *wire.Coder) {
	c.U8((*uint8)(&r.Kind), uint8(recordKinds)-1)
	c.I64(&r.TimeNs)
	switch r.Kind {
	case RecBegin:
		c.U64(&r.Seed)
	case RecSpawn:
		if c.Reading() {
			r.Spawn = new(Spawn)
		}
		r.Spawn.code(c)
		r.Fee.code(c)
	case RecDeposit:
		c.Fixed(r.To[:])
		c.U8((*uint8)(&r.Currency), currencies-1)
		r.In.code(c)
	case RecWithdraw:
		c.Fixed(r.From[:])
		c.U8((*uint8)(&r.Currency), currencies-1)
		r.In.code(c)
	case RecTransfer:
		c.U32(&r.Token)
		c.Fixed(r.From[:])
		c.Fixed(r.To[:])
		r.In.code(c)
	case RecLiquidity, RecSwap:
		c.U32(&r.Token)
		c.Fixed(r.From[:])
		c.Bool(&r.Sell)
		r.In.code(c)
		r.Out.code(c)
	case RecBoost:
		c.U32(&r.Token)
		c.U8((*uint8)(&r.Tier), uint8(tiers)-1)
	case RecCheckpoint:
		c.U32(&r.Token)
	case RecInject:
		c.U64(&r.Count)
	case RecFault, RecTick: // these records have no members besides the time
	}
}

func (s *Spawn) code(c *wire.Coder) {
	c.Fixed(s.Owner[:])
	c.Text(&s.Name, maxText)
	c.Text(&s.Symbol, maxText)
	c.Text(&s.TotalSupply, maxText)
	decimals := uint8(s.Decimals)
	c.U8(&decimals, Decimals)
	s.Decimals = int(decimals)
	c.U8((*uint8)(&s.PoolSide), sides-1)
	c.Text(&s.Metadata, maxText)
	if c.Reading() && checkSupply(s.TotalSupply) != nil {
		c.Fail("supply %q", s.TotalSupply)
	}
}
