// Package json writes JSON.
//
// A Writer puts names, quotes, commas and brackets around the values of an answer, a message or a document, so that a
// function that writes one reads like the table of the contract.
//
// Owner: none; a Writer belongs to the function that made it.
//
// Invariants:
//
//  1. A number is printed exactly, or not at all; what rounds says so in its name or its comment.
//  2. Writing allocates nothing when the buffer has room.
//
// It knows numbers (internal/fixed), nothing of the market and no HTTP.
package json
