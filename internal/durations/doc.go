// Package durations counts how long things take.
//
// Owner: any goroutine; a Histogram takes no lock.
//
// Invariant: a reader may see a count without its sum or the reverse for a moment, never a count that goes back.
package durations
