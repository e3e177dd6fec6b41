package stream

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash"
	"sync"
)

// MACBytes is the length of the code that proves that a node of the cluster has written a message: HMAC-SHA256, cut.
const MACBytes = 16

// Keys hold the keys of a cluster by which its nodes sign messages. The first one signs, each verifies. It is
// immutable, so any goroutine may use it.
type Keys struct{ ring []key }

type key struct {
	id   uint32 // names the key in a message; it says nothing about the secret
	macs *sync.Pool
}

// mac is a computation under one key. It is kept, so that a message allocates nothing.
type mac struct {
	hash.Hash
	sum [sha256.Size]byte
}

// KeysOf returns the keys that the ring of a cluster derives for its stream.
func KeysOf(ring interface{ Derive(purpose string) [][]byte }) *Keys {
	return NewKeys(ring.Derive("stream")...)
}

// NewKeys returns the keys of secrets of 32 bytes, which were derived for this purpose alone.
func NewKeys(secrets ...[]byte) *Keys {
	k := &Keys{}
	for _, secret := range secrets {
		if len(secret) != sha256.Size {
			panic(fmt.Sprintf("BUG: stream: a secret of %d bytes, it needs %d", len(secret), sha256.Size))
		}
		id := hmac.New(sha256.New, secret)
		_, _ = id.Write([]byte("tickhive: id of a key of the stream")) // never fails
		k.ring = append(k.ring, key{
			id:   le.Uint32(id.Sum(nil)),
			macs: &sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, secret)} }},
		})
	}
	return k
}

// first returns the id of the key that signs, 0 without one.
func (k *Keys) first() uint32 {
	if k == nil || len(k.ring) == 0 {
		return 0
	}
	return k.ring[0].id
}

// find returns a key, nil when the ring does not have it.
func (k *Keys) find(id uint32) *key {
	if k == nil {
		return nil
	}
	for i := range k.ring {
		if k.ring[i].id == id {
			return &k.ring[i]
		}
	}
	return nil
}

// compute puts the MAC of a message into out: over all bytes but its own.
func (k *key) compute(out *[MACBytes]byte, b []byte) {
	m := k.macs.Get().(*mac)
	m.Reset()
	_, _ = m.Write(b[:macAt]) // never fails
	_, _ = m.Write(b[headBytes:])
	copy(out[:], m.Sum(m.sum[:0]))
	k.macs.Put(m)
}

// sign completes a message.
func (k *Keys) sign(b []byte, id uint32) {
	key := k.find(id)
	if key == nil {
		panic("BUG: stream: a message without a key")
	}
	le.PutUint32(b[96:], id)
	var code [MACBytes]byte
	key.compute(&code, b)
	copy(b[macAt:], code[:])
}

// verify verifies the MAC of a message that has at least a head.
func (k *Keys) verify(b []byte, id uint32) error {
	key := k.find(id)
	if key == nil {
		return fmt.Errorf("%w: key %08x", ErrKey, id)
	}
	var code [MACBytes]byte
	key.compute(&code, b)
	if subtle.ConstantTimeCompare(code[:], b[macAt:headBytes]) != 1 {
		return fmt.Errorf("%w: its code is not one of key %08x", ErrDamaged, id)
	}
	return nil
}
