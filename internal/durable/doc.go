// Package durable makes a pure state durable with a write-ahead log: the pattern encode, append, sync, apply, publish,
// reply that accounts, launchpad and hive share.
//
// Owner: a Store owns its state and its log with one goroutine. Any goroutine may call Do, WithState, Tick and Close.
//
// Invariants:
//
//  1. A Store's state is the result of exactly the records in its log: the store writes a record before it applies it.
//  2. What it publishes and answers shows only durable records.
//  3. A snapshot never reflects records that are not durable.
//
// It does not know what a record means, and it does not retry.
package durable
