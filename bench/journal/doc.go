// Package journal measures what carries commands between nodes, apart from the program around it: the appender of a
// writer, and the execution of a stream.
//
// Owner: the calling goroutine; an appender starts another one while Append runs.
//
// Invariants:
//
//  1. The appender has the limits of the program's writer.
//  2. A run that confirms or executes another number of commands than it was given is an error.
//
// Reading order: append, execute.
package journal
