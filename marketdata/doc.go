// Package marketdata is what readers see of the market: books, trades, candles and 24 h
// tickers, folded from the engine's event stream alone and published as immutable views.
//
// Owner: Feed and everything it holds belong to one goroutine (the engine loop's). What
// hangs from Board.Load is frozen and may be read by anyone without a lock.
//
// Invariants:
//
//  1. Events are folded in seq order, each exactly once; nothing else makes a trade.
//  2. A published thing never changes; only its write-once text caches go from nil to a
//     value that is a pure function of it.
//  3. A view is published at a command boundary: its book is never crossed.
//  4. A pair's seq never goes back from one root to a later one.
//  5. Trade ids are contiguous in a view; a published trade never changes.
//
// Reading order: trade, trade_ring, candle, candle_builder, candle_series, ticker, depth,
// view, board, feed, history.
package marketdata
