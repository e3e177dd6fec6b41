// Package replay feeds recorded markets through order entry and compares what the exchange
// publishes with the recording.
//
//	files --> format.Reader --> format.Record --> feeder --> order entry (engine loop)
//	                                  |                             |
//	                                  +-------> checker <-- Public -+  published market data
//
// How to use it:
//
//	r, err := replay.New(replay.Options{Format: "lobster", Files: files, Speed: "max", Check: true})
//	// a *input.LineError names file, line, column, finding and remedy; nothing was started yet
//	clk := clock.NewManual(r.StartNs())  // the loop's virtual clock
//	spec := r.PairSpec()                 // add this pair with an engine.AddPair command
//	r.UseTaker(taker)                    // an account other than Options.Maker
//	// print "ready"
//	report, err := r.Run(ctx, loop, pairID, &replay.HTTP{BaseURL: url, Pair: spec.Code, ...})
//	for _, line := range report.Lines() { fmt.Println(line) }
//
// Package format turns text into records. The feeder turns records into commands; the
// recording's shape decides how: trades and bars (feeder.go), order messages with the book
// after each (feed_messages.go), an order log with books now and then (feed_log.go), level
// updates with trades (feed_levels.go), order messages of which several are one event
// (feed_orders.go). The checker compares after each record and at the end.
//
// Owner: a Replay belongs to the goroutine that calls Run, which uses the engine's loop
// only through Entry. A feeder and a checker live for one pass.
//
// Invariants:
//
//  1. Every trade comes from the core: a recorded trade without orders becomes a maker
//     and a taker at its price, and nothing of them stays in the book.
//  2. Commands carry the recorded times; time never goes back.
//  3. The same files give the same commands: no map order, no machine time decides.
//  4. Checks compare with published market data, never with what the replay itself holds.
//  5. The report counts everything that is taken from the file instead of predicted.
//  6. New reads everything once (format.Learn) and refuses files that cannot be replayed or
//     would be read wrongly; a run that has begun can only fail in order entry or in reading.
//  7. Tolerated flaws of a file are counted, and Report.Notes reports them.
//
// A trade without a side gets it by the tick rule. A bar is made of the fewest trades, a
// millisecond apart from its start, that have its open, high, low, close and volume.
//
// A hidden execution of LOBSTER is a trade apart from the book (feed_messages.go). Crosses and halts are not fed: they do not
// change the displayed book, and the file does not name their participants. A Bitstamp log may report an order again
// after its deletion, or for the first time: the replay remembers the newest 262,144 deleted
// ids, and neither report changes the book (an id beyond them is treated as an order that
// rested before the log begins, and counted).
//
// A new format touches one reader in package format, a line of its table, the docs and a golden
// recording here; this package changes only for a new shape.
//
// It does not wire a server, own a clock or know the API's handlers.
package replay
