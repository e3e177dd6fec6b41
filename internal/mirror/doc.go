// Package mirror sends the records of a stored exchange's logs to a stream, which other nodes follow.
//
// Owner: three goroutines, which Begin starts and Drain ends. Any goroutine may call a Mirror's methods.
//
// Invariants:
//
//  1. A record is sent after it is durable in its log.
//  2. The stream has the records in an order in which a reader can execute them: a record of the accounts behind the
//     record of the market that it names.
//  3. The position of a record in the stream is its position in the log.
//  4. After a failure nothing more is sent: Source.Failed hears the reason.
package mirror
