// Package auth authenticates requests: the keys of users, the two schemes that sign a request
// with a key, the window of time, the nonces, and what a key permits.
//
// Verifier.Verify checks one request against the Keys, the index of what is published. A Roster holds the keys that
// exist and decides about the next one. The package decides by its arguments alone: it reads no clock and no file, and
// a new key's random bytes come from a reader.
//
// Owner: the owner of the accounts changes the Roster, and publishes in the Keys. Any goroutine verifies, without a
// lock (an atomic map per shard of the index), except for one short lock per shard of the nonce table.
//
// Invariants:
//
//  1. A removed key verifies nothing from the moment Remove returns.
//  2. No signed request passes twice: a used nonce is in its key's set, or its timestamp
//     is before the set's floor.
//  3. An unknown key and a bad signature have the same answer and the same cost.
//  4. No private key, and nothing derived from one, is in a message, a String or a log value.
//
// The package does not know HTTP, users other than by their number and id, or where keys and
// nonces are stored.
package auth
