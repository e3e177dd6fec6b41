// Package replay feeds recorded markets through order entry: NASDAQ order messages
// (lobster), order logs (bitstamp), trades and candles (kraken), raw streams (binance) and
// plain files of trades or bars (trades). Plain or gzip.
//
// How to use it:
//
//	r, err := replay.New(replay.Options{Format: "lobster", Files: files, Speed: "max", Check: true})
//	// a *LineError names file, line, column, finding and remedy; nothing was started yet
//	clk := clock.NewManual(r.StartNs())  // the loop's virtual clock
//	spec := r.PairSpec()                 // add this pair with an engine.AddPair command
//	// print "ready"
//	report, err := r.Run(ctx, loop, pairID, &replay.Board{Board: feed.Board(), Pair: spec.Code})
//	for _, line := range report.Lines() { fmt.Println(line) }
//
// With &replay.HTTP{...} instead of &replay.Board the checks ask the public API itself.
//
// Owner: a Replay belongs to the goroutine that calls Run, which uses the engine's loop
// only through Submit and AdvanceTo.
//
// Invariants:
//
//  1. Every trade comes from the core: a recorded trade without orders becomes a maker
//     and a taker at its price, and nothing of them stays in the book.
//  2. Commands carry the recorded times; time never goes back.
//  3. The same files give the same commands: no map order, no machine time decides.
//  4. Readers are streams with bounded lines; a file that is one JSON document is bounded.
//  5. Checks compare with published market data, never with what the replay itself holds.
//  6. The report counts everything that is taken from the file instead of predicted.
//  7. New reads everything once (survey) and refuses files that cannot be replayed or would
//     be read wrongly; a run that has begun can only fail in order entry or in reading.
//  8. Tolerated flaws of a file are counted, and Report.Notes reports them.
//
// Columns of the trades format: time,price,amount[,side] or, for bars,
// time,open,high,low,close,volume; a header row or NDJSON members may name them in another
// order (trades_columns.go). A time is Unix s, ms, us or ns (its size decides, and the
// whole file uses one unit), or a written date; in a file whose name carries a date (20161007,
// 2012-06-21) whole numbers below a day of milliseconds count from its midnight, UTC. The
// side is the taker's (buy or sell); without it the tick rule decides. A bar is made of the
// fewest trades, a millisecond apart from its start, that have its open, high, low, close
// and volume. Given bars of several lengths, the finest are fed and the coarser ones
// compared with the candles.
//
// Refused, because they would be read wrongly: a date and a time of day in two columns,
// dates of digits alone (20240102), Unix times before 1980, several symbols, updates of an
// order book, two columns that may be the base amount, bars without a volume, rows with
// more or fewer columns than the others.
//
// LOBSTER's seconds after midnight count from midnight UTC of the date in the file name
// (2000-01-01 without one). Hidden executions, crosses and halts are not fed: they do not
// change the displayed book, and the file does not name their participants.
//
// A depth stream of Binance needs a depth snapshot in the same file. A Bitstamp log may report
// an order again after its deletion, or for the first time: the replay remembers the newest
// 262,144 deleted ids, and neither report changes the book (an id beyond them is treated as
// an order that rested before the log begins, and counted). Times of these two may go back by a
// second, since several receivers write one file.
//
// Reading order: options, replay, feed, survey, lines, line_error, decimal, times, desk, then
// one format after the other: X_read (text to records), X (records to commands), X_check;
// public, public_http.
//
// It does not wire a server, own a clock or know the API's handlers.
package replay
