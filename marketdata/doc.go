// Package marketdata folds the engine's events into books, trades, candles and 24 h tickers, and publishes them as
// immutable views for readers. It also folds the order history, which the loop's goroutine queries.
//
// Owner: Feed, History and everything they hold belong to one goroutine, the engine loop's. Everything reachable from
// Board.Load is frozen: any goroutine may read it without a lock and retain it for any time.
//
// Invariants:
//
//  1. The feed folds events in seq order, each exactly once; nothing else makes a trade or a candle.
//  2. A published value never changes, except that readers add cached texts, each a pure function of the value. The
//     writer may drop the text of trades again, because its memory is bounded.
//  3. A view is published at a command boundary: its book is never crossed, and a trade in it is no longer in its book.
//  4. A pair's seq never decreases from one root to a later one.
//  5. Trade ids are contiguous in a view; a published trade never changes.
//  6. A page or directory of a book is changed in place only in the generation that made it.
//  7. The state is a function of the events, and of the limits of retention that were set between them: it does not
//     depend on when events were folded, when views were published or when readers looked.
//
// The package does not match orders, knows no money except the fee that a fill shows, reads no clock, does no I/O and
// formats nothing.
package marketdata
