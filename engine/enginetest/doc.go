// Package enginetest holds what the tests of the engine share with those of its shell: a
// generator of random commands, a reader that rebuilds a book from the events alone, and
// comparisons.
//
// Owner: a test. Nothing here is safe for two goroutines.
//
// Invariants:
//
//  1. The same seed gives the same commands.
//  2. Reader reads events only, never a structure of the engine.
package enginetest
