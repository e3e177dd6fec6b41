//go:build !race

package servertest

// RaceOn reports whether the race detector is on.
const RaceOn = false
