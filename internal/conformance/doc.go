// Package conformance checks whether the HTTP API of an exchange has the form that a listing site
// polls: CoinGecko's or CoinMarketCap's.
//
// Owner: the goroutine that calls Run sends every request, one after the other.
//
// Invariants:
//
//  1. A result says what was requested, what was expected and what came instead.
//  2. An error is a breach of what a standard's text demands. What the texts leave open, or what
//     only one exchange's copy of them says, is a warning.
//  3. Decimals are compared exactly. Nothing of an answer is kept but what is checked, and an
//     answer has at most 64 MiB.
//
// It knows nothing of this exchange: it runs against any.
package conformance
