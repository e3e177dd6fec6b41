// Package refuse holds the one type of a refused request: why, about which field, in one
// sentence.
//
// A refusal is a business outcome: accounts, launchpad, hive and the edge return it as a
// value, and nothing was changed. It knows no transport; server maps its code to an HTTP
// status in one table.
//
// Owner: immutable once made; any goroutine may read it.
//
// Invariants:
//
//  1. A nil *Refusal means that nothing was refused. Return it as an error through AsError
//     only: a nil *Refusal in an error interface is not nil.
//  2. A message names the rule and its limit and never contains a secret.
//
// Reading order: refusal.go, codes.go.
package refuse
