// Package dbn reads Databento Binary Encoding, versions 1 to 3, and returns it as the CSV text that Databento offers
// for the same data, with fewer columns.
//
//	bytes --> NewReader (metadata) --> Reader.Read (a header, then one row for each record)
//
// Owner: one goroutine owns a Reader and its input. Retains: the symbols of the metadata.
//
// Layout, all little endian: "DBN", the version, the length of the metadata; 100 fixed bytes (dataset, schema, range,
// symbology); lists of symbols; for each symbol, the dates on which it had which instrument id. Then records: length in
// words of 4 bytes, type, publisher, instrument id, time, and the fields of the type.
//
// Invariants:
//
//  1. No length of the file decides an allocation: what is read grows with the bytes that are there, up to maxMetadata.
//  2. A record has exactly the length of its type, and the type of the schema.
//  3. Errors name the record and its offset in the file. No bytes cause a panic.
//
// It does not unpack, and knows nothing of books, trades or pairs.
package dbn
