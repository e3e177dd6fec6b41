// Package owners holds what a pair knows of the accounts that trade on it: how many orders each
// has open, and the client order ids that it remembers.
//
// Owner: the goroutine of the book.
package owners
