// Package server is the HTTP edge of the exchange, on fasthttp: it reads requests, checks
// them in the order of the contract, and answers from the views that marketdata has published.
//
// Owner: fasthttp runs one goroutine per connection. A handler owns only its Ctx, until it
// returns; everything else that it reads is atomic, or immutable once published.
//
// Invariants:
//
//  1. An answer loads the board's root once, so it shows one instant, even when it covers
//     all pairs.
//  2. Public GET handlers take no lock, never wait and never compress.
//  3. Every answer that is not 2xx or 304 is the error object of
//     docs/contract/errors.md#error-object, including the errors that fasthttp finds before
//     a route is known.
//  4. The checks of a request run in the order of docs/contract/errors.md#order-of-checks: size,
//     path, method, IP limit, media type, credentials, permission, user limit, parameters, unknown
//     thing, state.
//  5. One table (routes.go) lists every route; it drives the router, Allow, metrics and the
//     check of the OpenAPI document.
//  6. An internal listener without a token answers no request that a web page may have
//     sent (internal_gate.go). The only exception is /internal/v1/ready, which answers every
//     client.
//  7. This package makes no decision about money or matching: internal/entry reserves the money
//     of orders. It prints a number exactly or not at all.
//
// Reading order: options, server, edge, conn, conn_accept, routes, dispatch, ctx, query, params,
// dates, errors, client_ip, ratelimit, etag, respond, gzip, quote, then one file per
// resource (market_*, aggregator, meta, commissions) with its encode_* file;
// then accounts: account_gate (AccountDesk), account_auth, one file per resource (account_*,
// trading_*, internal_users*) and ws_private_feed.
//
// It does not know how views are made (marketdata), how orders are matched (engine), how they
// are built and submitted (internal/entry) or how a signature is verified and money is held
// (accounts).
package server
