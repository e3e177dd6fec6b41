// Package web holds what a browser gets from the server: the market page, Swagger UI and
// the OpenAPI description, embedded in the binary so that nothing is fetched from
// anywhere else at run time.
//
// Owner: nobody; everything here is a constant of the build.
//
// Invariants:
//
//  1. openapi/*.json together are the description of every public route; a test of
//     package server compares them with the router.
//  2. No file refers to another host.
//  3. The market page is as high as the viewport (560 px at least) and never wider: its
//     panels scroll, the document does not.
//  4. The chart shows the candles of /api/ohlc: each snapshot of its stream, so each
//     reconnect, makes it read them again.
//
// What tests and scripts may rely on in the market page: data-panel on its panels (pairs,
// chart, book, tape, ticket, orders), data-pair on the rows of the list, data-interval on
// the chart's buttons, data-tab on the tabs of a phone, and tickhive.candles() on the
// console, which returns the candles that are drawn.
//
// Reading order: openapi.go, then app/ (the page) and swagger/ (vendored, see its LICENSE).
//
// It does not serve anything; package server does.
package web
