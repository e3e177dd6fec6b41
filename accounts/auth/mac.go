package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding"
	"encoding/hex"
	"hash"
)

// macStates holds the two SHA-256 states of an HMAC after its padded key blocks. Storing them saves two blocks
// and all allocations per signature. They are as secret as the key itself.
type macStates struct{ inner, outer []byte }

func newMACStates(private string) *macStates {
	if private == "" {
		return nil // an Ed25519 or RSA key: an empty text would be a private key that everybody knows
	}
	key := []byte(private)
	if len(key) > sha256.BlockSize {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	state := func(pad byte) []byte {
		var block [sha256.BlockSize]byte
		copy(block[:], key)
		for i := range block {
			block[i] ^= pad
		}
		h := sha256.New()
		h.Write(block[:])
		b, err := h.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			panic("BUG: accounts/auth: SHA-256 state: " + err.Error())
		}
		return b
	}
	return &macStates{inner: state(0x36), outer: state(0x5c)}
}

// maxSignature is the length of the longest signature, of an RSA key.
const maxSignature = 512

// macScratch holds the buffers of one verification; a Verifier reuses them.
type macScratch struct {
	digest hash.Hash
	msg    []byte
	sum    [sha256.Size]byte
	hex    [2 * sha256.Size]byte
	raw    [maxSignature]byte
}

func newScratch() *macScratch { return &macScratch{digest: sha256.New()} }

// equal reports, in constant time, whether signature is the MAC of the three parts.
func (m *macScratch) equal(k *macStates, signature, a, b, c []byte) bool {
	return subtle.ConstantTimeCompare(m.mac(k, a, b, c), signature) == 1
}

// mac returns the lower-case hex HMAC-SHA256 of the three parts, valid until the next call.
func (m *macScratch) mac(k *macStates, a, b, c []byte) []byte {
	m.load(k.inner)
	m.digest.Write(a)
	m.digest.Write(b)
	m.digest.Write(c)
	inner := m.digest.Sum(m.sum[:0])
	m.load(k.outer)
	m.digest.Write(inner)
	hex.Encode(m.hex[:], m.digest.Sum(m.sum[:0]))
	return m.hex[:]
}

func (m *macScratch) load(state []byte) {
	if err := m.digest.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		panic("BUG: accounts/auth: SHA-256 state: " + err.Error())
	}
}

// canonical returns the text that the default scheme signs
// (docs/contract/signing.md#signature), valid until the next call.
func (m *macScratch) canonical(r *Request) []byte {
	m.msg = append(append(m.msg[:0], r.Timestamp...), '\n')
	m.msg = append(append(m.msg, r.Nonce...), '\n')
	m.msg = append(append(m.msg, r.Method...), '\n')
	m.msg = append(append(m.msg, r.Target...), '\n')
	if len(r.Body) == 0 {
		m.msg = append(m.msg, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"...)
		return m.msg
	}
	m.digest.Reset()
	m.digest.Write(r.Body)
	m.msg = hex.AppendEncode(m.msg, m.digest.Sum(m.sum[:0]))
	return m.msg
}
