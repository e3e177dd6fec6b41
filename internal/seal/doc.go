// Package seal encrypts what holds secrets before it is stored or sent, by a key that is kept elsewhere.
//
// A sealed message (all integers are single bytes):
//
//	+------+---------+--------------+-----------+-----------------------------------+
//	| 0x00 | version | key id       | salt      | ciphertext and tag                |
//	| 1    | 1 (= 1) | 8 bytes      | 24 bytes  | length of the plain text + 16     |
//	+------+---------+--------------+-----------+-----------------------------------+
//	 `------ header, authenticated -------------'
//
// The cipher is AES-256-GCM with a nonce of zeros and a new key for each message:
//
//	message key = HKDF-SHA256(secret, salt, info = "tickhive seal 1 " + purpose), 32 bytes
//	key id      = HKDF-SHA256(secret, no salt, info = "tickhive key id"), 8 bytes
//
// The header is the additional data. The purpose ("record", "snapshot") is bound by the message key, so a message
// opens only as what it was sealed as. The salt has 192 random bits, so one secret may seal any number of messages.
//
// A message that begins with another byte than 0 is not sealed: Open returns it unchanged. Its owner must therefore
// never begin a plain message with a zero byte. Records of the accounts begin with their kind, their snapshots with a
// version; neither is 0.
//
// Owner: a Key never changes; any goroutine may use it.
//
// Invariants:
//
//  1. What Seal returns shows no byte of the plain text without the secret. Its length shows.
//  2. Open returns exactly what was sealed, for the same purpose and by the same secret, or an error.
//  3. The secret is in no error, String or log value.
//
// Reading order: seal.go.
//
// The package does not keep keys, and it does not hide that, when and in what order messages were written.
package seal
