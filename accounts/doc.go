// Package accounts holds users, their API keys and balances, the holds of open orders, and the referral programme,
// which is paid out of real fees.
//
// State is a deterministic part of the exchange. It changes by the log alone: by its commands (Do), by the engine's
// events (Fold) and by settings. It is the engine's Funds: the engine asks it whether an account may place an order,
// and what the order holds follows from the events. State decides; Shown is what readers see, immutable values that
// follow its reports. Package auth checks signatures against the keys that are shown; package accrual sums up what
// users received.
//
// Owner: the goroutine that applies the log calls all of State, and feeds Shown. Any goroutine reads Shown, without a
// lock.
//
// Invariants:
//
//  1. Per currency: free + held + fees = deposited - withdrawn, to the unit, at every instant.
//  2. held is never negative. free is negative only in the built-in account and in unlimited ones.
//  3. held of an account is the sum of the holds of its open orders. No order is remembered: the events say it all.
//  4. The same commands, events and settings in the same order give the same state, refusals and bytes of a snapshot.
//     A refused command changes nothing.
//  5. An accrual is paid from the fee account in the step that took the fee, and never lost.
//  6. The inviter relation is a forest: no user is their own upline.
//  7. A deleted key verifies nothing from the moment Publish returns.
//  8. No private key is in a message, a String or a log value.
//
// The package does not know HTTP, JSON, books, whether a currency takes deposits, or the launchpad's ledger.
// It reads no clock and no random bytes.
package accounts
