// Package aggregator writes the documents of the listing sites (docs/contract/listing.md) and the
// summary of docs/contract/market-data.md#time-summary-status over published views.
//
// Owner: nobody; every function is pure: it appends text that is a function of frozen
// views to the caller's slice.
//
// Invariants:
//
//  1. A number is printed exactly, with the digits of its kind
//     (docs/contract/market-data.md#decimals).
//  2. One document comes from one root or one view: from one instant.
//  3. Nothing is rendered twice that a view, a page or a chunk of trades keeps.
//
// Reading order: numbers, pairs, tickers, summary, orderbook, trades, trades_patch,
// trades_stream, asset.
//
// It does not know HTTP, parameters or ETags: server has them.
package aggregator
