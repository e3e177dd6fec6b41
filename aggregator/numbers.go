package aggregator

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// price appends a price of the pair, given in ticks, as a decimal.
func price(b []byte, in *engine.Instrument, ticks int64) []byte {
	return fixed.AppendI64(b, ticks, in.DigitsPrice)
}

// amount appends an amount of the pair, given in lots, as a decimal.
func amount(b []byte, in *engine.Instrument, lots fixed.U128) []byte {
	return fixed.AppendU128(b, lots, in.DigitsAmount)
}

// total appends a product price x amount, or a sum of products, exactly.
func total(b []byte, in *engine.Instrument, v fixed.U128) []byte {
	return fixed.AppendU128(b, v, in.DigitsTotal())
}

// floorMs converts a Unix time in ns to whole ms, rounded down.
func floorMs(ns int64) int64 {
	ms := ns / 1_000_000
	if ns%1_000_000 < 0 {
		ms--
	}
	return ms
}
