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

// The purposes of messages: the fields that are sealed.
const (
	KeySecret  = "secret of an API key"
	KeyName    = "name of an API key"
	KeyNetwork = "white list of an API key"
	UserName   = "name of a user"
	UserSecond = "second name of a user"
)

// Key is a ring of secrets: the first one seals messages, all of them open what they have sealed. The zero Key has no
// secret: it leaves messages plain, and refuses sealed ones.
//
// Another key seals from now on when it comes first and the former one stays behind it. The former one may be taken out
// once no message that it has sealed is read any more: an attempt without it names it (MissingKeyError).
//
// A sealed message (all integers are single bytes):
//
//	+------+---------+--------------+-----------+-----------------------------------+
//	| 0x00 | version | key id       | salt      | ciphertext and tag                |
//	| 1    | 1 (= 2) | 8 bytes      | 24 bytes  | length of the plain text + 16     |
//	+------+---------+--------------+-----------+-----------------------------------+
//	 `------ header, authenticated -------------'
//
// The cipher is AES-256-GCM with a nonce of zeros and a new key for each message:
//
//	message key = HKDF-SHA256(secret, salt, info = "tickhive seal 1 " + purpose), 32 bytes
//	key id      = HKDF-SHA256(secret, no salt, info = "tickhive key id"), 8 bytes
//
// The header is the additional data. The purpose is bound by the message key, so a message opens only as what it was
// sealed as. The salt has 192 random bits, so one secret may seal any number of messages.
//
// A message that begins with another byte than 0 is not sealed: Open returns it unchanged. Its owner must therefore
// never begin a plain message with a zero byte. No text of the accounts has control characters.
type Key struct {
	ring []one // the first one seals
}

// one is one secret.
type one struct {
	secret []byte
	prefix [prefixBytes]byte
}

func (o *one) id() string { return hex.EncodeToString(o.prefix[2:]) }

// maxRing is the number of secrets of a Key: more former ones than any operator keeps.
const maxRing = 64

// New returns the key with these secrets.
func New(secrets ...[SecretBytes]byte) *Key {
	k := new(Key)
	for _, secret := range secrets {
		o := one{secret: secret[:], prefix: [prefixBytes]byte{mark, version}}
		copy(o.prefix[2:], derive(o.secret, nil, "tickhive key id", idBytes))
		k.ring = append(k.ring, o)
	}
	return k
}

// ParseKey returns the key of a text with a secret on each line, as 64 hexadecimal digits; white space around them and
// empty lines do not count.
func ParseKey(text string) (*Key, error) {
	var secrets [][SecretBytes]byte
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		raw, err := hex.DecodeString(line)
		if err != nil || len(raw) != SecretBytes { // the error of hex would show a part of the text
			return nil, fmt.Errorf("seal: line %d: a key has %d hexadecimal digits", number, 2*SecretBytes)
		}
		secrets = append(secrets, [SecretBytes]byte(raw))
	}
	if len(secrets) == 0 || len(secrets) > maxRing {
		return nil, fmt.Errorf("seal: %d keys, one a line: at least 1, at most %d", len(secrets), maxRing)
	}
	return New(secrets...), nil
}

// Empty reports whether the key has no secret.
func (k *Key) Empty() bool { return len(k.ring) == 0 }

// ID returns the name of the secret that seals, which is no secret: 16 hexadecimal digits; empty without one.
func (k *Key) ID() string {
	if k.Empty() {
		return ""
	}
	return k.ring[0].id()
}

// Has reports whether the key opens what the secret with a name has sealed.
func (k *Key) Has(id string) bool { return k.find(id) != nil }

func (k *Key) find(id string) *one {
	for i := range k.ring {
		if k.ring[i].id() == id {
			return &k.ring[i]
		}
	}
	return nil
}

// String returns a text without the secrets: the names.
func (k *Key) String() string {
	var ids []string
	for i := range k.ring {
		ids = append(ids, k.ring[i].id())
	}
	return "key " + strings.Join(ids, ", ")
}

// GoString returns a text without the secrets.
func (k *Key) GoString() string { return k.String() }

