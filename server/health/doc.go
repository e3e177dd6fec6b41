// Package health holds the probes of a supervisor, which every listener serves.
//
// Owner: handlers run on the goroutine of their connection and read an atomic.
package health
