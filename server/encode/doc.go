// Package encode has what the feeds of accounts append to JSON until they write it with a json.Writer.
//
// Owner: none; every function is pure and appends to the caller's buffer.
package encode
