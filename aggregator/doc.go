// Package aggregator writes the documents of the listing sites (docs/contract/listing.md) and the
// summary of docs/contract/market-data.md#time-summary-status over published views.
//
// Owner: none; every function is pure: it appends text that is a function of frozen views to the
// caller's slice.
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
