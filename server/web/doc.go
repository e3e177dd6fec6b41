// Package web holds the files that the server sends to browsers: the market page, the documentation, Swagger UI and the
// OpenAPI and AsyncAPI descriptions; and the page of tickhive cluster demo. The binary embeds them, so nothing is
// fetched from another host at run time.
//
// Owner: none; every file is a constant of the build.
//
// Invariants:
//
//  1. The OpenAPI documents are made of the route tables when the first client asks: paths, parameters, bodies,
//     statuses and texts. openapi/*.json adds components: schemas, and answers and examples by the names of routes.
//  2. No file refers to another host. Files refer to each other by relative paths, pages by /app/NAME and
//     /swagger/NAME, which get their hash when the route table is made.
//  3. The market page is as high as the viewport (560 px at least) and never wider: its panels scroll, the document
//     does not.
//  4. The chart shows the candles of /api/ohlc, which /udf/history answers in fewer bytes, and reads them again on each
//     snapshot of its stream, that is after each reconnect.
//  5. A key pair is in the session storage of its tab, and in no address.
//  6. app/*.js and app/style.css are bundles of src. A first visit of the market page transfers at most 130 KB.
//  7. Tests and scripts may rely on data-panel, data-pair, data-interval, data-tab and data-list of the market page,
//     and on the console: tickhive.candles(), lines(), studies(), price(), alerts() and now() return what is
//     drawn. The page of the launchpad has tickhive.candles() of its token.
//
// It renders each page of docs/ when the first client asks for the page. The market page reads the public routes.
package web
