package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// The parts of a sealed message, in bytes.
const (
	SecretBytes = 32

	idBytes     = 8
	saltBytes   = 24
	prefixBytes = 2 + idBytes
	headerBytes = prefixBytes + saltBytes
	tagBytes    = 16
)

const (
	mark    = 0 // first byte of a sealed message
	version = 2 // second byte
)

// The purposes of messages.
const (
	Record   = "record"
	Snapshot = "snapshot"
)

// Key seals and opens messages. The zero Key has no secret: it leaves messages plain, and refuses sealed ones.
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
// The header is the additional data. The purpose ("record", "snapshot") is bound by the message key, so a message opens
// only as what it was sealed as. The salt has 192 random bits, so one secret may seal any number of messages.
//
// A message that begins with another byte than 0 is not sealed: Open returns it unchanged. Its owner must therefore
// never begin a plain message with a zero byte. Records of the accounts begin with their kind, their snapshots with a
// version; neither is 0.
type Key struct {
	secret []byte // empty: none
	prefix [prefixBytes]byte
}

// New returns the key with a secret.
func New(secret [SecretBytes]byte) *Key {
	k := &Key{secret: secret[:], prefix: [prefixBytes]byte{mark, version}}
	copy(k.prefix[2:], derive(k.secret, nil, "tickhive key id", idBytes))
	return k
}

// ParseKey returns the key of a text of 64 hexadecimal digits; white space around it does not count.
func ParseKey(text string) (*Key, error) {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != SecretBytes { // the error of hex would show a part of the text
		return nil, fmt.Errorf("seal: a key has %d hexadecimal digits", 2*SecretBytes)
	}
	return New([SecretBytes]byte(raw)), nil
}

// Empty reports whether the key has no secret.
func (k *Key) Empty() bool { return len(k.secret) == 0 }

// ID returns the name of the key, which is no secret: 16 hexadecimal digits; empty without a secret.
func (k *Key) ID() string {
	if k.Empty() {
		return ""
	}
	return hex.EncodeToString(k.prefix[2:])
}

// String returns a text without the secret.
func (k *Key) String() string { return "key " + k.ID() }

// GoString returns a text without the secret.
func (k *Key) GoString() string { return k.String() }

// Seal appends the sealed form of plain to dst, or plain itself if the key has no secret.
func (k *Key) Seal(dst, plain []byte, purpose string) []byte {
	if k.Empty() {
		return append(dst, plain...)
	}
	at := len(dst)
	dst = append(append(dst, k.prefix[:]...), make([]byte, saltBytes)...)
	salt := dst[at+prefixBytes:]
	_, _ = rand.Read(salt) // never fails: it ends the program instead
	header := bytes.Clone(dst[at:])
	aead := k.cipher(header[prefixBytes:], purpose)
	return aead.Seal(dst, make([]byte, aead.NonceSize()), plain, header)
}

// Open returns the plain text of a message for a purpose. A message that is not sealed is returned unchanged.
func (k *Key) Open(message []byte, purpose string) ([]byte, error) {
	id, sealed := KeyOf(message)
	switch {
	case !sealed:
		return message, nil
	case len(message) < headerBytes+tagBytes:
		return nil, fmt.Errorf("seal: a sealed message of %d bytes, at least %d", len(message), headerBytes+tagBytes)
	case message[1] != version:
		return nil, fmt.Errorf("seal: version %d of a sealed message, this program reads %d", message[1], version)
	case k.Empty():
		return nil, fmt.Errorf("seal: sealed with the key %s, and no key is configured", id)
	case id != k.ID():
		return nil, fmt.Errorf("seal: sealed with the key %s, the configured one is %s", id, k.ID())
	}
	header := message[:headerBytes]
	aead := k.cipher(header[prefixBytes:], purpose)
	plain, err := aead.Open(nil, make([]byte, aead.NonceSize()), message[headerBytes:], header)
	if err != nil {
		return nil, fmt.Errorf("seal: this is no %s that the key %s sealed, or it is damaged", purpose, id)
	}
	return plain, nil
}

// KeyOf reports whether a message is sealed, and with which key.
func KeyOf(message []byte) (id string, sealed bool) {
	if len(message) == 0 || message[0] != mark {
		return "", false
	}
	return hex.EncodeToString(message[min(2, len(message)):min(prefixBytes, len(message))]), true
}

// cipher returns the cipher of one message.
func (k *Key) cipher(salt []byte, purpose string) cipher.AEAD {
	block, err := aes.NewCipher(derive(k.secret, salt, "tickhive seal 1 "+purpose, SecretBytes))
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCM(block); err == nil {
			return aead
		}
	}
	panic("BUG: seal: " + err.Error())
}

func derive(secret, salt []byte, info string, n int) []byte {
	out, err := hkdf.Key(sha256.New, secret, salt, info, n)
	if err != nil {
		panic("BUG: seal: " + err.Error())
	}
	return out
}
