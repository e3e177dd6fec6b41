//go:build race

package servertest

// RaceOn reports whether the race detector is on. The detector makes sync.Pool drop a quarter of
// the values on purpose, so that allocations cannot be counted.
const RaceOn = true
