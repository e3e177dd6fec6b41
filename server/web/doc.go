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
//
// Reading order: openapi.go, then app/ (the page) and swagger/ (vendored, see its LICENSE).
//
// It does not serve anything; package server does.
package web
