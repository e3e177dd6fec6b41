// Package edge is the HTTP edge of the exchange: the route table, and the checks and limits that every
// request passes before its handler runs. Its connections are package conn's.
//
// Owner: fasthttp runs one goroutine per connection. A handler owns only its Ctx, until it
// returns; everything else that it reads is atomic, or immutable once published.
//
// A request passes from left to right; what refuses it writes the answer (Listener.run):
//
//	target -> path -> method -> ready -> replica -> limit of an address -> media type -> credentials
//	                                        \                                                   |
//	                                         `-> the writer answers (forward)                   v
//	              answer <- handler <- fault rules <- seq that the client has seen <- query parameters
//
// Invariants:
//
//  1. Every answer that is not 2xx or 304 is the error object of docs/contract/errors.md#error-object, including the
//     errors that fasthttp finds before a route is known; a browser gets a page for a path without a route. The status
//     of a refusal is in refuse.Table.
//  2. The checks of a request run in the order of docs/contract/errors.md#order-of-checks: size,
//     path, method, IP limit, media type, credentials, permission, user limit, parameters, unknown
//     thing, state.
//  3. One table (routes.go) lists every route; it drives the router, Allow, metrics and the
//     OpenAPI documents.
//  4. No request waits for the compression of a document that is kept (package doc).
//
// It defines no route and verifies no signature: resources add routes, Options.Authenticate verifies. It knows nothing
// of the market: what it asks about pairs and users comes through its Options (internal/tidy/imports.go).
package edge
