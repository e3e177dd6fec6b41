// Package servertest holds the rigs of the server's tests: a market behind a public server
// (Market), an exchange with accounts on two listeners (Exchange), launchpad and hive (Agents), and the
// check of answers against the OpenAPI document.
//
// Owner: the test that makes a rig; its cleanup stops everything.
//
// Invariants:
//
//  1. A rig listens in memory and has a virtual clock: no test waits for time to pass.
//  2. Every answer of a described route is checked against its description.
//
// It imports every package below server, so only external tests may import it.
package servertest
