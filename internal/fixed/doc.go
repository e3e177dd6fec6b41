// Package fixed holds the exact numbers of the exchange: 128-bit sums of integer
// units, and their fixed-point text.
//
// A price is an int64 of ticks (10^-digitsPrice quote), an amount an int64 of lots
// (10^-digitsAmount base), price x amount and every sum is a U128 of the product
// unit (10^-(digitsPrice+digitsAmount) quote), and balances, fees and accruals are
// I128 of 10^-18 (docs/contract/market-data.md#decimals). Nothing here is a float and nothing
// rounds unless the function's name says how.
package fixed