// Seal appends the sealed form of plain to dst, or plain itself if the key has no secret.
func (k *Key) Seal(dst, plain []byte, purpose string) []byte {
	if k.Empty() {
		return append(dst, plain...)
	}
	at := len(dst)
	o := &k.ring[0]
	dst = append(append(dst, o.prefix[:]...), make([]byte, saltBytes)...)
	salt := dst[at+prefixBytes:]
	_, _ = rand.Read(salt) // never fails: it ends the program instead
	header := bytes.Clone(dst[at:])
	aead := o.cipher(header[prefixBytes:], purpose)
	return aead.Seal(dst, make([]byte, aead.NonceSize()), plain, header)
}

// Open returns the plain text of a message for a purpose. A message that is not sealed is returned unchanged.
//
// Errors: *MissingKeyError.
func (k *Key) Open(message []byte, purpose string) ([]byte, error) {
	id, sealed := KeyOf(message)
	switch {
	case !sealed:
		return message, nil
	case len(message) < headerBytes+tagBytes:
		return nil, fmt.Errorf("seal: a sealed message of %d bytes, at least %d", len(message), headerBytes+tagBytes)
	case message[1] != version:
		return nil, fmt.Errorf("seal: version %d of a sealed message, this program reads %d", message[1], version)
	}
	o := k.find(id)
	if o == nil {
		return nil, &MissingKeyError{ID: id, Have: k}
	}
	header := message[:headerBytes]
	aead := o.cipher(header[prefixBytes:], purpose)
	plain, err := aead.Open(nil, make([]byte, aead.NonceSize()), message[headerBytes:], header)
	if err != nil {
		return nil, fmt.Errorf("seal: this is no %s that the key %s sealed, or it is damaged", purpose, id)
	}
	return plain, nil
}

// MissingKeyError reports a message that no secret of a Key opens.
type MissingKeyError struct {
	ID   string // of the secret that has sealed it
	Have *Key
}

// Error returns the names and the remedy.
func (e *MissingKeyError) Error() string {
	if e.Have.Empty() {
		return fmt.Sprintf("seal: sealed with the key %s, and no key is configured: set auth.secret_key_file to the "+
			"file that has it", e.ID)
	}
	return fmt.Sprintf("seal: sealed with the key %s, and auth.secret_key_file has the %s: put the key %s back into "+
		"the file as a further line", e.ID, e.Have, e.ID)
}

// KeyOf reports whether a message is sealed, and with which key.
func KeyOf(message []byte) (id string, sealed bool) {
	if len(message) == 0 || message[0] != mark {
		return "", false
	}
	return hex.EncodeToString(message[min(2, len(message)):min(prefixBytes, len(message))]), true
}

// cipher returns the cipher of one message.
func (o *one) cipher(salt []byte, purpose string) cipher.AEAD {
	block, err := aes.NewCipher(derive(o.secret, salt, "tickhive seal 1 "+purpose, SecretBytes))
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

// Former returns the names of the secrets behind the first one, which open and do not seal.
func (k *Key) Former() (ids []string) {
	for i := 1; i < len(k.ring); i++ {
		ids = append(ids, k.ring[i].id())
	}
	return ids
}

// Outdated reports whether a text is sealed by another secret than the first one.
func (k *Key) Outdated(text string) bool {
	return Sealed(text) && !k.Empty() && !strings.HasPrefix(text, string(k.ring[0].prefix[:]))
}

// Lacks returns a *MissingKeyError for a text that is sealed by a secret which the ring does not have, nil for any
// other.
func (k *Key) Lacks(text string) error {
	id, sealed := KeyOf([]byte(text))
	if !sealed || k.Has(id) {
		return nil
	}
	return &MissingKeyError{ID: id, Have: k}
}

// Sealed reports whether a text is one that SealText has sealed. A plain text must not begin with a zero byte.
func Sealed(text string) bool { return text != "" && text[0] == mark }

// SealText returns the sealed form of a field, or the text itself if it is empty or the key has no secret.
func (k *Key) SealText(text, purpose string) string {
	if text == "" || k.Empty() {
		return text
	}
	return string(k.Seal(nil, []byte(text), purpose))
}

// OpenText returns the plain form of a field. A text that is not sealed is returned unchanged.
//
// Errors: *MissingKeyError.
func (k *Key) OpenText(text, purpose string) (string, error) {
	if !Sealed(text) {
		return text, nil
	}
	plain, err := k.Open([]byte(text), purpose)
	return string(plain), err
}
