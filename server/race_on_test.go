//go:build race

package server_test

// raceOn: the race detector makes sync.Pool drop a quarter of what is put into it, on
// purpose, so that allocations cannot be counted.
const raceOn = true
