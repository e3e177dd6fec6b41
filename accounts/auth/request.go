package auth

import (
	"net/netip"

	"github.com/tickhive/tickhive/internal/refuse"
)

// The limits of the default scheme (docs/contract/signing.md#signature).
const (
	DefaultWindowMs = 5_000
	MaxWindowMs     = 60_000
	MaxNonceLength  = 64
	maxPublicKey    = 64
	timestampDigits = 13
)

// Request holds the parts of an HTTP request that a signature covers or that Verify checks. Verify retains none
// of its slices. A header that was not sent is nil.
type Request struct {
	Method string // the method in capitals
	Target []byte // the request target as sent, undecoded
	Body   []byte

	PublicKey  []byte // API-PublicKey
	Timestamp  []byte // API-Timestamp
	Nonce      []byte // API-Nonce
	Signature  []byte // API-Signature
	RecvWindow []byte // API-RecvWindow

	// DeletesOwnKey: the request only deletes the key that signs it, which every key may do.
	DeletesOwnKey bool
	// Cancel: the request only cancels orders, so it may use CancelNonces.
	Cancel bool

	Remote  netip.Addr // address of the client
	FullURL []byte     // for the legacy scheme only: auth.public_url, followed by the target
}

func badSignature() *refuse.Refusal {
	return unauthorized("API-Signature", "The API key is unknown or the signature does not match.")
}

func checkHeaders(r *Request) *refuse.Refusal {
	if reject := checkPublicKey(r); reject != nil {
		return reject
	}
	if len(r.Timestamp) != timestampDigits || !consists(r.Timestamp, digit) {
		return unauthorized("API-Timestamp", "API-Timestamp must be the Unix time in milliseconds, 13 digits.")
	}
	if n := len(r.Nonce); n == 0 || n > MaxNonceLength || !consists(r.Nonce, nonceCharacter) {
		return unauthorized("API-Nonce", "API-Nonce must be 1 to %d of A-Z a-z 0-9 _ -.", MaxNonceLength)
	}
	if reject := checkSignature(r); reject != nil {
		return reject
	}
	if _, ok := windowOf(r.RecvWindow); !ok {
		return unauthorized("API-RecvWindow", "API-RecvWindow must be 1 to %d milliseconds.", MaxWindowMs)
	}
	return nil
}

func checkPublicKey(r *Request) *refuse.Refusal {
	if len(r.PublicKey) == 0 || len(r.PublicKey) > maxPublicKey || !consists(r.PublicKey, alphanumeric) {
		return unauthorized("API-PublicKey", "API-PublicKey must name an API key.")
	}
	return nil
}

func checkSignature(r *Request) *refuse.Refusal {
	n := len(r.Signature)
	if n != hmacHex && (n%2 != 0 || !publicSignature(n/2)) || !consists(r.Signature, hexDigit) {
		return unauthorized("API-Signature", "API-Signature must be %d lower-case hex digits, %d for an Ed25519 key, "+
			"a quarter of its bits for an RSA key.", hmacHex, ed25519Hex)
	}
	return nil
}

func windowOf(header []byte) (int64, bool) {
	if header == nil {
		return DefaultWindowMs, true
	}
	if len(header) == 0 || len(header) > 5 || !consists(header, digit) {
		return 0, false
	}
	w := parseDigits(header)
	return w, w >= 1 && w <= MaxWindowMs
}

func parseDigits(b []byte) (v int64) {
	for _, c := range b {
		v = v*10 + int64(c-'0')
	}
	return v
}

// The classes of characters in headers. A table decides without branches, which random digits would mislead.
const (
	digit = 1 << iota
	hexDigit
	alphanumeric
	nonceCharacter
)

var classes = func() (c [256]uint8) {
	for _, x := range []struct {
		characters string
		classes    uint8
	}{
		{"0123456789", digit | hexDigit | alphanumeric | nonceCharacter},
		{"abcdef", hexDigit | alphanumeric | nonceCharacter},
		{"ghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", alphanumeric | nonceCharacter},
		{"_-", nonceCharacter},
	} {
		for _, b := range []byte(x.characters) {
			c[b] = x.classes
		}
	}
	return c
}()

// consists reports whether all characters of b belong to a class.
func consists(b []byte, class uint8) bool {
	common := class
	for _, c := range b {
		common &= classes[c]
	}
	return common != 0
}
