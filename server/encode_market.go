package server

import (
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

// appendBook appends /api/orderbook: up to 40 bids, then up to 40 asks, best first, with
// the deprecated aliases; whole pages come from their kept text.
func appendBook(b []byte, v *marketdata.View) []byte {
	b = append(b, '[')
	b = appendBookSide(b, v, engine.Buy)
	b = appendBookSide(b, v, engine.Sell)
	return closeRows(b)
}

// closeRows replaces the comma after the last row by the end of the array.
func closeRows(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, ']')
}

func appendBookSide(b []byte, v *marketdata.View, side engine.Side) []byte {
	in, levels := v.Instrument, &v.Bids
	if side == engine.Sell {
		levels = &v.Asks
	}
	render := func(dst []byte, rows []marketdata.Level) []byte {
		if dst == nil {
			dst = make([]byte, 0, len(rows)*levelSize(in))
		}
		return appendBookLevels(dst, in, side, rows, true)
	}
	if b = growFor(b, min(levels.Len(), bookLevels)*levelSize(in)); levels.Len() == 0 {
		return b
	}
	left := bookLevels
	for p := range levels.Pages {
		rows := p.Levels()
		if len(rows) > left {
			return appendBookLevels(b, in, side, rows[:left], true)
		}
		b = append(b, p.Text(marketdata.PageBase, render)...)
		if left -= len(rows); left == 0 {
			break
		}
	}
	return b
}

// levelSize is an estimate from above of one row's text for usual figures.
func levelSize(in *engine.Instrument) int {
	return 96 + 6*10 + in.DigitsPrice + 2*in.DigitsAmount + 2*in.DigitsTotal()
}

func growFor(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n+16), b...)
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
		b = append(b, `{"isBid":`...)
		b = strconv.AppendBool(b, side == engine.Buy)
		b = fixed.AppendI64(append(b, `,"price":`...), l.Price, in.DigitsPrice)
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
