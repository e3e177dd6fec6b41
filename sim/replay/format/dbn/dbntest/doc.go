// Package dbntest makes small DBN files for tests, from the documented layout.
//
//	file := dbntest.File(3, dbntest.MBO, map[uint32]string{7: "AAPL"}, dbntest.Order{...}.Bytes(), ...)
//
// Owner: the caller. Retains: nothing. It does not read, and is for tests alone.
package dbntest
