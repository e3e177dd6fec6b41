package dbn

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Types of records.
const (
	typeTrade = 0x00
	typeTop   = 0x01 // one level a side: mbp-1, tbbo
	typeDeep  = 0x0A // ten levels a side: mbp-10
	typeOrder = 0xA0
	typeBar   = 0x20 // ohlcv-1s; then 1m, 1h, 1d and eod
	typeName  = 0x16 // a symbol of a live recording
	typeState = 0x17 // a message of the gateway in a live recording
)

const (
	headerBytes = 16
	sentBytes   = 8 // time of sending behind a record of a live recording
)

const (
	noPrice = math.MaxInt64
	noTime  = math.MaxUint64
	// priceUnits is the number of units in a price of 1.
	priceUnits = 1_000_000_000
)

// schema describes the records of one schema of Databento, such as mbo, that the package can read.
type schema struct {
	kind  byte   // type of its records
	bytes int    // length of a record
	head  string // names of the columns
	row   func(dst, record []byte) []byte
}

const headEvent = "ts_recv,ts_event,publisher_id,instrument_id,action,side,price,size,"

// schemas holds the schemas that the package can read, by Databento's names.
var schemas = map[string]*schema{
	"mbo":      {typeOrder, 56, headEvent + "order_id,flags,symbol\n", orderRow},
	"mbp-1":    {typeTop, 80, headEvent + headTop(1), levelsRow},
	"mbp-10":   {typeDeep, 368, headEvent + headTop(10), levelsRow},
	"tbbo":     {typeTop, 80, headEvent + headTop(1), levelsRow},
	"trades":   {typeTrade, 48, headEvent + "flags,symbol\n", tradeRow},
	"ohlcv-1s": {typeBar, 56, headBar, barRow},
	"ohlcv-1m": {typeBar + 1, 56, headBar, barRow},
	"ohlcv-1h": {typeBar + 2, 56, headBar, barRow},
	"ohlcv-1d": {typeBar + 3, 56, headBar, barRow},
}

const headBar = "ts_event,publisher_id,instrument_id,open,high,low,close,volume,symbol\n"

// headTop returns the names of the columns behind headEvent in a schema of n levels a side.
func headTop(n int) string {
	head := "flags,"
	for i := range n {
		head += fmt.Sprintf("bid_px_%02[1]d,ask_px_%02[1]d,bid_sz_%02[1]d,ask_sz_%02[1]d,", i)
	}
	return head + "symbol\n"
}

// schemaName returns the name of a schema by its number in the metadata.
func schemaName(code uint16) string {
	names := [...]string{
		"mbo", "mbp-1", "mbp-10", "tbbo", "trades", "ohlcv-1s", "ohlcv-1m", "ohlcv-1h", "ohlcv-1d", "definition",
		"statistics", "status", "imbalance", "ohlcv-eod", "cmbp-1", "cbbo-1s", "cbbo-1m", "tcbbo", "bbo-1s", "bbo-1m",
	}
	switch {
	case int(code) < len(names):
		return names[code]
	case code == math.MaxUint16:
		return "mixed (a live recording)"
	}
	return fmt.Sprintf("number %d", code)
}

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// orderRow appends the columns of an mbo record. Their byte offsets in the record: order_id 16, price 24, size 32,
// flags 36, action 38, side 39, ts_recv 40.
func orderRow(dst, r []byte) []byte {
	dst = eventRow(dst, r, u64(r[40:]), r[38], r[39], r[24:], u32(r[32:]))
	dst = append(strconv.AppendUint(dst, u64(r[16:]), 10), ',')
	return strconv.AppendUint(dst, uint64(r[36]), 10)
}

// tradeRow appends the columns of a trade. Their byte offsets in the record: price 16, size 24, action 28, side 29,
// flags 30, ts_recv 32.
func tradeRow(dst, r []byte) []byte {
	dst = eventRow(dst, r, u64(r[32:]), r[28], r[29], r[16:], u32(r[24:]))
	return strconv.AppendUint(dst, uint64(r[30]), 10)
}

// levelsRow appends the columns of a trade and of the levels that follow it in the record, best first. A level has 32
// bytes; the byte offsets in it, bid and ask: prices 0 and 8, sizes 16 and 20, numbers of orders 24 and 28.
func levelsRow(dst, r []byte) []byte {
	dst = tradeRow(dst, r)
	for l := r[48:]; len(l) >= 32; l = l[32:] {
		dst = append(price(append(dst, ','), l), ',')
		dst = append(price(dst, l[8:]), ',')
		dst = append(strconv.AppendUint(dst, uint64(u32(l[16:])), 10), ',')
		dst = strconv.AppendUint(dst, uint64(u32(l[20:])), 10)
	}
	return dst
}

// barRow appends the columns of a bar: open 16, high 24, low 32, close 40, volume 48.
func barRow(dst, r []byte) []byte {
	dst = source(instant(dst, u64(r[8:])), r)
	for at := headerBytes; at < 48; at += 8 {
		dst = append(price(dst, r[at:]), ',')
	}
	return strconv.AppendUint(dst, u64(r[48:]), 10)
}

// eventRow appends the columns of headEvent.
func eventRow(dst, r []byte, received uint64, action, side byte, px []byte, size uint32) []byte {
	dst = append(instant(dst, received), ',')
	dst = source(instant(dst, u64(r[8:])), r)
	dst = append(dst, letter(action), ',', letter(side), ',')
	dst = append(price(dst, px), ',')
	return append(strconv.AppendUint(dst, uint64(size), 10), ',')
}

// source appends the publisher and the instrument id, between commas.
func source(dst, r []byte) []byte {
	dst = append(dst, ',')
	dst = append(strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint16(r[2:])), 10), ',')
	return append(strconv.AppendUint(dst, uint64(u32(r[4:])), 10), ',')
}

// letter returns a letter of the record, or ? for a byte that would break a row of CSV.
func letter(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c
	}
	return '?'
}

// instant appends a time in ns, nothing for one that is not set.
func instant(dst []byte, ns uint64) []byte {
	if ns == noTime {
		return dst
	}
	return strconv.AppendUint(dst, ns, 10)
}

// price appends a price with nine decimals, nothing for one that is not set.
func price(dst, b []byte) []byte {
	v := int64(u64(b))
	if v == noPrice {
		return dst
	}
	abs := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		abs = -abs
	}
	dst = append(strconv.AppendUint(dst, abs/priceUnits, 10), '.')
	digits := strconv.AppendUint(nil, priceUnits+abs%priceUnits, 10)
	return append(dst, digits[1:]...)
}
