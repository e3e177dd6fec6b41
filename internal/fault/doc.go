// Package fault holds the rules of faults on demand and decides when they apply
// (docs/contract/faults.md). The listeners (server/edge) and the streams (server/stream) apply them.
//
// Owner: any goroutine reads the rules with one atomic load. Switch serializes the changes.
//
// Invariants:
//
//  1. A decision is a function of the rule's text, its seed and the number of its matches, so that a run repeats.
//  2. Without rules a reader pays for one atomic load of a nil pointer.
//  3. Rules, matches and everything that is held back are bounded.
//
// It changes no answer, no message and no state of the market itself.
package fault
