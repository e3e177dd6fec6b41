// Package audit checks the money of an exchange against its order books, from the outside: it reads the encoded books
// and the balances that readers see, and computes in math/big. It shares no code with the ledger (accounts), so that a
// mistake there is none here.
//
// Owner: the caller, who must own the core, and whose readers must see every record that the core has applied.
//
// Invariants that Check verifies, of every account and currency:
//
//	held = the sum over the open orders of what docs/contract/trading.md#balances-and-holds says each holds
//	free >= 0, unless the account is unlimited; every amount is a whole number of units of the asset
//	free + held + fees = deposited - withdrawn, and the totals are the sums of the balances
//
// Only tests use it. It says nothing about how a balance came about: tests have ledgers of their own for that.
package audit
