// Package input reads the text of recorded files: lines, the cells of a row, numbers and times. It names the places of
// problems.
//
//	l, err := input.Open(path) // plain, gzip, zstd, zip, DBN or Parquet: the first bytes decide
//	line, err := l.Next()      // io.EOF after the last
//	n := input.Columns(line, ',', cells)
//	return l.Refuse(input.FlawAt(cells[1].At, "write a price", "price %q", input.Clip(cells[1].Text)))
//
// Owner: one goroutine owns a Lines. Retains: nothing; a line is valid until the next call.
//
// Invariants:
//
//  1. A line has at most MaxLine bytes, a document MaxDocument.
//  2. A *LineError names file, line, column, finding and remedy. A flaw is an error of a parser that knows the offset
//     in its text alone; Lines.Refuse turns it into a LineError.
//  3. Numbers are exact decimals (package decimal).
//
// It knows no format and no records.
package input
