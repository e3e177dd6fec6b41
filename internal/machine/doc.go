// Package machine is the state of the whole exchange: a fold of its records.
//
// Apply is the only way from a record to a state, for a start, a follower of a stream, a second market beside the loop,
// and the proofs (journal verify). It reads the state and the record, nothing else: no clock, no file, no randomness.
// Records go in, state comes out; the package publishes nothing and decides nothing.
//
// The parts have logs of their own, and so their order is the caller's business where they touch: a record of the
// accounts names the market's record behind which it comes, and the hive takes the facts of the launchpad in any order.
//
// Owner: a State belongs to one goroutine. The stores of accounts, launchpad and hive own the states of their parts in
// a running exchange; a caller there applies within WithState.
package machine
