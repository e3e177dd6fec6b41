// Package refuse holds Refusal, the one type of a refused request: the reason, the field and a
// message.
//
// A refusal is a business outcome: accounts, launchpad, hive and the edge return it as a
// value, and nothing was changed. Table says of each code what the exchange answers, over HTTP and in the
// Binance-compatible interface, and when. It names reasons of the engine, whose package it does not import.
//
// Owner: a Refusal is immutable once it is returned; any goroutine may read it.
//
// Invariants:
//
//  1. A nil *Refusal means that nothing was refused. It is never returned as an error: an error interface that holds a
//     nil *Refusal is not nil.
//  2. A message names the rule and its limit and never contains a secret.
package refuse
