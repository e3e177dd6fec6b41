// Package peer holds the processes at the other end of a measurement: servers that are references, and the clients that
// read streams. The bench's program runs each in a separate process, so that the CPU times of both ends are separate.
//
// Owner: the goroutine that calls ServeLines, ServeFrames or ServeWakeups runs a process; each connection has another
// one.
//
// Invariants:
//
//  1. A process ends when its standard input ends.
//  2. A reference does what the product must do at least: the same bytes, ready before the request.
//
// Reading order: server, writer, handler, listen, wakeups.
package peer

import "fmt"

// Aggregator is the path of the aggregator's routes.
const Aggregator = "/api/marketdata/getaggregator"

// PairName returns the code of the i-th generated pair.
func PairName(i int) string { return fmt.Sprintf("P%04d_USDT", i) }
