package client

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
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

// SignKey returns the signature of one request by an Ed25519 or an RSA key (PKCS #1 v1.5 with SHA-256), in lower-case
// hex, over the text that Sign covers.
func SignKey(key crypto.Signer, timestamp, nonce, method, target string, body []byte) (string, error) {
	text, hash := canonical(timestamp, nonce, method, target, body), crypto.Hash(0)
	if _, ok := key.(*rsa.PrivateKey); ok {
		sum := sha256.Sum256(text)
		text, hash = sum[:], crypto.SHA256
	}
	signature, err := key.Sign(rand.Reader, text, hash)
	if err != nil {
		return "", fmt.Errorf("client: sign with the private key: %w", err)
	}
	return hex.EncodeToString(signature), nil
}

func canonical(timestamp, nonce, method, target string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return []byte(strings.Join([]string{
		timestamp, nonce, strings.ToUpper(method), target, hex.EncodeToString(sum[:]),
	}, "\n"))
}

// ParsePrivateKey parses an Ed25519 or RSA private key in PKCS #8 PEM, as "openssl genpkey -algorithm ed25519" and
// "openssl genpkey -algorithm rsa" write it.
func ParsePrivateKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("client: the private key is not in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("client: private key: %w", err)
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return key, nil
	case *rsa.PrivateKey:
		return key, nil
	}
	return nil, fmt.Errorf("client: the private key is a %T, want Ed25519 or RSA", key)
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
// an Ed25519 or an RSA key.
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
	key, err := ParsePrivateKey(privateKey)
	if err != nil {
		return Credentials{}, err
	}
	signature, err := SignKey(key, ts, nonce, method, target, body)
	return Credentials{publicKey, ts, nonce, signature}, err
}
