package accounts

import "github.com/tickhive/tickhive/internal/fixed"

// MaxMoney is 10^20 in 10^-18: the largest amount of a request (docs/contract/market-data.md#decimals).
var MaxMoney = fixed.Mul64(fixed.Pow10[19], fixed.Pow10[19]).ToI128()

// maxUnitsPower is the power of ten that MaxUnits is.
const maxUnitsPower = 37

// MaxUnits is 10^37 units of a currency: all its deposits together may not pass it, and neither may what unlimited
// accounts and the built-in one are below zero of it (docs/internals/bounds.md#accounts).
var MaxUnits = fixed.Mul64(fixed.Pow10[19], fixed.Pow10[maxUnitsPower-19]).ToI128()

// rateOf converts a decimal to a rate in 10^-8; ok is false for more than 8 fractional digits
// or a value outside 0 to limit.
func rateOf(v fixed.I128, limit uint32) (uint32, bool) {
	u, exact, fits := fixed.Units(v, 8)
	if !exact || !fits || u < 0 || u > int64(limit) {
		return 0, false
	}
	return uint32(u), true
}

// percentRate converts a human percent (12.5) to a rate in 10^-8.
func percentRate(v fixed.I128, limit uint32) (uint32, bool) {
	u, exact, fits := fixed.Units(v, 6)
	if !exact || !fits || u < 0 || u > int64(limit) {
		return 0, false
	}
	return uint32(u), true
}

// decimalOf converts a rate in 10^-8 to a decimal in 10^-18.
func decimalOf(rate uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), fixed.Pow10[10]).ToI128()
}

// percentOf converts a rate in 10^-8 to a human percent in 10^-18.
func percentOf(rate uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), fixed.Pow10[12]).ToI128()
}
