package auth

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// The bits that an RSA key may have, and its exponent. Verifying takes about 30 us with 2048 bits, 100 us with 4096.
var rsaBits = []int{2048, 3072, 4096}

const rsaExponent = 65537

// MaxRSAText bounds the PEM of an RSA public key; that of the longest one has 800 characters.
const MaxRSAText = 1024

const pemPublicKey = "PUBLIC KEY"

// ParseRSA parses the PEM of an RSA public key and returns its DER, a SubjectPublicKeyInfo.
func ParseRSA(text string) (der []byte, err error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != pemPublicKey || strings.TrimSpace(string(rest)) != "" {
		return nil, errors.New("must be one PEM block with the label PUBLIC KEY")
	}
	key, err := rsaKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return x509.MarshalPKIXPublicKey(key)
}

// FormatRSA returns the PEM of the DER of an RSA public key, "" without one.
func FormatRSA(der []byte) string {
	if der == nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: pemPublicKey, Bytes: der}))
}

// rsaKey parses the DER of an RSA public key.
func rsaKey(der []byte) (*rsa.PublicKey, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*rsa.PublicKey)
	switch {
	case err != nil || !ok:
		return nil, errors.New("must be an RSA public key")
	case !slices.Contains(rsaBits, key.N.BitLen()):
		return nil, fmt.Errorf("must be an RSA key of 2048, 3072 or 4096 bits, not of %d", key.N.BitLen())
	case key.E != rsaExponent || key.N.Bit(0) == 0:
		return nil, fmt.Errorf("must be an RSA key with an odd modulus and the exponent %d", rsaExponent)
	}
	return key, nil
}

// unknownRSA holds, by the length of a signature, a key that takes the place of a key that has none of this length. No
// private key belongs to it.
var unknownRSA = func() map[int]*rsa.PublicKey {
	keys := map[int]*rsa.PublicKey{}
	for _, bits := range rsaBits {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits))
		keys[bits/8] = &rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: rsaExponent}
	}
	return keys
}()

// verifyRSA reports whether a key made a signature, of a length that unknownRSA has; nil: there is no key. The cost
// depends on the length alone.
func verifyRSA(key *rsa.PublicKey, text, signature []byte) bool {
	unknown := key == nil || key.Size() != len(signature)
	if unknown {
		key = unknownRSA[len(signature)]
	}
	digest := sha256.Sum256(text)
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil && !unknown
}
