// Package format reads recorded markets: the text of a format becomes records, in ticks and lots. What each format may
// hold and what is refused is in docs/contract/recordings.md.
//
//	file --unpack.go--> text --lines.go--> Reader --> Record --> package replay (feeder, checker)
//
// A reader knows its format and nothing of the exchange. A recording is read twice: Learn runs the survey, which
// refuses what cannot be replayed or would be read wrongly and finds the digits of prices and amounts; after
// Survey.Choose the records carry ticks and lots.
//
// To add a format write one file with a Reader, and add its line to the table formats, its name and its refusals to
// the contract, and a golden recording to sim/replay.
//
// Owner: the goroutine that calls Next owns the reader, its files and the Record. Next overwrites the whole Record and
// reuses its slices.
//
// Invariants:
//
//  1. The times of records never go back. A stream that several receivers wrote may cross by a second (stream.go); its
//     later line counts for the time before it.
//  2. Lines, JSON documents and the text of a packed file are bounded.
//  3. Numbers are exact decimals. No float64 reads a price or an amount.
//  4. What is refused names its place and its remedy (LineError). What is tolerated is counted in Notes.
//  5. The same files give the same records.
//
// It does not know commands, orders, published market data or the clock of a market.
package format
