package auth

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a private key that only Reveal returns. It holds a pointer, so that a formatter
// that bypasses the methods finds no text either.
type Secret struct{ text *string }

const redacted = "[redacted]"

// NewSecret wraps a private key.
func NewSecret(text string) Secret { return Secret{&text} }

// Empty reports whether there is no private key: the key has another scheme.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// Reveal returns the private key's text, for the one answer that shows a new key, the log's
// record, the snapshot and the HMAC states.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns a fixed text.
func (s Secret) String() string { return redacted }

// GoString returns a fixed text.
func (s Secret) GoString() string { return redacted }

// Format writes a fixed text for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON returns a fixed text: the answer that shows a key calls Reveal.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns a fixed text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns a fixed text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Draw draws what a requested key needs. The caller draws again where the public key exists already.
func Draw(random io.Reader, q KeyRequest) (NewKey, error) {
	k := NewKey{KeyRequest: q}
	var err error
	if k.PublicKey, err = randomText(random, PublicKeyLength); err != nil || q.public() != nil {
		return k, err
	}
	text, err := randomText(random, PrivateKeyLength)
	k.Secret = NewSecret(text)
	return k, err
}

// WellFormed reports whether a text has the form of the public key of an API key.
func WellFormed(publicKey string) bool { return wellFormed(publicKey, PublicKeyLength) }

// wellFormed reports whether a text is n alphanumerics.
func wellFormed(text string, n int) bool {
	return len(text) == n && consists([]byte(text), alphanumeric)
}

// randomText draws n alphanumerics, each equally likely: bytes beyond the largest
// multiple of 62 are discarded.
func randomText(random io.Reader, n int) (string, error) {
	const limit = 256 - 256%len(alphanumerics)
	out := make([]byte, 0, n)
	var buf [96]byte
	for len(out) < n {
		if _, err := io.ReadFull(random, buf[:]); err != nil {
			return "", fmt.Errorf("accounts/auth: random bytes: %w", err)
		}
		for _, b := range buf {
			if int(b) < limit && len(out) < n {
				out = append(out, alphanumerics[int(b)%len(alphanumerics)])
			}
		}
	}
	return string(out), nil
}
