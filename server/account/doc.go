// Package account serves users: signed requests, API keys, referral, trading, the private
// channels, and the internal routes of users and their money.
//
// Owner: handlers run on the goroutine of their connection. The sequencer's goroutine records the
// events of the private channels, the hub's goroutine renders balances.
//
// Invariants:
//
//  1. A signature is verified over the bytes of the request as the client sent them.
//  2. A change of users, keys or money is answered after its record is durable, or acknowledged by the stream; an
//     order is answered as docs/contract/storage.md#sync-policies says.
//  3. The private feed renders only accounts that have subscribers.
//
// It holds no balance and verifies no signature itself (accounts), and it submits no order
// itself (internal/entry).
package account
