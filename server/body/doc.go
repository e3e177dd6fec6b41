// Package body reads request bodies strictly: a pull reader over JSON, and the bodies of orders,
// which two listeners take.
//
// Owner: a Reader belongs to the goroutine of its request. The texts that it returns alias the
// body; copy them to retain them.
//
// Invariants:
//
//  1. A member that is unknown, occurs twice or has another type is an error that names the member.
//  2. A decimal stays text until the digits of its pair are known.
//  3. The first broken member in the order of the contract is reported, not the first of the body.
//
// It applies no rule of the market: internal/entry builds commands, the engine refuses.
package body
