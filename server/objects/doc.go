// Package objects reads and writes the objects of the market that several audiences of the server have: tickers, deals,
// candles, commissions, fees, and the bodies of orders.
//
// Owner: none; every function is pure, writes to the caller's json.Writer, and returns texts that alias the body.
//
// Invariant: writing market data, and reading an order, allocates nothing when the buffer has room.
//
// The package caches nothing and applies no rule of the market: internal/entry builds commands, the engine refuses.
package objects
