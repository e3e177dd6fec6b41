package client

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Sign returns the signature of one request in lower-case hex: HMAC-SHA256 with the private key over timestamp,
// nonce, METHOD, target (path and query as sent) and the hex SHA-256 of the body, joined by line feeds.
func Sign(privateKey, timestamp, nonce, method, target string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(privateKey))
	mac.Write(canonical(timestamp, nonce, method, target, body))
	return hex.EncodeToString(mac.Sum(nil))
}

// SignEd25519 returns the signature of one request by an Ed25519 key: 128 lower-case hex digits over
// the text that Sign covers.
func SignEd25519(key ed25519.PrivateKey, timestamp, nonce, method, target string, body []byte) string {
	return hex.EncodeToString(ed25519.Sign(key, canonical(timestamp, nonce, method, target, body)))
}

func canonical(timestamp, nonce, method, target string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return []byte(strings.Join([]string{
		timestamp, nonce, strings.ToUpper(method), target, hex.EncodeToString(sum[:]),
	}, "\n"))
}

// ParseEd25519 parses an Ed25519 private key in PKCS #8 PEM, as "openssl genpkey -algorithm ed25519"
// writes it.
func ParseEd25519(text string) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("client: the private key is not in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("client: private key: %w", err)
	}
	if key, ok := key.(ed25519.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("client: the private key is a %T, want Ed25519", key)
}

// Credentials holds the four values that authenticate one request.
type Credentials struct {
	PublicKey, Timestamp, Nonce, Signature string
}

// Credentials returns the four values that authenticate one request, for programs that send it themselves. The request
// must be sent with exactly this target (path and query) and body.
func (c *Client) Credentials(method, target string, body []byte) (Credentials, error) {
	return credentials(c.PublicKey, c.PrivateKey, c.now(), method, target, body)
}

// credentials signs one request at the given time with a fresh random nonce. A private key in PEM is
// an Ed25519 key.
func credentials(publicKey, privateKey string, now time.Time, method, target string, body []byte) (Credentials,
	error,
) {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails since Go 1.24
	ts := strconv.FormatInt(now.UnixMilli(), 10)
	nonce := hex.EncodeToString(raw[:])
	if !strings.HasPrefix(privateKey, "-----BEGIN") {
		return Credentials{publicKey, ts, nonce, Sign(privateKey, ts, nonce, method, target, body)}, nil
	}
	key, err := ParseEd25519(privateKey)
	if err != nil {
		return Credentials{}, err
	}
	return Credentials{publicKey, ts, nonce, SignEd25519(key, ts, nonce, method, target, body)}, nil
}
