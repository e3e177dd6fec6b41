//go:build race

package server_test

// raceOn reports whether the race detector is on. The detector makes sync.Pool drop a quarter of
// the values on purpose, so that allocations cannot be counted.
const raceOn = true
