package aggregator

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// price appends a price in ticks of the pair.
func price(b []byte, in *engine.Instrument, ticks int64) []byte {
	return fixed.AppendI64(b, ticks, in.DigitsPrice)
}

// amount appends a sum of lots of the pair.
func amount(b []byte, in *engine.Instrument, lots fixed.U128) []byte {
	return fixed.AppendU128(b, lots, in.DigitsAmount)
}

// total appends price x amount or a sum of it, exactly.
func total(b []byte, in *engine.Instrument, v fixed.U128) []byte {
	return fixed.AppendU128(b, v, in.DigitsTotal())
}

// floorMs returns a Unix time in ns as whole ms, truncated.
func floorMs(ns int64) int64 {
	ms := ns / 1_000_000
	if ns%1_000_000 < 0 {
		ms--
	}
	return ms
}
