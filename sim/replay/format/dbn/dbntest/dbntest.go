package dbntest

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
)

// Numbers of schemas.
const (
	MBO    = 0
	Top    = 1
	Depth  = 2
	TBBO   = 3
	Trades = 4
	Bars   = 6
	Mixed  = 0xffff

	Definition = 9 // not read
)

// NoPrice is a price that is not set.
const NoPrice = 1<<63 - 1

var le = binary.LittleEndian

// Metadata returns the part of a file before its records. Each symbol has its id in the year 2024.
func Metadata(version byte, schema uint16, symbols map[uint32]string) []byte {
	width := 22
	b := append(make([]byte, 0, 200), "XNAS.ITCH\x00\x00\x00\x00\x00\x00\x00"...)
	b = le.AppendUint16(b, schema)
	b = append(b, make([]byte, 24)...)
	if version == 1 {
		b = append(b, make([]byte, 8+3+47)...)
	} else {
		width = 71
		b = append(b, 1, 0, 0)
		b = le.AppendUint16(b, uint16(width))
		b = append(b, make([]byte, 53)...)
	}
	b = append(b, make([]byte, 4)...)
	ids := slices.Sorted(maps.Keys(symbols))
	b = le.AppendUint32(b, uint32(len(ids)))
	for _, id := range ids {
		b = text(b, symbols[id], width)
	}
	b = append(b, make([]byte, 8)...) // none in part, none not found
	b = le.AppendUint32(b, uint32(len(ids)))
	for _, id := range ids {
		b = text(b, symbols[id], width)
		b = le.AppendUint32(b, 1)
		b = le.AppendUint32(le.AppendUint32(b, 20240101), 20250101)
		b = text(b, strconv.Itoa(int(id)), width)
	}
	for version > 2 && len(b)%8 != 0 {
		b = append(b, 0)
	}
	head := le.AppendUint32([]byte{'D', 'B', 'N', version}, uint32(len(b)))
	return append(head, b...)
}

func text(b []byte, s string, width int) []byte {
	return append(append(b, s...), make([]byte, width-len(s))...)
}

// File returns a file of records.
func File(version byte, schema uint16, symbols map[uint32]string, records ...[]byte) []byte {
	return append(Metadata(version, schema, symbols), slices.Concat(records...)...)
}

// Event is one record of mbo, trades, tbbo or mbp-1.
type Event struct {
	NS           uint64
	Instrument   uint32
	Action, Side byte
	Price        int64 // units of 1e-9
	Size         uint32
	Flags        byte
	ID           uint64   // mbo
	Prices       [2]int64 // mbp-1, tbbo: best bid and ask
	Sizes        [2]uint32
}

func (e *Event) header(length int, kind byte) []byte {
	b := le.AppendUint32([]byte{byte(length / 4), kind, 2, 0}, e.Instrument)
	return le.AppendUint64(b, e.NS)
}

// Order returns the event as a record of mbo.
func (e *Event) Order() []byte {
	b := le.AppendUint64(e.header(56, 0xA0), e.ID)
	b = le.AppendUint32(le.AppendUint64(b, uint64(e.Price)), e.Size)
	b = append(b, e.Flags, 0, e.Action, e.Side)
	return append(le.AppendUint64(b, e.NS+1000), make([]byte, 8)...)
}

// Trade returns the event as a record of trades.
func (e *Event) Trade() []byte { return e.trade(48, 0) }

func (e *Event) trade(length int, kind byte) []byte {
	b := le.AppendUint64(e.header(length, kind), uint64(e.Price))
	b = append(le.AppendUint32(b, e.Size), e.Action, e.Side, e.Flags, 0)
	return append(le.AppendUint64(b, e.NS+1000), make([]byte, 8)...)
}

// Top returns the event as a record of mbp-1 or tbbo.
func (e *Event) Top() []byte {
	b := e.trade(80, 1)
	b = le.AppendUint64(le.AppendUint64(b, uint64(e.Prices[0])), uint64(e.Prices[1]))
	b = le.AppendUint32(le.AppendUint32(b, e.Sizes[0]), e.Sizes[1])
	return append(b, make([]byte, 8)...)
}

// Deep returns the event as a record of mbp-10. Prices and Sizes are the best level; each one behind it is a unit away
// and has one lot more. The last level has no prices.
func (e *Event) Deep() []byte {
	b := e.trade(368, 0x0A)
	for i := range int64(10) {
		prices := [2]int64{e.Prices[0] - i*1e9, e.Prices[1] + i*1e9}
		if i == 9 {
			prices = [2]int64{NoPrice, NoPrice}
		}
		b = le.AppendUint64(le.AppendUint64(b, uint64(prices[0])), uint64(prices[1]))
		b = le.AppendUint32(le.AppendUint32(b, e.Sizes[0]+uint32(i)), e.Sizes[1]+uint32(i))
		b = append(b, make([]byte, 8)...)
	}
	return b
}

// Bar returns a record of ohlcv-1m.
func Bar(ns uint64, instrument uint32, open, high, low, last int64, volume uint64) []byte {
	b := (&Event{NS: ns, Instrument: instrument}).header(56, 0x21)
	for _, v := range []int64{open, high, low, last} {
		b = le.AppendUint64(b, uint64(v))
	}
	return le.AppendUint64(b, volume)
}
