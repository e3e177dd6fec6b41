// Package parquet reads the flat columns of a Parquet file and returns its rows as CSV text, the first line with the
// names of the columns.
//
//	file --> NewReader (metadata) --> Reader.Read (a header, then one row for each row of the file)
//
// Nested columns are left out. Times become Unix ns, decimals keep their digits, floats are the shortest decimal that
// gives them, nulls are empty.
//
// Owner: one goroutine owns a Reader and its file. Retains: the metadata, and a page and a dictionary of each column.
//
// parquet-go decodes the metadata and the headers of pages. Its readers of pages are not used, because they allocate
// what the runs of a page claim: a file of 1,482 bytes with sound metadata and sizes, and 40 runs of 16 Mi values, made
// v0.32.0 allocate 8.1 GB and return no error. A guard in front of them would have to unpack every page and walk its
// runs, which is most of this package; and they would add 5.0 MB to a program of 46.3 MB, instead of 0.6.
//
// Invariants:
//
//  1. No length of the file decides an allocation before it was compared with the bytes that are there or with a bound
//     (thrift.go, the max constants).
//  2. A row has a value or a null of every column. Every column of a row group has as many as the group has rows.
//  3. Errors name row group, column and offset. No bytes cause a panic.
//
// It does not know what a column means.
package parquet
