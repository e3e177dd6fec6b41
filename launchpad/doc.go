// Package launchpad is the agent-token launchpad and the in-process ledger below it:
// spawned tokens, their constant-product pools, native, USBI and token balances, boosts
// (docs/contract/launchpad.md).
//
// What it is: State, a pure state machine (same records, same state), its codec, and
// View, the immutable picture that readers use. Store (store.go) is the durable shell.
//
// Owner: State belongs to the store's goroutine. A View and everything that hangs from
// it is frozen; anyone may read it without a lock. The trees below a View are
// copy-on-write: publishing one costs no copy of the data.
//
// How a spawn is one durable record: the ledger owns every thing that a spawn touches:
// fee and balances, token, pool, and the worker's identity (workerId, agentNftId,
// deployedAt). The hive keeps no spawn record of its own. It folds the Fact that each
// change of a token publishes here (identity, last swap, end of the boost), and on a
// start all of View.Facts, which is the same information once more. Facts only ever
// grow (identity is fixed, times are maxima), so folding them in any order and any
// number of times gives the same hive.
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
//  5. Every index of a View holds each token of its cell exactly once, under the value
//     that the token's row prints.
//  6. Whatever time changes (boosts, windows) changes at the exact second, by Tick
//     records; a View is exact from its last record until NextNs.
//
// About asOf: a block lasts two seconds, so several spawns could share one, and a list
// position that is a block could not tell them apart. A token's list block is therefore
// the current block or one more than that of the token before, whichever is later, and
// X-As-Of is the largest list block that no later spawn can get. A walk with it sees
// every token once, whatever is spawned meanwhile, within the same second too.
//
// Reading order: amount, text, usd, ledger, options, command, reject, token, form, spawn,
// balance, pool, window, boost, state, apply, index, view, list, answer, codec, snapshot,
// store, check.
//
// It does not know users (an account is an address), the worker's status and actions
// (the hive's; they are passed into the queries), signatures, rate limits, or a clock.
package launchpad
