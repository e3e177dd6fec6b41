// Package server is the fasthttp edge of the exchange: it reads requests, checks them in
// the order of the contract, and answers from what marketdata has published.
//
// Owner: fasthttp runs one goroutine per connection. A handler owns its Ctx until it
// returns and nothing else; what it reads is immutable once published or atomic.
//
// Invariants:
//
//  1. One load of the board's root per answer: an answer is from one instant, also over
//     all pairs.
//  2. Public GET handlers take no lock, wait for nobody and never compress.
//  3. Every answer that is not 2xx or 304 is the error object of
//     docs/contract/errors.md#error-object, also those that fasthttp gives before a route is known.
//  4. The checks of a request come in the order of docs/contract/errors.md#order-of-checks: size,
//     path, method, IP limit, media type, credentials, permission, user limit, parameters, unknown
//     thing, state.
//  5. Every route stands in one table (routes.go); router, Allow, metrics and the check
//     of the OpenAPI document are driven by it.
//  6. An internal listener without a token answers no request that a web page may have
//     sent (internal_gate.go), whatever the route; /internal/v1/ready alone answers anybody.
//  7. Nothing here decides about money or matching; a number is printed exactly or not
//     at all.
//
// Reading order: options, server, edge, conn, conn_accept, routes, dispatch, ctx, query, params,
// dates, errors, client_ip, ratelimit, etag, respond, gzip, quote, then one file per
// resource (market_*, aggregator, meta, commissions) with its encode_* beside it;
// then accounts: account_gate (AccountDesk), account_auth, account_hold, account_submit,
// account_fold, one file per resource (account_*, trading_*, internal_users*) and
// ws_private_feed.
//
// It does not know how views are made (marketdata), how orders are matched (engine) or
// how a signature is verified and money is held (accounts).
package server
