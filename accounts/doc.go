// Package accounts holds users, their API keys and balances, the holds of open orders, and the referral programme,
// which is paid out of real fees.
//
// State is a deterministic state machine. It changes in two ways only: by records of its own log (Plan decides, Apply
// changes) and by folding the engine's events (FoldEvents). Reservations of orders on their way to the engine are in
// memory only. State decides; Shown is what readers see, immutable values that follow State's reports. Package auth
// checks signatures against the keys that are shown; package accrual sums up what users received.
//
// Owner: the store's goroutine plans, applies and encodes; the loop's goroutine folds events; any goroutine reserves.
// One RWMutex synchronizes them (see State). Any goroutine reads Shown, without a lock.
//
// Invariants:
//
//  1. Per currency: free + held + fees = deposited - withdrawn, at every instant. No sum can overflow.
//  2. A user's balance plus what open orders, reservations and a planned deposit may bring stays within 10^20.
//  3. free and held of a funded account are never negative.
//  4. held of an account is the sum of the holds of its open orders, without reservations.
//  5. The same records and events in the same order give the same state; a record names the engine position before
//     which it belongs.
//  6. An accrual is paid from the fee account in the step that took the fee, and never lost.
//  7. The inviter relation is a forest: no user is their own upline.
//  8. A deleted key verifies nothing from the moment Publish returns. Nothing is shown before it is durable, but for
//     money that has left, and payments out of fees and incomes.
//  9. No private key is in a message, a String or a log value.
//
// The package does not know HTTP, JSON, books, whether a currency exists or takes deposits, or the launchpad's ledger.
// It reads no clock.
package accounts
