// Package fixed holds the exact numbers of the exchange: integers of 64 to 192 bits in fixed units, and their decimal
// text.
//
// A price is an int64 of ticks (10^-digitsPrice quote), an amount an int64 of lots (10^-digitsAmount base), price x
// amount and every sum is a U128 of the product unit (10^-(digitsPrice+digitsAmount) quote), and balances, fees and
// accruals are I128 of 10^-18 (docs/contract/market-data.md#decimals).
//
// Owner: none; every number is a value.
//
// Invariants:
//
//  1. Nothing is a float.
//  2. Nothing rounds, saturates or wraps unless the function's name says how; otherwise a carry panics.
//
// It does not know pairs or currencies: a unit is what the caller says.
package fixed
