// Package seal encrypts what holds secrets before it is stored or sent, by keys that are kept elsewhere.
//
// Owner: a Key never changes; any goroutine may use it.
//
// Invariants:
//
//  1. What Seal returns shows no byte of the plain text without the secret. Its length shows.
//  2. Open returns exactly what was sealed, for the same purpose and by one of the secrets, or an error.
//  3. No secret is in an error, String or log value.
//
// The package does not keep keys. It hides neither that messages were written, nor when, nor in what order.
package seal
