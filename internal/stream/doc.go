// Package stream decides which messages of a replicated log count. Several nodes write to one totally ordered log, of
// which at most one is the writer at a time, and all of them read it.
//
//	commands -> Writer.Add -> Writer.Publish -> the log -> Reader.Next -> records, in order -> execute
//	                 ^                              |
//	                 +---- Acked, Failed, Read <----+
//
// Owner: the caller of a Reader or a Writer, from one goroutine at a time. Everything is pure: no clock, goroutine or
// I/O.
//
// Invariants:
//
//  1. Whether a message counts is a function of the messages before it in the log, and every reader uses the same
//     function (Reader.Next). It does not depend on a comparison that the log made when it accepted the message.
//  2. A valid message has the checksum of the valid message before it, so it counts at most once, however often and
//     late it is delivered.
//  3. The positions of records go 1, 2, 3 ... without a gap over all writers, and each message continues the checksum
//     chain of the log, so equal positions mean equal records.
//  4. A Writer reports a record as confirmed only when it is in the log and counts. After Fenced, exactly the confirmed
//     records count, no later one ever will.
//  5. A writer that does not know whether its term record is in the log never abandons it: it reads until it knows. It
//     leads once it has read the record behind the last valid message that it knows.
//  6. Nothing is believed of bytes whose code no key of the cluster verifies (Keys). No input makes the package panic.
//     A message that does not verify does not count, and stops the reader when the messages behind it show that it did.
//     No node campaigns before that is known.
//  7. A message in a writer's own name that it has not sent ends its sending. Only a term record makes another node the
//     writer.
//
// It does not carry messages (package jet), elect a writer, know when a writer is silent, or look into records.
package stream
