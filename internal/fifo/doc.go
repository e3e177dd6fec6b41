// Package fifo has a queue that never copies its values: it grows and shrinks by chunks, so no call takes longer
// because the queue is long. A slice that grows copies all its values now and then, which takes 50 ms for 100 MB.
//
// Owner: the goroutine of the state that holds the queue.
package fifo
