// Package packed returns the text of a recorded file: plain, gzip, zstd or a zip with one file, in UTF-8 or UTF-16, or
// the rows of a binary format as CSV.
//
//	file --> Open --> Text.Reader (UTF-8)
//
// Backward reads the lines of a text from its end, Elements the elements of a JSON array as lines.
//
// Owner: one goroutine owns a Text. Retains: its decoders, until Close.
//
// Invariants:
//
//  1. The first bytes decide, not the name.
//  2. What a decoder holds is bounded, and so is a text by the size of its file: a short file must not make a replay
//     read without end.
//
// It does not know columns or formats.
package packed
