// Package node holds what a node of a cluster does besides executing records: it takes and keeps a term, notices that
// the writer is silent, keeps a copy of the log, and archives snapshots with which other nodes begin.
//
// Owner: any goroutine may call a Term. A Copy belongs to one goroutine.
//
// Invariants:
//
//  1. A node that campaigns never drops its campaign and goes on: Campaign returns when the term counts, when another
//     node's does, or with an error after which the process must end or be the only user of its directory.
//  2. While a Term is kept, the stream has a message every BeatAfter, also before records are added.
//  3. A node begins with a snapshot only if the stream has the message that the snapshot names as its last one.
//  4. A stream loses messages only while two archived snapshots reflect them.
//  5. The directory of a Copy is not a data directory until Finish: it has no meta.json.
//  6. No record of a Copy is removed. What is not of the stream is put aside.
package node
