// Package gzjoin compresses the pieces of a document apart from each other and joins them to one gzip file, so that a
// piece that many documents share is compressed once.
//
// Owner: none; a Joiner belongs to one document.
//
// Invariants:
//
//  1. A Part holds DEFLATE blocks that end on a byte and refer to nothing before them, so parts can follow each other
//     in any order.
//  2. The result has one gzip member, because not every client reads a second one.
//  3. Equal texts give equal parts and equal files.
//
// The package does not cache: the owner of a piece does.
package gzjoin
