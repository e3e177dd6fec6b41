// Package accounts holds the accounts: users, the API keys that sign for them, balances,
// the holds of open orders, and the referral programme, which is paid out of real fees.
//
// State is a deterministic state machine. It changes in two ways only: by records of its
// own log (Plan decides, Apply changes) and by folding the engine's events (FoldEvents).
// Reservations of orders on their way to the engine are in memory only. Package auth checks
// signatures against the keys of a State; package accrual sums up what users received of the
// referral programme.
//
// Owner: Plan, Apply, AppendSnapshot and DecodeSnapshot belong to the goroutine of the store;
// FoldEvents to the goroutine that hands the engine's events on; Reserve, Release and every
// method of View to any goroutine. One RWMutex in State synchronizes them, because one trade
// moves money of up to twelve accounts and GET /totals must add up at every instant. Sharded
// locks would break that and gain nothing at the rates of a fold. Only the index of keys
// (auth.Keys) is read without it.
//
// Invariants:
//
//  1. Per currency: free + held + fees = deposited - withdrawn, at every instant.
//     No sum can overflow (fixed.I192), so a fold never panics on amounts.
//  2. A user's balance plus what the user's open orders, reservations and a planned deposit
//     may bring stays within 10^20 (see coming). For the built-in account, which holds
//     nothing, and for what accounts owe, the limit is checked at current prices only.
//  3. free and held of a funded account are never negative. Where the half-even rounding of
//     several fees would exceed the money available by some 10^-18, the fee is reduced.
//  4. held of an account = the sum of the holds of its open orders. The amount of a
//     reservation is not part of it and never in a snapshot.
//  5. The same records and events in the same order give the same state; a record names
//     the engine position before which it belongs (EnginePos).
//  6. An accrual is paid from the fee account in the step that took the fee. It is retained
//     or added to its day's archive, never lost.
//  7. The inviter relation is a forest: no user is their own upline.
//  8. A deleted key verifies nothing from the moment Apply returns.
//  9. No private key is in a message, a String or a log value.
//
// State is made of parts, none of which is usable alone: directory (users and who invited them),
// balances (money and its sums), holds (open orders, reservations, settlement) and referral
// (shares of fees and incomes). Its mu guards them all.
//
// Reading order: limits, reject, money, config, command, state, apply, users, directory,
// identity, keys, balances, balance_view, deposit, hold, reserve, coming, fold, settle, referral,
// search, accruals, guard, avatars, view, check, codec, snapshot, restore, store. The scripts of
// testdata/*.txt (script_test.go) show what holds, fees, referral and limits do to balances.
//
// The package has the engine's words (ids, sides, order types, events, reasons) and folds
// engine.Event itself. It does not know HTTP, JSON, books, whether a currency exists or takes
// deposits, or the launchpad's ledger (which has NATIVE, USBI and agent tokens). It reads no clock.
package accounts
