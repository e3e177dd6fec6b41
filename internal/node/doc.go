// Package node holds what a node of a cluster does besides executing records: it takes and keeps a term, notices that
// the writer is silent, and keeps a copy of the logs.
//
// Owner: any goroutine may call a Term. A Copy belongs to one goroutine.
//
// Invariants:
//
//  1. A node that campaigns never drops its campaign and goes on: Campaign returns when the term counts, when another
//     node's does, or with an error after which the process must end or be the only user of its directory.
//  2. While a Term is kept, the stream has a message every BeatAfter, also before records are added.
//  3. The directory of a Copy is not a data directory until Finish: it has no meta.json.
//
// Reading order: term, silence, copy, survey.
package node
