// Package accounts is everything an account is: the user, the keys that sign for it,
// its balances and what open orders hold of them, and the referral programme that pays
// out of real fees.
//
// What it is: State, a deterministic state machine. It changes in two ways only: by
// records of its own log (Plan decides, Apply changes) and by folding the engine's
// events (Fold). Reservations of orders on their way to the engine are memory only.
// Verifier checks signatures against the keys of a State.
//
// Owner: Plan, Apply, AppendSnapshot and DecodeSnapshot belong to the goroutine of the
// store; Fold to the goroutine that hands the engine's events on; Reserve, Release and
// every method of View to any goroutine. One RWMutex of State stands between them,
// because one trade moves money of up to twelve accounts and GET /totals must add up at
// every instant; sharded locks would give that up for nothing at the rates of a fold.
// Verifier takes no lock for keys (an atomic map per shard) and one short lock per
// shard of its nonce table.
//
// Invariants:
//
//  1. Per currency: free + held + fees = deposited - withdrawn, at every instant.
//     No sum can overflow (fixed.I192), so that a fold never panics on amounts.
//  2. A balance of a user and what his open orders, his reservations and a planned deposit may
//     bring stay within 10^20 (see coming); of the built-in account, which holds nothing, and
//     of what accounts owe, that is weighed by the prices of now only.
//  3. free and held of a funded account are never negative. Where the half-even
//     rounding of several fees would pass what is there by some 10^-18, the fee gives way.
//  4. held of an account = the sum of the holds of its open orders. What a reservation
//     keeps is not part of it and never in a snapshot.
//  5. The same records and events in the same order give the same state; a record names
//     the engine position before which it belongs (EnginePos).
//  6. An accrual is paid from the fee account in the step that took the fee; it is kept,
//     or added to its day's archive, never lost.
//  7. The inviter relation is a forest: nobody is his own upline.
//  8. A deleted key verifies nothing from the moment Apply returns.
//  9. No signed request passes twice: a nonce that was taken is in its key's set, or its
//     timestamp is before the set's floor.
//  10. No private key, and nothing derived from one, is in a message, a String or a log value.
//
// Reading order: limits, reject, money, config, command, record, state, apply, users,
// identity, keys, secret, signature, mac, nonce, nonce_set, legacy, balances, hold, reserve, coming, fold,
// settle, referral, search, accruals, queries, breakdown, explain, commissions, avatars,
// view, check, wire, codec, snapshot, restore, store.
//
// It does not know HTTP or JSON, books, whether a currency exists or takes deposits, the
// launchpad's ledger (NATIVE, USBI and agent tokens are its own), and reads no clock.
package accounts
