// Package machine is the state of the whole exchange: a fold of its records.
//
// Apply is the only way from a record to a state, for a start, a follower of a stream, a second market beside the loop,
// and the proofs (journal verify). It reads the state and the record, nothing else: no clock, no file, no randomness.
// Records go in, state comes out; the package publishes nothing and decides nothing.
//
// The journal has the records of market, launchpad and hive. The accounts have a log of their own, and so their order
// is the caller's business: a record of the accounts names the journal's record behind which it comes.
//
// Owner: a State belongs to one goroutine. The store of the accounts owns their state in a running exchange; a caller
// there applies within WithState.
package machine
