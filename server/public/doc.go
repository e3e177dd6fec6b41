// Package public serves what anyone may read: market data, the documents of the listing sites, the
// datafeed of the charting library, and the routes about the service itself.
//
// Owner: a handler runs on the goroutine of its connection and reads views, which are immutable
// once published. A document over all pairs is swapped in by an atomic pointer.
//
// Invariants:
//
//  1. An answer loads the board's root once, so it shows one instant, even when it covers
//     all pairs.
//  2. No handler takes a lock, uses a channel, waits or computes with floats
//     (internal/tidy/rules.go).
//  3. The text of a document is rendered once and cached with the view that it shows. A document over all pairs is
//     joined from the rows of their views.
//
// It does not make views (marketdata) and does not render the rows of the listing sites
// (aggregator).
package public
