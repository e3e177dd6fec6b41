// Package replay feeds recorded markets through order entry and compares what the exchange publishes with the recording
// (docs/contract/recordings.md).
//
//	files --> format.Reader --> format.Record --> feeder --> order entry (engine loop)
//	                                  |                             |
//	                                  +-------> checker <-- Public -+  published market data
//
// New reads everything once (format.Learn) and refuses files that cannot be replayed or would be read wrongly; a run
// that has begun can only fail in order entry or in reading. The shape of the recording decides how records become
// commands: one feed for each shape (feed_orders.go and its siblings). Why no feed is the input of another:
// docs/adr/0101-a-shape-of-recording-keeps-its-feed.md. A new format touches one reader in package
// format, a line of its table, the documents and a golden recording here; this package changes only for a new shape.
//
// Owner: a Replay belongs to the goroutine that calls Run, which uses the engine's loop only through Entry. A feeder
// and a checker live for one pass.
//
// Invariants:
//
//  1. Every trade comes from the core: a recorded trade without orders becomes a maker and a taker at its price, and
//     nothing of them stays in the book.
//  2. Commands carry the recorded times; time never goes back.
//  3. The same files give the same commands: no map order, no machine time decides.
//  4. Checks compare with published market data, never with what the replay itself holds.
//  5. The report counts everything that is taken from the file instead of predicted, and the flaws that were tolerated.
//
// It does not wire a server, own a clock or know the API's handlers.
package replay
