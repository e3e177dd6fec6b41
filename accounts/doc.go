// Package accounts holds users, their API keys and balances, the holds of open orders, and the referral programme,
// which is paid out of real fees.
//
// State is a deterministic part of the exchange. It changes by the log alone: by its commands (Do), by the engine's
// events (FoldEvents) and by settings. What the edge keeps for orders and commands on their way to the log (Reserve,
// SetAside) is beside the state. State decides; Shown is what readers see, immutable values that follow its reports.
// Package auth checks signatures against the keys that are shown; package accrual sums up what users received.
//
// Owner: the goroutine that applies the log calls Do and FoldEvents, and feeds Shown; any goroutine reserves. A lock
// synchronizes them (see State). Any goroutine reads Shown, without a lock.
//
// Invariants:
//
//  1. Per currency: free + held + fees = deposited - withdrawn, at every instant. No sum can overflow.
//  2. A user's balance plus what open orders, reservations and deposits on their way may bring stays within 10^20.
//  3. free and held of a funded account are never negative.
//  4. held of an account is the sum of the holds of its open orders, without reservations.
//  5. The same commands, events and settings in the same order give the same state, refusals and bytes of a snapshot.
//     Reservations and asides decide nothing of it. A refused command changes nothing.
//  6. An accrual is paid from the fee account in the step that took the fee, and never lost.
//  7. The inviter relation is a forest: no user is their own upline.
//  8. A deleted key verifies nothing from the moment Publish returns.
//  9. No private key is in a message, a String or a log value.
//
// The package does not know HTTP, JSON, books, whether a currency exists or takes deposits, or the launchpad's ledger.
// It reads no clock and no random bytes.
package accounts
