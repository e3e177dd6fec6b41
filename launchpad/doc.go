// Package launchpad is the agent-token launchpad and the in-process ledger below it:
// spawned tokens, their constant-product pools, native, USBI and token balances, boosts
// (docs/contract/launchpad.md).
//
// Parts: State, a pure state machine (same records, same state), its codec, and View, the
// immutable state that readers use. Store (store.go) is the durable shell.
//
// Owner: State belongs to the store's goroutine. A View and everything reachable from it
// is immutable; any goroutine may read it without a lock. The trees below a View are
// copy-on-write: publishing a View copies no data.
//
// How a spawn is one durable record: the ledger owns everything that a spawn touches: fee
// and balances, token, pool, and the worker's identity (workerId, agentNftId, deployedAt).
// The hive writes no spawn record. It folds the Fact that each change of a token publishes
// here (identity, last swap, end of the boost), and at a start all of View.Facts, which
// repeats the same information. Facts only grow (identity is fixed, times are maxima), so
// folding them in any order and any number of times yields the same hive state.
//
// Invariants:
//
//  1. A spawn happens as a whole or not at all; a refused one changes nothing but a
//     counted injected fault.
//  2. For each token: pool reserve + all holdings = total supply. For NATIVE and USBI:
//     balances + pool reserves + fees = deposited - withdrawn. Exactly, always.
//  3. A swap never lowers reserveToken x reserveQuote.
//  4. Addresses and transaction hashes are functions of the ledger's seed and the
//     position of the transaction.
//  5. Every index of a View holds each token of its filter exactly once, under the value
//     that the token's row prints.
//  6. Tick records change boosts and windows at the exact second; a View is exact from
//     its last record until NextNs.
//
// About asOf: a block lasts two seconds, so several spawns can share one block, and a block
// number alone would not distinguish their list positions. A token's list block is
// therefore the current block or the previous token's list block + 1, whichever is later.
// X-As-Of is the largest list block that no later spawn can get. A walk with it sees every
// token once, even when tokens are spawned meanwhile within the same second.
//
// Reading order: amount, text, usd, ledger, options, command, token, form, spawn,
// balance, pool, window, boost, state, apply, index, view, list, codec, snapshot,
// store, check.
//
// It does not know users (an account is an address), a worker's status and actions (the
// hive owns them), signatures, rate limits, or a clock.
package launchpad
