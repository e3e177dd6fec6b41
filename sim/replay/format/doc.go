// Package format reads recorded markets: the text of a format becomes records, in ticks and
// lots.
//
//	text --> Reader --> Record --> package replay (feeder, checker)
//
// A reader knows its format and nothing of the exchange. A recording is read twice: Learn runs
// the survey, which refuses what cannot be replayed or would be read wrongly and finds the
// digits of prices and amounts; after Survey.Choose the records carry ticks and lots.
//
//	r, err := format.New("trades", files) // nil: no such format
//	s, err := format.Learn(r)             // a *input.LineError names file, line, column, finding and remedy
//	price, amount, err := s.Choose(0, 0, false)
//	err = r.Open(s)
//	for err == nil {
//		err = r.Next(&record) // io.EOF after the last
//	}
//
// Owner: the goroutine that calls Next owns the reader, its files and the Record. Retains:
// nothing; Next overwrites the whole Record and reuses its slices.
//
// Invariants:
//
//  1. The times of records never go back. A stream that several receivers wrote may cross by a
//     second (stream.go); its later line counts for the time before it.
//  2. Lines are bounded (input.MaxLine), and a file that is one JSON document is bounded
//     (input.MaxDocument). Both may be packed. Package input reads them.
//  3. Numbers are decimals of package fixed. No float64 reads a price or an amount.
//  4. What is refused names its place and its remedy. What is tolerated is counted in Notes.
//  5. The same files give the same records.
//
// To add a format write one file with a Reader, and add its line to the table of formats.go,
// its name and its refusals to docs/contract/recordings.md, and a golden recording
// to sim/replay/golden_X_test.go. Use input.Lines or stream (bounded text), input.Columns (CSV), level and text
// (JSON), Survey.trade and Survey.book (ticks and lots), input.ReadTime and ReadUnix, and input.FlawAt for
// refusals. Survey.Shape says how the records are fed and compared; a new shape also needs a
// feed in package replay.
//
// Columns of the trades format: time,price,amount[,side] or, for bars,
// time,open,high,low,close,volume; a header row or NDJSON members may name them in another
// order (trades_columns.go). A time is Unix s, ms, us or ns (its size decides, and the
// whole file uses one unit), or a written date; in a file whose name carries a date (20161007,
// 2012-06-21) whole numbers below a day of milliseconds count from its midnight, UTC. The
// side is the taker's (buy or sell). Given bars of several lengths, the finest are fed and the
// coarser ones compared with the candles.
//
// Refused, because they would be read wrongly: a date and a time of day in two columns without names,
// dates of digits alone (20240102), Unix times before 1980, several symbols without a pair, updates of an
// order book, two columns that may be the base amount, bars without a volume, rows with
// more or fewer columns than the others.
//
// LOBSTER's seconds after midnight count from midnight UTC of the date in the file name
// (2000-01-01 without one). A depth stream of Binance needs a depth snapshot in the same file.
//
// It does not know commands, orders, published market data or the clock of a market.
package format
