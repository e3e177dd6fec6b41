// Package edge is the HTTP edge of the exchange: the route table, and the checks and limits that every
// request passes before its handler runs. Its connections are those of package conn.
//
// Owner: fasthttp runs one goroutine per connection. A handler owns only its Ctx, until it
// returns; everything else that it reads is atomic, or immutable once published.
//
// Invariants:
//
//  1. Every answer that is not 2xx or 304 is the error object of
//     docs/contract/errors.md#error-object, including the errors that fasthttp finds before
//     a route is known; a browser gets a page for a path without a route. One table (answer.go)
//     maps a reason to its status.
//  2. The checks of a request run in the order of docs/contract/errors.md#order-of-checks: size,
//     path, method, IP limit, media type, credentials, permission, user limit, parameters, unknown
//     thing, state.
//  3. One table (routes.go) lists every route; it drives the router, Allow, metrics and the
//     OpenAPI documents.
//  4. No request waits for the compression of a document that is kept (package doc).
//
// It defines no route and verifies no signature: resources add routes, Options.Authenticate verifies.
package edge
