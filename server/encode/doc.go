// Package encode appends the JSON that more than one audience of the server sends: strings,
// decimals, dates, UUIDs, tickers, deals, candles and commissions.
//
// Owner: none; every function is pure and appends to the caller's buffer.
//
// Invariants:
//
//  1. A number is printed exactly, or not at all.
//  2. An appender of market data allocates nothing when the buffer has room.
//
// It does not know HTTP and caches nothing.
package encode
