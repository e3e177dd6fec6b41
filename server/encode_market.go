package server

import (
	"bytes"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendTicker appends the ticker object of api.md; streams send it too.
func AppendTicker(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	changed := t.ChangedSec
	if changed == 0 { // nothing happened since the pair was added
		changed = floorDiv(in.CreatedNs, 1_000_000_000)
	}
	b = strconv.AppendInt(append(b, `{"timestamp":`...), changed, 10)
	b = append(append(append(b, `,"currencyPairCode":"`...), in.Code...), '"')
	b = fixed.AppendI64(append(b, `,"price":`...), t.Last, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"price24hAgo":`...), t.Ago24h, in.DigitsPrice)
	b = fixed.AppendI128(append(b, `,"priceChangePercentage24h":`...),
		fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	b = fixed.AppendU128(append(b, `,"volume24h":`...), t.Volume, in.DigitsAmount)
	b = fixed.AppendI64(append(b, `,"bidPrice":`...), t.Bid, in.DigitsPrice)
	b = fixed.AppendI64(append(b, `,"askPrice":`...), t.Ask, in.DigitsPrice)
	return append(b, '}')
}

// appendBook makes /api/orderbook: up to 40 bids, then up to 40 asks, best first, with the
// deprecated aliases. It joins the kept texts of the pages, so that one changed level costs
// one page of rendering and a copy.
func appendBook(v *marketdata.View) []byte {
	var store [2*bookLevels + 2][]byte
	parts := append(store[:0], openArray)
	parts = bookParts(parts, v, engine.Buy)
	parts = bookParts(parts, v, engine.Sell)
	if n := len(parts) - 1; n > 0 {
		parts[n] = parts[n][:len(parts[n])-1] // the comma after the last row
	}
	// Join does not clear what it is about to fill.
	return bytes.Join(append(parts, closeArray), nil)
}

var openArray, closeArray = []byte("["), []byte("]")

// closeRows replaces the comma after the last row by the end of the array.
func closeRows(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, ']')
}

// bookParts are the texts of up to 40 levels of a side; a page holds at least one level.
func bookParts(parts [][]byte, v *marketdata.View, side engine.Side) [][]byte {
	in, levels := v.Instrument, &v.Bids
	if side == engine.Sell {
		levels = &v.Asks
	}
	render := func(dst []byte, rows []marketdata.Level) []byte {
		return appendBookLevels(dst, in, side, rows, true)
	}
	left := bookLevels
	for p := range levels.Pages {
		parts = append(parts, p.TextOf(marketdata.PageBase, left, render))
		if left -= len(p.Levels()); left <= 0 {
			break
		}
	}
	return parts
}

// appendBookPlain is appendBook without the aliases (?aliases=false).
func appendBookPlain(b []byte, v *marketdata.View) []byte {
	b = append(b, '[')
	for side, levels := range []*marketdata.Side{&v.Bids, &v.Asks} {
		left := bookLevels
		for p := range levels.Pages {
			rows := p.Levels()
			rows = rows[:min(len(rows), left)]
			b = appendBookLevels(b, v.Instrument, engine.Side(side), rows, false)
			if left -= len(rows); left == 0 {
				break
			}
		}
	}
	return closeRows(b)
}

func appendBookLevels(b []byte, in *engine.Instrument, side engine.Side, rows []marketdata.Level, aliases bool) []byte {
	for _, l := range rows {
		if side == engine.Buy {
			b = append(b, `{"isBid":true,"price":`...)
		} else {
			b = append(b, `{"isBid":false,"price":`...)
		}
		b = fixed.AppendI64(b, l.Price, in.DigitsPrice)
		b = append(b, `,"amount":`...)
		at := len(b)
		b = fixed.AppendI64(b, l.Amount, in.DigitsAmount)
		amount := b[at:len(b):len(b)]
		b = append(b, `,"quoteAmount":`...)
		at = len(b)
		b = fixed.AppendU128(b, fixed.Mul64(uint64(l.Price), uint64(l.Amount)), in.DigitsTotal())
		quote := b[at:len(b):len(b)]
		if aliases {
			b = append(append(b, `,"currencyTo":`...), amount...)
			b = append(append(b, `,"currencyFrom":`...), quote...)
		}
		b = append(b, "},"...)
	}
	return b
}
