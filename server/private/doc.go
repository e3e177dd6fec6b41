// Package private holds what the hub and the accounts share: the feed of the private channels and
// the queue between the sequencer and the hub.
//
// Owner: the sequencer's goroutine puts messages in, the hub's goroutine takes them out; the lock of
// Queue protects both.
//
// Invariants:
//
//  1. A queue is bounded. Beyond its limit every private stream starts over, so no message is lost
//     silently.
//
// Reading order: feed, queue.
//
// It renders no message and verifies no credentials: package account does.
package private
