package clusterkey

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a file of keys.
const (
	// MinKeyBytes is the length of the shortest key: the ID is public, and no one may guess the key from it.
	MinKeyBytes = 32
	maxKeyBytes = 4 << 10
	maxKeys     = 16 // more former ones than any operator keeps
)

// Ring holds the keys that the nodes of a cluster share. It is immutable; a nil Ring proves nothing.
type Ring struct {
	keys []key // the first one signs
}

type key struct {
	secret []byte
	id     string
}

// Parse returns the ring of a text with one key a line. White space around a key and empty lines do not count.
func Parse(text string) (*Ring, error) {
	r, number := new(Ring), 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		odd := func(c rune) bool { return c <= ' ' || c > '~' }
		if len(line) < MinKeyBytes || len(line) > maxKeyBytes || strings.ContainsFunc(line, odd) {
			return nil, fmt.Errorf("line %d: a key of %d characters; it has %d to %d printable ASCII characters "+
				"without spaces, as `openssl rand -hex 32` writes them", number, len(line), MinKeyBytes, maxKeyBytes)
		}
		k := key{secret: []byte(line)}
		k.id = hex.EncodeToString(k.sum("id"))[:16]
		r.keys = append(r.keys, k)
	}
	if len(r.keys) == 0 || len(r.keys) > maxKeys {
		return nil, fmt.Errorf("%d keys, one a line: at least 1, at most %d", len(r.keys), maxKeys)
	}
	return r, nil
}

// ID returns the name of the key that signs, which is no secret; empty without a ring.
func (r *Ring) ID() string {
	if r == nil {
		return ""
	}
	return r.keys[0].id
}

// First returns the ring with the key of a name in front, so that this one signs; nil if the ring does not have it.
func (r *Ring) First(id string) *Ring {
	if r == nil {
		return nil
	}
	at := slices.IndexFunc(r.keys, func(k key) bool { return k.id == id })
	if at < 0 {
		return nil
	}
	keys := append([]key{r.keys[at]}, r.keys[:at]...)
	return &Ring{keys: append(keys, r.keys[at+1:]...)}
}

// String returns a text without the keys: their names.
func (r *Ring) String() string {
	if r == nil {
		return "no key"
	}
	ids := make([]string, len(r.keys))
	for i := range r.keys {
		ids[i] = r.keys[i].id
	}
	return "key " + strings.Join(ids, ", ")
}

// GoString returns a text without the keys.
func (r *Ring) GoString() string { return r.String() }

func (k *key) sum(parts ...string) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte("tickhive cluster"))
	for _, p := range parts {
		h.Write([]byte("\n" + strconv.Itoa(len(p)) + " "))
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// Prove returns the proof that these parts come from a holder of the first key. The first part names the purpose.
func (r *Ring) Prove(parts ...string) (proof string) {
	return hex.EncodeToString(r.keys[0].sum(append([]string{"node"}, parts...)...))
}

// Proves reports whether Prove of a ring whose first key is one of this ring's made a proof for the parts.
func (r *Ring) Proves(proof string, parts ...string) bool {
	mac, err := hex.DecodeString(proof)
	if r == nil || err != nil {
		return false
	}
	parts = append([]string{"node"}, parts...)
	return slices.ContainsFunc(r.keys, func(k key) bool { return hmac.Equal(mac, k.sum(parts...)) })
}

// Derive returns a secret of 32 bytes for a purpose from each key, in the order of the ring. From one secret neither
// the key nor the secret of another purpose can be computed.
func (r *Ring) Derive(purpose string) [][]byte {
	out := make([][]byte, len(r.keys))
	for i := range r.keys {
		out[i] = r.keys[i].derive(purpose)
	}
	return out
}

func (k *key) derive(purpose string) []byte {
	out, err := hkdf.Key(sha256.New, k.secret, nil, "tickhive cluster "+purpose, sha256.Size)
	if err != nil {
		panic("BUG: clusterkey: " + err.Error())
	}
	return out
}
