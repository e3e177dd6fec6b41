// Package markettest builds markets for tests and benchmarks: a core and its market data on a virtual
// clock, with or without a loop.
//
// Owner: the goroutine that made a Market drives it, until Run hands it to a loop.
//
// Invariants:
//
//  1. Do applies a command at the time of the clock and folds its events. It publishes nothing.
//  2. Run stops its loop and waits for the loop's goroutine at the end of the test.
//
// It knows no accounts and no listeners; internal/exchange/exchangetest starts a whole exchange.
package markettest
