// Package server holds no code. The packages below it serve the exchange over HTTP and WebSocket,
// on fasthttp; each has one audience:
//
//	edge        listeners, route table, checks of a request, limits, errors
//	body        strict readers of request bodies        encode   JSON of market data and decimals
//	public      market data, listing and datafeed routes, status
//	stream      WebSocket: hub, connections, resume     private  the feed of its private channels
//	account     users, keys, referral, signed trading   agents   launchpad and hive
//	admin       the internal listener                   web      page, documentation, OpenAPI
//	servertest  the rigs of their tests
//
// Owner: none here; fasthttp runs one goroutine per connection, and the hub is one goroutine.
//
// Invariants:
//
//  1. A package imports edge, body, encode and private, and never another audience: what one needs
//     of another comes through its Options (internal/tidy/imports.go).
//  2. No package decides about money or matching: internal/entry reserves the money of orders. It
//     prints a number exactly or not at all.
//
// Reading order: encode, edge, body, public, account, admin, agents, private, stream, web.
//
// It does not know how views are made (marketdata), how orders are matched (engine), how they
// are built and submitted (internal/entry) or how a signature is verified and money is held
// (accounts).
package server
