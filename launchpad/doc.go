// Package launchpad lets users create ("spawn") tokens of agents and trade them in constant-product pools. A ledger in
// this process takes the place of a blockchain: it holds balances of NATIVE, USBI and the tokens, pools with their
// candles and boosts, and what accounts held at a checkpoint (docs/contract/launchpad.md). Package hive keeps the
// agents.
//
// State is a pure state machine (same commands, times and settings: same state), View the immutable state that readers
// use.
//
// Owner: State belongs to the goroutine of the machine. A View and everything reachable from it is immutable; any
// goroutine may read it without a lock. The trees below it are copy-on-write: publishing a View copies no data.
//
// Invariants:
//
//  1. A spawn happens as a whole or not at all, in one command: fee, balances, token, pool and the worker's identity. A
//     refused one changes nothing but a counted injected fault.
//  2. For each token: pool reserve + all holdings = total supply. For NATIVE and USBI: balances + pool reserves + fees
//     = deposited - withdrawn. Exactly, always.
//  3. A swap never lowers reserveToken x reserveQuote.
//  4. Addresses and transaction hashes are functions of the ledger's seed and the position of the transaction.
//  5. Every index of a View holds each token of its filter exactly once, under the value that the token's row prints.
//  6. Boosts, windows and checkpoints change at the exact second, whether a Tick or a command finds them due; a View is
//     exact from its last change until NextNs.
//  7. The newest candle of a token closes at the price of its pool, and each one opens at the close before it.
//  8. A Tick carries out at most maxDue changes, and no command walks a list (docs/internals/bounds.md).
//
// It does not know users (an account is an address), a worker's status and actions (the hive owns them), signatures,
// rate limits, or a clock.
package launchpad
