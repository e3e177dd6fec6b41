// Package stream decides what a replicated log of commands means. Several nodes write to one totally ordered log, of
// which at most one is the writer at a time, and all of them read it. The package holds the format of the messages
// (FORMAT.md), the rule of validity (rule.go) and the state machine of a writer (writer.go).
// internal/stream/jet carries the messages over NATS JetStream, internal/exchange writes and executes the records.
//
// Everything here is pure: no clock, no goroutine, no I/O. A caller owns a Reader or a Writer and calls it from one
// goroutine at a time.
//
//	commands -> Writer.Add -> Writer.Publish -> the log -> Reader.Next -> records, in order -> execute
//	                 ^                              |
//	                 +---- Acked, Failed, Read <----+
//
// Invariants:
//
//  1. Whether a message counts is a function of the messages before it in the log, and every reader uses the same
//     function (Reader.Next). It does not depend on a comparison that the log made when it accepted the message.
//  2. A valid message is signed by its place: it has the checksum of the valid message before it. So a message counts
//     at most once, however often and late it is delivered.
//  3. Positions of each log go 1, 2, 3 ... without a gap over all writers.
//  4. A Writer reports a record as confirmed only when it is in the log and counts. After Fenced, exactly the
//     confirmed records count, no later one ever will.
//  5. A writer that campaigns and does not know whether its term record is in the log never abandons it: it reads the
//     log until its record, or another valid message, answers the question.
//  6. No input makes the package panic. A message that does not verify does not count, and stops the reader when the
//     messages behind it show that it did. No node campaigns before that is known.
//  7. A message in a writer's own name that it has not sent ends its sending. It is no other writer's: only a term record
//     makes another node the writer.
//
// Reading order: message, append, rule, writer, campaign; FORMAT.md; model_test.go, whose adversary looks for a
// schedule that breaks an invariant.
//
// It does not elect a writer, does not know when a writer is silent, and does not look into records.
package stream
