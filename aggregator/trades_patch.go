package aggregator

import (
	"bytes"

	"tickhive/engine"
	"tickhive/marketdata"
)

// Patchable reports whether a page of the trades low to high shares most of its rows with the earlier page
// before. PatchTrades then copies these rows and renders only the new ones. Each page must hold the newest
// trades of its view, of both sides.
func Patchable(before *marketdata.Doc, low, high engine.TradeID) bool {
	if before.HighTrade == 0 || low < before.LowTrade || high < before.HighTrade || low > before.HighTrade {
		return false
	}
	return high-before.HighTrade+low-before.LowTrade <= before.HighTrade-before.LowTrade
}

// CutRows returns rows without its last n rows. Each row must be an object without nested objects and without
// braces in its texts. The result ends in a comma unless it is empty.
func CutRows(rows []byte, n int) []byte {
	for range n {
		rows = rows[:bytes.LastIndexByte(rows, '{')]
	}
	return rows
}

var betweenSides = []byte(`],"sell":[`)

// PatchTrades returns the same text as AppendTrades for a Selection of both sides, made from the page of an
// earlier view (see Patchable). The view must retain that page's oldest trade.
func PatchTrades(v *marketdata.View, s Selection, before *marketdata.Doc) []byte {
	const head, tail = len(`{"buy":[`), len("]}")
	old := before.Body
	split := bytes.Index(old, betweenSides)
	rows := [2][]byte{
		engine.Buy:  old[head:split],
		engine.Sell: old[split+len(betweenSides) : len(old)-tail],
	}
	for id := before.LowTrade; id < s.Low; id++ {
		side := v.Trades.At(id).TakerSide
		rows[side] = CutRows(rows[side], 1)
	}
	b := make([]byte, 0, len(old)+int(s.High-before.HighTrade)*tradeSize)
	b = append(b, old[:head]...)
	b = appendNewer(b, v, s.High, before.HighTrade, engine.Buy, rows[engine.Buy])
	b = append(b, betweenSides...)
	b = appendNewer(b, v, s.High, before.HighTrade, engine.Sell, rows[engine.Sell])
	return append(b, "]}"...)
}

// tradeSize estimates the length of a trade's text in bytes.
const tradeSize = 160

// appendNewer appends the rows of one side for the ids from high down to last+1, then the earlier rows.
func appendNewer(b []byte, v *marketdata.View, high, last engine.TradeID, side engine.Side, rows []byte) []byte {
	start := len(b)
	for id := high; id > last; id-- {
		if t := v.Trades.At(id); t.TakerSide == side {
			b = append(appendTrade(b, v.Instrument, id, &t), ',')
		}
	}
	if b = append(b, rows...); len(b) > start && b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return b
}
