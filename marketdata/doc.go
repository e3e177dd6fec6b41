// Package marketdata is what readers see of the market: books, trades, candles and 24 h
// tickers, folded from the engine's event stream alone and published as immutable views;
// and beside them the order history, a fold for the loop's own questions.
//
// Owner: Feed and everything it holds belong to one goroutine (the engine loop's), the
// History too. What hangs from Board.Load is frozen and may be read by anyone, without a
// lock, as long as they like.
//
// Invariants:
//
//  1. Events are folded in seq order, each exactly once; nothing else makes a trade or a
//     candle.
//  2. A published thing never changes; only its kept texts come, each a pure function of
//     it. The text of trades may go again, because its memory is bounded.
//  3. A view is published at a command boundary: its book is never crossed, and a trade
//     in it is no longer in its book.
//  4. A pair's seq never goes back from one root to a later one.
//  5. Trade ids are contiguous in a view; a published trade never changes.
//  6. A page or directory is changed in place only in the generation that made it.
//  7. The state (state.go) is a function of the events: it does not know when they were
//     folded, when views were published or when anyone looked.
//
// Memory of a pair, at the default bounds and all of them full: trades 40 bytes each, at
// most 2,000,000 (80 MB; 10,000 are 0.4 MB); level changes 24 bytes each, at most 6 MiB;
// candles 6.4 MB; window 12.6 MB; book 24 to 80 bytes a level and up to twice that while a
// reader holds an older view; a page that was read keeps, for each of its two forms, its
// rows and 352 bytes, and a directory of a deep book that was read keeps them once more,
// joined. Of the kept documents there is at most one a kind; a book's is in one piece only
// when it is above 64 KB and was asked for twice. Pages of trades outlive their view, to be
// patched (33 KB for the two of a pair). The text kept of closed trade chunks is 64 MB over
// all pairs. The order history is counted in history.go.
//
// Reading order: trade, trade_ring, chunk_text, interval, candle, candle_builder,
// candle_series, queue, window, ticker, page, page_text, side, side_text, doc_text, depth,
// level_log, view, board, pair_state, feed, publish, due, sink; then history, history_store, history_fold, fill,
// history_query, order_page, order_walk, fill_walk; then state, history_state.
//
// It does not match, does not know money beyond the fee a fill shows, reads no clock,
// does no I/O and formats nothing.
package marketdata
