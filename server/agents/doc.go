// Package agents serves the launchpad and the hive: their public routes, their internal routes, and
// the ledger as accounts see it.
//
// Owner: handlers run on the goroutine of their connection and read the published views.
//
// Invariants:
//
//  1. The hive's view is loaded before the launchpad's, so each worker has its token.
//  2. Votes of a user are limited apart from the requests of an address.
//  3. Free-form members (metadata, payloads) are sent as they came, with or without decimals=string.
//
// It decides nothing: launchpad and hive do.
package agents
