package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"slices"
	"sync/atomic"
)

// The lengths of signatures in hex digits, by which Verify chooses the scheme: the cost of a refusal depends on them
// alone, so it shows neither whether a key exists nor which scheme it has. Verifying Ed25519 takes about 60 us, HMAC
// about 2 us. The exchange stores no secret of a key that has a public key of Ed25519 or RSA. The signed text does not
// name the API key, so one such public key belongs to one API key at a time, and a key refuses timestamps from before
// its creation.
const (
	hmacHex    = 64
	ed25519Hex = 2 * ed25519.SignatureSize
)

// edwards is the curve of Ed25519: -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo p.
var edwards = func() (c struct{ p, d *big.Int }) {
	c.p = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	c.d = new(big.Int).ModInverse(big.NewInt(121666), c.p)
	c.d.Mul(c.d, big.NewInt(-121665)).Mod(c.d, c.p)
	return c
}()

// smallOrder holds the y coordinates, in hex as a key has them, of the points whose order divides
// 8. With one of them as a public key anybody can make signatures for some messages.
var smallOrder = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
}

// unknownKey returns a key that serves requests of unknown keys; that of RSA is in unknownRSA.
func unknownKey() *Key {
	k := &Key{lastUsed: new(atomic.Int64), opened: opened{is: true, mac: newMACStates(alphanumerics)}}
	k.rec.Ed25519 = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	return k
}

// ParseEd25519 parses the base64 of a public key. It refuses texts that are no point of the curve in
// its one encoding, and the points of small order.
func ParseEd25519(text string) (key []byte, ok bool) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != ed25519.PublicKeySize || len(text) != base64.StdEncoding.EncodedLen(len(raw)) {
		return nil, false
	}
	return raw, soundPoint(raw)
}

// soundPoint reports whether a public key is a point of the curve, in canonical form and not of
// small order. It serves creation alone, so it may be slow.
func soundPoint(key []byte) bool {
	raw := slices.Clone(key)
	raw[31] &= 0x7f // the sign of x
	if slices.Contains(smallOrder, hex.EncodeToString(raw)) {
		return false
	}
	slices.Reverse(raw)
	y := new(big.Int).SetBytes(raw)
	if y.Cmp(edwards.p) >= 0 {
		return false
	}
	y.Mul(y, y)
	u := new(big.Int).Sub(y, big.NewInt(1))
	v := new(big.Int).Mul(edwards.d, y)
	v.Add(v, big.NewInt(1)).ModInverse(v, edwards.p)
	return u.Mul(u, v).Mod(u, edwards.p).ModSqrt(u, edwards.p) != nil // x^2 = (y^2-1) / (dy^2+1)
}

// matches reports whether the key made the request's signature. A key of one scheme never matches a signature of the
// other scheme. The cost depends on the signature's length alone, because the time of an answer must not tell what a
// key is: where the key has no secret for the signature's scheme, v.unknown is checked in its place.
func (v *Verifier) matches(key *Key, m *macScratch, r *Request) bool {
	if len(r.Signature) == hmacHex {
		states := key.mac
		if states == nil {
			states = v.unknown.mac
		}
		return m.equal(states, r.Signature, m.canonical(r), nil, nil) && key.mac != nil
	}
	n, err := hex.Decode(m.raw[:], r.Signature)
	return err == nil && v.verifies(key, m.canonical(r), m.raw[:n])
}

// publicSignature reports whether a signature of a scheme with a public key may have n bytes.
func publicSignature(n int) bool { return n == ed25519.SignatureSize || unknownRSA[n] != nil }

// verifies reports whether the public key of a key made a signature, whose length publicSignature accepts and which
// chooses the scheme.
func (v *Verifier) verifies(key *Key, text, signature []byte) bool {
	if len(signature) != ed25519.SignatureSize {
		return verifyRSA(key.rsa, text, signature)
	}
	public := ed25519.PublicKey(key.rec.Ed25519)
	if public == nil {
		public = v.unknown.rec.Ed25519
	}
	return ed25519.Verify(public, text, signature) && key.rec.Ed25519 != nil
}
