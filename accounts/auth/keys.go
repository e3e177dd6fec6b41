package auth

import (
	"hash/maphash"
	"iter"
	"sync/atomic"

	"github.com/google/uuid"
)

// Keys finds keys by their public key without a lock: each shard is an immutable map that
// Add and Remove replace. Any goroutine may read it.
//
// Owner: New, Add, AddAll and Remove belong to the goroutine of the accounts' store.
type Keys struct {
	shards [keyShards]atomic.Pointer[map[string]*Key]
	seed   maphash.Seed
	next   uint64
	// ed25519 counts the keys of each Ed25519 public key. The text that is signed does not name the
	// API key, so a request of one could be sent again with another of the same public key.
	ed25519 map[string]int
}

// keyShards is the number of shards. A change copies one of them: 460 keys when a million users have 30 each. The end of
// a key may end 29 others, so that it takes less than a millisecond.
const keyShards = 1 << 16

// NewKeys returns an index without keys.
func NewKeys() *Keys {
	return &Keys{ed25519: map[string]int{}, seed: maphash.MakeSeed()}
}

func (x *Keys) find(publicKey []byte) *Key {
	return x.keys(int(maphash.Bytes(x.seed, publicKey) % keyShards))[string(publicKey)]
}

// keys returns the keys of a shard, nil when it never had one.
func (x *Keys) keys(shard int) map[string]*Key {
	if m := x.shards[shard].Load(); m != nil {
		return *m
	}
	return nil
}

// shardOf returns the number of a public key's shard.
func (x *Keys) shardOf(publicKey string) int {
	return int(maphash.String(x.seed, publicKey) % keyShards)
}

// Find returns the key with this public key, nil for an unknown one.
func (x *Keys) Find(publicKey string) *Key {
	return x.keys(x.shardOf(publicKey))[publicKey]
}

// Add adds a key, so that requests signed with it verify.
func (x *Keys) Add(k *Key) {
	x.change(k.rec.PublicKey, k)
	x.count(k)
}

func (x *Keys) count(k *Key) {
	if k.rec.Ed25519 != nil {
		x.ed25519[string(k.rec.Ed25519)]++
	}
}

// Remove removes a key. From the moment that it returns, no request with that key verifies.
func (x *Keys) Remove(publicKey string) {
	k := x.Find(publicKey)
	x.change(publicKey, nil)
	if k == nil || k.rec.Ed25519 == nil {
		return
	}
	if x.ed25519[string(k.rec.Ed25519)]--; x.ed25519[string(k.rec.Ed25519)] <= 0 {
		delete(x.ed25519, string(k.rec.Ed25519))
	}
}

// UsesEd25519 reports whether a key has this Ed25519 public key. The owner's goroutine.
func (x *Keys) UsesEd25519(public []byte) bool { return x.ed25519[string(public)] > 0 }

func (x *Keys) change(publicKey string, k *Key) {
	shard := x.shardOf(publicKey)
	old := x.keys(shard)
	next := make(map[string]*Key, len(old)+1)
	for name, key := range old {
		next[name] = key
	}
	if k == nil {
		delete(next, publicKey)
	} else {
		next[publicKey] = k
	}
	x.shards[shard].Store(&next)
}

// AddAll adds keys to a new index. Adding them one at a time would copy a shard for each, O(n^2).
func (x *Keys) AddAll(keys iter.Seq[*Key]) {
	shards := map[int]map[string]*Key{}
	for k := range keys {
		i := x.shardOf(k.rec.PublicKey)
		if shards[i] == nil {
			shards[i] = map[string]*Key{}
		}
		shards[i][k.rec.PublicKey] = k
		x.count(k)
	}
	for i, shard := range shards {
		x.shards[i].Store(&shard)
	}
}

// Made returns the number of keys that New has made. The owner's goroutine.
func (x *Keys) Made() uint64 { return x.next }

// New makes a key of a user from its record. Requests signed with it verify only after Add or AddAll.
func (x *Keys) New(user uint32, id uuid.UUID, rec KeyRecord) *Key {
	x.next++
	k := &Key{
		rec: rec, user: user, id: id, number: x.next, nonces: &nonceSet{}, mac: newMACStates(rec.Secret.Reveal()),
		allowed: networks(rec.IPWhitelist),
	}
	return k
}
