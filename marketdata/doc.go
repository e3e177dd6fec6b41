// Package marketdata folds the engine's event stream into books, trades, candles and 24 h
// tickers, and publishes them as immutable views for readers. It also folds the order history,
// which the loop's goroutine queries.
//
// Owner: Feed, History and everything they hold belong to one goroutine, the engine loop's.
// Everything reachable from Board.Load is frozen: any goroutine may read it without a lock and
// retain it for any time.
//
// Invariants:
//
//  1. The feed folds events in seq order, each exactly once; nothing else makes a trade or a
//     candle.
//  2. A published value never changes, except that readers add cached texts, each a pure
//     function of the value. The writer may drop the text of trades again, because its memory
//     is bounded.
//  3. A view is published at a command boundary: its book is never crossed, and a trade
//     in it is no longer in its book.
//  4. A pair's seq never decreases from one root to a later one.
//  5. Trade ids are contiguous in a view; a published trade never changes.
//  6. A page or directory is changed in place only in the generation that made it.
//  7. The state (state.go) is a function of the events: it does not depend on when events
//     were folded, when views were published or when readers looked. The takers' sums of a
//     candle are known or not: a snapshot of an older program lacks them.
//
// Memory of a pair at the default limits, all of them full: trades 40 bytes each, at most
// 2,000,000 (80 MB; 10,000 are 0.4 MB); level changes 24 bytes each, at most 6 MiB; candles 9.6
// MB; window 12.6 MB; book 24 to 80 bytes a level and up to twice as much while a reader holds
// an older view. A page that was read caches, for each of its two forms, its rows and 352 bytes;
// a directory of a deep book that was read caches the same rows once more, joined. A view caches
// at most one document of each kind; it caches a book in one piece only when the book is above
// 64 KB and was requested twice. Pages of trades outlive their view, to be patched (33 KB for
// the two of a pair). The cached text of closed trade chunks is at most 64 MB over all pairs.
// The memory of the order history is in the comment of History.
//
// Reading order: options, trade, trade_ring, chunk_text, interval, candle, candle_builder,
// candle_series, queue, window, ticker, page, page_text, side, side_text, doc_text, depth,
// level_log, view, board, pair_state, feed, publish, due, sink, stats; then history,
// history_store, history_fold, fill, history_query, order_page, order_walk, fill_walk; then state,
// history_state.
//
// The package does not match orders, knows no money except the fee that a fill shows, reads no
// clock, does no I/O and formats nothing.
package marketdata
