// Package mirror sends the records of a stored exchange's log to a stream, which other nodes follow.
//
// Owner: three goroutines, which Begin starts and Drain ends. Any goroutine may call a Mirror's methods.
//
// Invariants:
//
//  1. A record is sent after it is durable in the log.
//  2. The position of a record in the stream is its position in the log.
//  3. After a failure nothing more is sent: Source.Failed hears the reason.
package mirror
