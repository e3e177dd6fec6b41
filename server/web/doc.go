// Package web holds the files that the server sends to browsers: the market page, Swagger UI
// and the OpenAPI and AsyncAPI descriptions. The binary embeds them, so nothing is fetched from another
// host at run time.
//
// Owner: none; every file is a constant of the build.
//
// Invariants:
//
//  1. openapi/skeleton/*.json holds the facts of the route table: paths, methods, parameters, bodies,
//     credentials, statuses. "go generate ./server/web" writes it, "make drift" compares it.
//     openapi/*.json adds prose, examples and answers, and repeats nothing of it; describe.go
//     lists its short forms.
//  2. No file refers to another host. Files refer to each other by relative paths, pages by /app/NAME and
//     /swagger/NAME, which get their hash when the route table is made.
//  3. The market page is as high as the viewport (560 px at least) and never wider: its
//     panels scroll, the document does not.
//  4. The chart shows the candles of /api/ohlc, which /udf/history answers in fewer bytes, and reads
//     them again on each snapshot of its stream, that is after each reconnect.
//  5. A key pair is in the session storage of its tab, and in no address.
//  6. app/*.js and app/style.css are bundles of src, which "go generate ./server/web" writes.
//     A first visit of the market page transfers at most 110 KB.
//
// Tests and scripts may rely on these parts of the market page: data-panel on its panels (pairs,
// chart, book, tape, ticket, orders), data-pair on the rows of the list, data-interval on
// the chart's buttons, data-tab on the tabs of a phone, data-list on
// the lists of orders, and on the console tickhive.candles(), which returns the candles that are
// drawn, tickhive.lines(), the price lines of orders, and tickhive.now(), the page's clock.
//
// Reading order: openapi.go, describe.go, asyncapi.go, page.go, asset.go, then src/ (the scripts and styles of the
// page), app/ (what is embedded of it) and swagger/ (vendored, see its LICENSE).
//
// It renders nothing: the page reads the public routes.
package web
