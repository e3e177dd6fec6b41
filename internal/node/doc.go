// Package node holds what a node of a cluster does besides executing records: it takes and keeps a term, sends the
// records of a writer's log, brings a log and its stream together at a start, notices that the writer is silent, keeps
// a copy of the log, fetches the snapshot of another node, and tells the other nodes about itself.
//
// Owner: any goroutine may call a Term and a Sender, which have goroutines of their own unless the Machine has a
// Driver. A Copy and a Joining belong to one goroutine; Nodes says whose it is.
//
// Invariants:
//
//  1. A node that campaigns never drops its campaign and goes on: Campaign returns when the term counts, when another
//     node's does, or with an error after which the process must end or be the only user of its directory.
//  2. While a Term is kept, the stream has a message every BeatAfter, also before records are added.
//  3. The position of a record in the stream is the one in the log, and both have one chain: a log goes on with a
//     stream only if one is the beginning of the other (Joining, FindCommon).
//  4. A record is executed before a log that joins a stream has it. One that the stream has not confirmed stays in the
//     writer's log.
//  5. The directory of a Copy is not a data directory until Finish: it has no meta.json.
//  6. No record of a Copy is removed. What is not of the stream is put aside.
package node
