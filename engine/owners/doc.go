// Package owners holds what a pair knows of the accounts that trade on it: how many orders each has open, and the
// client order ids that it remembers.
//
// Owner: the goroutine of the book.
//
// Invariants:
//
//  1. An account is here while it has an open order, a waiting stop or a remembered client id; the built-in account
//     always.
//  2. The id of an open order is remembered. Of ended orders the newest are, within a window of the account and one of
//     the pair.
//  3. Which ids are remembered depends on the pair's commands alone, not on where a table holds them.
//
// It does not know prices, amounts or money, and reads no order.
package owners
