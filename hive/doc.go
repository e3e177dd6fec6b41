// Package hive manages the agents above the launchpad's tokens: workers, scouts and queens,
// their configuration and status, proposals and votes, and the action log (docs/contract/hive.md).
//
// Parts: State, a pure state machine, its codec, and View, the immutable state that
// readers use. Store (store.go) is the durable shell.
//
// Owner: State belongs to the store's goroutine. A View is immutable; any goroutine may
// read it without a lock. Trees below it are copy-on-write; the action log and its posting
// lists are append-only and published by length: a reader never looks beyond the number of
// entries that its view names, so it does not see entries that are appended meanwhile.
//
// Where workers come from: a spawn is one record of the launchpad. The hive writes no
// record of it. State.Fold takes the launchpad's facts (identity, last swap, end of the
// boost) and joins them: identities are fixed, times are maxima. Facts may therefore arrive
// in any order, more than once, late, or all again at a start, and yield the same state.
// The snapshot holds the last launchpad record that it reflects (ReflectsSeq); a start
// folds all present facts in any case. An action on a worker whose fact was folded only
// after the record is replayed waits on a worker without a name; no view shows one.
//
// Invariants:
//
//  1. Entries are numbered from 1 without a gap, their times never fall, none is ever
//     changed; each carries the hash of the one before, and the state the hash of the
//     last, so that a changed entry is found offline (Chain).
//  2. An override acts on a lower tier only: a queen on any target or the whole hive, a scout on
//     workers. Suspension and budget_allocation come from queens.
//  3. A user's vote counts once per proposal, while now < closesAt; the tally is the sum
//     of the weights.
//  4. A proposal closes at its closesAt, also when the process slept through it, and a
//     passed one changes the worker's config in the same record.
//  5. A worker is idle from the second of its last activity + 7 d on, unless suspended.
//  6. Every posting list holds the entries of its filter, ascending; no query reads an
//     entry that is not on its page, the steps of a binary search aside.
//
// Reading order: agent, config, options, entry, log, posting, chain, command, form, action, worker, fact,
// proposal, tally, weight, vote, state, apply, view, query, worker_query, log_query, proposal_query,
// overview, info, codec, snapshot, checkpoint, store, check.
//
// It does not know users' levels and holdings (the vote command carries them), the
// ledger, signatures, rate limits, or a clock.
package hive
