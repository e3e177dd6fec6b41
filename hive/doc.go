// Package hive keeps the agents that act on the launchpad's tokens: one worker for each token, and the scouts and
// queens above the workers. It holds the workers' configuration and status, proposals about workers and the users'
// votes, and the log of the agents' actions (docs/contract/hive.md).
//
// State is a pure state machine (same commands, times, settings and facts: same state), View the immutable state that
// readers use. A spawn is a command of the launchpad alone: the hive folds the facts of tokens (State.Fold).
//
// Owner: State belongs to the goroutine of the machine. A View is immutable; any goroutine may read it without a lock.
//
// Invariants:
//
//  1. Entries of the log are numbered from 1 without a gap, their times never fall, none is ever changed; each carries
//     the hash of the one before, so that a changed entry is found offline.
//  2. An override acts on a lower tier only: a queen on any target or the whole hive, a scout on workers. Suspension
//     and budget_allocation come from queens.
//  3. A user's vote counts once per proposal, while now < closesAt; the tally is the sum of the weights.
//  4. A proposal closes at its closesAt, also when the process slept through it, and a passed one changes the worker's
//     config at that second.
//  5. A worker is idle from the second of its last activity + 7 d on, unless suspended.
//  6. Every posting list holds the entries of its filter, ascending; a query reads the entries of its page and the
//     steps of a binary search.
//  7. A command does the same with and without Ticks before it. A Tick carries out at most maxDue changes.
//
// It does not know users' levels and holdings (the vote command carries them), the ledger, signatures, rate limits, or
// a clock.
package hive
