// Package aggregator writes the market data that listing sites, such as CoinGecko and CoinMarketCap, poll from an
// exchange (docs/contract/listing.md), and the summary of docs/contract/market-data.md#time-summary-status.
//
// Owner: none; every function is pure: it appends text to the caller's slice, and the text is a function of published
// views.
//
// Invariants:
//
//  1. A number is printed exactly, with the digits of its kind
//     (docs/contract/market-data.md#decimals).
//  2. One document shows one root or one view, and therefore one instant.
//  3. The package renders no text again that a view, a page or a chunk of trades caches.
//
// The package does not know HTTP, parameters or ETags: server/public does.
package aggregator
