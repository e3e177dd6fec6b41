// Package step is the shape of a component that a scheduler drives: its Step does one bounded
// piece of work and returns. The program repeats Step in one goroutine per component; a simulation
// calls the steps of all components in one goroutine, in an order that it chooses (Driver).
//
// Owner: one goroutine calls the steps of a component.
//
// Invariants:
//
//  1. A Step never waits for another goroutine or for time to pass.
//  2. A Step after Stopped does nothing and returns Stopped again.
//
// The package has no scheduler, starts no goroutine but that of Background, and reads no clock but the one that it is
// given.
package step
