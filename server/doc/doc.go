// Package doc is a document that is rendered once and sent to many: a body with its tag, in one piece or in parts, and
// its gzip encoding.
//
// Owner: the goroutine that renders a document makes it. Once another goroutine can see it, it is frozen but for its
// joined and its compressed text, which are each set once; any goroutine may read it.
//
// A document in parts, by Doc.joined, and the compression of any document, by Doc.gzip:
//
//	rendered --first request, from 64 KiB on--> sent once --second request--> joined
//
//	rendered --first request that takes gzip--> scheduled --100 ms old, and the newest--> compressed
//	                                                \--replaced before--> never compressed
//
// Invariants:
//
//  1. Equal bodies have equal tags, also after a restart. All encodings of a body have one hash.
//  2. No request waits for a compression: until there is one, a client gets the body itself.
//  3. A document that is replaced more often than every 100 ms is never compressed.
//
// It knows neither HTTP nor what a document shows: who keeps a document says so by Place.
package doc
