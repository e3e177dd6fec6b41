// Package bare holds loops of nats.go alone: the references of the scenario replication. A loop publishes, acknowledges
// or consumes bytes as a program without an exchange would, on the server that the product uses at the same time.
//
// Owner: one goroutine uses a Log. Watch runs its own goroutine until the Log is closed.
//
// Invariants:
//
//  1. A Log's stream has the settings of the product's stream: files, an expected last number with each message, as
//     many copies.
//  2. A loop that is not acknowledged, or that counts another number of messages than it sent, is an error.
//
// Reading order: log.go, publish.go, watch.go.
package bare
