package client

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Sign returns the signature of one request in lower-case hex: HMAC-SHA256 with the private key over timestamp,
// nonce, METHOD, target (path and query as sent) and the hex SHA-256 of the body, joined by line feeds.
func Sign(privateKey, timestamp, nonce, method, target string, body []byte) string {
	sum := sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte(privateKey))
	mac.Write([]byte(strings.Join([]string{
		timestamp, nonce, strings.ToUpper(method), target, hex.EncodeToString(sum[:]),
	}, "\n")))
	return hex.EncodeToString(mac.Sum(nil))
}

// Credentials holds the four values that authenticate one request.
type Credentials struct {
	PublicKey, Timestamp, Nonce, Signature string
}

// credentials signs a request at the time now with a new random nonce.
func credentials(publicKey, privateKey string, now time.Time, method, target string, body []byte) Credentials {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // crypto/rand never fails since Go 1.24
	ts := strconv.FormatInt(now.UnixMilli(), 10)
	nonce := hex.EncodeToString(raw[:])
	return Credentials{publicKey, ts, nonce, Sign(privateKey, ts, nonce, method, target, body)}
}
