package auth

import (
	"hash/maphash"
	"iter"
	"sync/atomic"

	"github.com/google/uuid"
)

// Roster holds the keys of all users: it decides about new keys and about the end of keys. It verifies nothing.
//
// Owner: one goroutine at a time, the owner of the users.
type Roster struct {
	keys map[string]*Key // by public key
	next uint64
	// ed25519 counts the keys of each Ed25519 public key. The text that is signed does not name the
	// API key, so a request of one could be sent again with another of the same public key.
	ed25519 map[string]int
}

// NewRoster returns a roster without keys.
func NewRoster() *Roster { return &Roster{keys: map[string]*Key{}, ed25519: map[string]int{}} }

// Add makes a key of a user from its record and adds it.
func (r *Roster) Add(user uint32, id uuid.UUID, rec KeyRecord) *Key {
	r.next++
	k := &Key{
		rec: rec, user: user, id: id, number: r.next, nonces: &nonceSet{}, mac: newMACStates(rec.Secret.Reveal()),
		allowed: networks(rec.IPWhitelist),
	}
	r.keys[rec.PublicKey] = k
	if rec.Ed25519 != nil {
		r.ed25519[string(rec.Ed25519)]++
	}
	return k
}

// Remove removes a key.
func (r *Roster) Remove(publicKey string) {
	k := r.keys[publicKey]
	delete(r.keys, publicKey)
	if k == nil || k.rec.Ed25519 == nil {
		return
	}
	if r.ed25519[string(k.rec.Ed25519)]--; r.ed25519[string(k.rec.Ed25519)] <= 0 {
		delete(r.ed25519, string(k.rec.Ed25519))
	}
}

// Made returns the number of keys that Add has made.
func (r *Roster) Made() uint64 { return r.next }

// Find returns the key with this public key, nil for an unknown one.
func (r *Roster) Find(publicKey string) *Key { return r.keys[publicKey] }

// UsesEd25519 reports whether a key has this Ed25519 public key.
func (r *Roster) UsesEd25519(public []byte) bool { return r.ed25519[string(public)] > 0 }

// All yields the keys, in no order.
func (r *Roster) All() iter.Seq[*Key] {
	return func(yield func(*Key) bool) {
		for _, k := range r.keys {
			if !yield(k) {
				return
			}
		}
	}
}

// Keys is the index of the keys that verify requests. It needs no lock: each shard is an immutable map that Add and
// Remove replace. Any goroutine may read it.
//
// Owner: Add, AddAll and Remove belong to the goroutine that publishes what readers see of the users.
type Keys struct {
	shards [keyShards]atomic.Pointer[map[string]*Key]
	seed   maphash.Seed
}

// keyShards is the number of shards. A change copies one of them: 460 keys when a million users have 30 each. The end
// of a key may end 29 others, so that it takes less than a millisecond.
const keyShards = 1 << 16

// NewKeys returns an index without keys.
func NewKeys() *Keys { return &Keys{seed: maphash.MakeSeed()} }

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

// Add adds a key, so that requests signed with it verify.
func (x *Keys) Add(k *Key) { x.change(k.rec.PublicKey, k) }

// Remove removes a key. From the moment that it returns, no request with that key verifies.
func (x *Keys) Remove(publicKey string) { x.change(publicKey, nil) }

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
	}
	for i, shard := range shards {
		x.shards[i].Store(&shard)
	}
}
