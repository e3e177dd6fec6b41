// Package limit is the book of the floor: it matches orders by price and time in flat arrays, with as little work as
// possible. limit.go is an unchanged copy, so the rules for the project's code do not apply to it (package floor).
package limit
