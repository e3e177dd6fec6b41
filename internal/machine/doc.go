// Package machine is the state of the whole exchange: a fold of its records.
//
// Apply is the only way from a record to a state, for a start, a replica, a follower (a second state beside the loop),
// and the proofs (journal verify). The loop applies what it has written by the same functions (Shown). Applying reads
// the state and the record, nothing else: no clock, no file, no randomness, no configuration (Settings are a part of
// the state). A command that the state refuses is a record that changes nothing but what was due.
//
// Owner: a State belongs to one goroutine: the loop's, or the one that replays or follows. Shown is what readers see of
// accounts, launchpad and hive; any goroutine reads it.
package machine
