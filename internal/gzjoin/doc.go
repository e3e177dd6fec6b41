// Package gzjoin compresses the pieces of a document apart from each other and joins them to one gzip file. A piece
// that many documents share is compressed once.
//
// A Part holds DEFLATE blocks that end on a byte and refer to nothing before them, so parts can follow each other
// in any order. The result has one gzip member, because not every client reads a second one.
//
// Owner: none; a Joiner belongs to one document.
//
// The package does not cache: the owner of a piece does.
package gzjoin
