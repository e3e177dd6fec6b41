// Package server holds no code but the tests of what edge and conn do for every route. They need a whole server: beside
// the tests of edge itself they would make the compiler build all that is above edge twice. The packages below it serve
// the exchange over HTTP and WebSocket, on fasthttp:
//
//	conn        a listener that bounds who is connected    doc      a rendered document: tag, gzip, parts
//	edge        route table, checks of a request, limits, errors, probes
//	json        JSON in and out, exact and strict       objects  the market's objects that several audiences take
//	public      market data, listing and datafeed routes, status
//	stream      WebSocket: the sockets of all protocols; the native streams, their resume and private channels
//	private     what happens to watched accounts, for the sockets
//	account     users, keys, referral, signed trading   agents   launchpad and hive
//	binance     the interface of another exchange       forward  from a replica to the writer
//	admin       the internal listener                   web      page, documentation, OpenAPI
//	servertest  the rigs of their tests
//
// Owner: none here; fasthttp runs one goroutine per connection, and the hub is one goroutine.
//
// Invariants:
//
//  1. A package has one audience. What it needs of another comes through its Options. Two packages import stream:
//     account for the form of private messages, binance for its sockets (internal/tidy/imports.go).
//  2. No package decides about money or matching: the engine does, and asks accounts for the money of an order. A
//     package prints a number exactly or not at all.
//
// It does not know how views are made (marketdata), how orders are matched (engine), how they are built and submitted
// (internal/entry) or how a signature is verified and money is held (accounts).
package server
