// Package aggregator writes the documents of the listing sites (api.md, "Market data,
// {aggregator_base_url}") and the summary of Decisions section 3.8 over published views.
//
// Owner: nobody; every function is pure: it appends text that is a function of frozen
// views to the caller's slice.
//
// Invariants:
//
//  1. A number is printed exactly, with the digits of its kind (Decisions section 1.1).
//  2. One document comes from one root or one view: from one instant.
//  3. Nothing is rendered twice that a view, a page or a chunk of trades keeps.
//
// Reading order: numbers, pairs, tickers, summary, orderbook, trades, trades_patch,
// trades_stream, asset.
//
// It does not know HTTP, parameters or ETags: server has them.
package aggregator
