// Package json writes and reads JSON, exactly and strictly.
//
//	Writer puts names, quotes, commas and brackets around the values of an answer, a message or a document
//	Reader moves over a text without building a tree
//	Form   declares the members of a body once, each with its Field and the function that reads it
//	Field  describes a value: name, kind, bounds, default; the OpenAPI documents are made of fields
//
// A function that writes an object, and a Form, read like the table of the contract.
//
// Owner: a Writer belongs to the function that made it, a Reader to the goroutine of its request; the texts that it
// returns alias the body. A Form and a Field are immutable.
//
// Invariants:
//
//  1. A number is printed exactly, or not at all; what rounds says so in its name or its comment.
//  2. Writing allocates nothing when the buffer has room.
//  3. A member that is unknown, occurs twice or has another type is an error that names the member.
//  4. A decimal of a body stays text until its digits are known.
//  5. The first broken member in the order of the contract is reported, not the first of the body.
//
// The package knows numbers (internal/fixed) and refusals, nothing of the market and no HTTP.
package json
