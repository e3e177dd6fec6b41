// Package nets holds what must be true of every exchange, whatever its inside looks like, as checks that know
// nothing but addresses: HTTP, sockets and the documents of the exchange itself. They are for tests of any shape of
// the program: in one process, as a program, restored, a replica, after a takeover.
//
//	World    a state with something behind every route; Build makes it by requests alone
//	Reads    every GET of the OpenAPI documents, over a World: the answers of two nodes, or of two times, are compared
//	         by Differ
//	Chain    the fills, orders and balances that private channels send, compared with the lists
//	Reader   a client that reads after each of its own answers, also at the next process and the next writer
//	Seen     the codes of refusals, compared with the table of docs/contract/errors.md
//
// Owner: the goroutine of the test that makes a value.
//
// Invariants:
//
//  1. The package shares no code with the server: it signs and reads with package client, and takes routes,
//     parameters and defaults from the documents that a node serves.
//  2. Whatever a document has and this package does not know (a route's required parameter, a list without an
//     order) fails the test, so a new route is covered or named.
package nets
