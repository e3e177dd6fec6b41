// Package accrual holds the payments of the referral programme that users received, and the figures that the
// referral routes show of them. Every figure is a sum of the same accruals.
//
// Received belongs to one user and is part of accounts.State, which pays the accruals. A Set is what one user had
// received at one instant; any goroutine may read it without a lock, because the slices of a Received are append-only
// and its archive is copied.
//
// Invariants:
//
//  1. No accrual is lost: ArchiveOldest adds the oldest one to the archive of its day.
//  2. Periods compare times as answers print them, in whole milliseconds (docs/contract/market-data.md#times).
//
// The package does not know who is paid how much (accounts), or how users are found: a Set gets the
// names of users from its maker.
package accrual
