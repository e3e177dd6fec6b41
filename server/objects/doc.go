// Package objects writes the objects of the market that several audiences of the server send: tickers, deals, candles,
// commissions, fees.
//
// Owner: none; every function is pure and writes to the caller's json.Writer.
//
// Invariant: writing market data allocates nothing when the buffer has room.
//
// It does not know HTTP and caches nothing.
package objects
