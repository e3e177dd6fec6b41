package auth

import (
	"hash/maphash"
	"iter"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/seal"
)

// Roster holds the keys of all users: it decides about new keys and about the end of keys. It verifies nothing.
//
// Owner: one goroutine at a time, the owner of the users.
type Roster struct {
	keys map[string]*Key // by public key
	next uint64
	// public counts the keys of each public key of Ed25519 or RSA. The text that is signed does not name the
	// API key, so a request of one could be sent again with another of the same public key.
	public map[string]int
}

// NewRoster returns a roster without keys.
func NewRoster() *Roster { return &Roster{keys: map[string]*Key{}, public: map[string]int{}} }

// Add makes a key of a user from its record and adds it.
func (r *Roster) Add(user uint32, id uuid.UUID, rec KeyRecord) *Key {
	r.next++
	k := &Key{
		rec: rec, user: user, id: id, number: r.next, nonces: &nonceSet{},
		lastUsed: new(atomic.Int64),
	}
	r.keys[rec.PublicKey] = k
	if public := rec.public(); public != nil {
		r.public[string(public)]++
	}
	return k
}

// Reseal replaces the record of a key by one with the same contents, sealed again. It returns a Key with the number,
// the nonces and the time of use of the former one, so that requests that have the former one in hand count as before.
func (r *Roster) Reseal(k *Key, rec KeyRecord) *Key {
	next := &Key{rec: rec, user: k.user, id: k.id, number: k.number, nonces: k.nonces, lastUsed: k.lastUsed}
	r.keys[rec.PublicKey] = next
	return next
}

// Remove removes a key.
func (r *Roster) Remove(publicKey string) {
	k := r.keys[publicKey]
	delete(r.keys, publicKey)
	if k == nil || k.rec.public() == nil {
		return
	}
	public := string(k.rec.public())
	if r.public[public]--; r.public[public] <= 0 {
		delete(r.public, public)
	}
}

// Made returns the number of keys that Add has made.
func (r *Roster) Made() uint64 { return r.next }

// Find returns the key with this public key, nil for an unknown one.
func (r *Roster) Find(publicKey string) *Key { return r.keys[publicKey] }

// Uses reports whether a key has the public key of Ed25519 or RSA of a new one.
func (r *Roster) Uses(q *KeyRequest) bool { return r.public[string(q.public())] > 0 }

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
	ring   *seal.Key // opens the fields of keys
}

// keyShards is the number of shards. A change copies one of them: 460 keys when a million users have 30 each. The end
// of a key may end 29 others, so that it takes less than a millisecond.
const keyShards = 1 << 16

// NewKeys returns an index without keys. The ring opens their sealed fields; an empty one opens none.
func NewKeys(ring *seal.Key) *Keys { return &Keys{seed: maphash.MakeSeed(), ring: ring} }

// MayMake refuses a new key whose addresses the key that makes it does not have. Both are plain here, and a key never
// changes, so it is asked before the command is recorded.
func (x *Keys) MayMake(maker string, q *KeyRequest) *refuse.Refusal {
	k := x.find([]byte(maker))
	switch {
	case k == nil, k.MayManage() != nil, q.CanWithdraw && !k.rec.CanWithdraw: // which the state refuses
		return nil
	case k.covers(networks(q.IPWhitelist)):
		return nil
	}
	return refuse.New(refuse.Forbidden, "ipWhitelist",
		"ipWhitelist must name addresses inside the ipWhitelist of the key that makes the new one.")
}

// Owner returns the account of a key.
func (x *Keys) Owner(publicKey string) (account uint32, known bool) {
	if k := x.find([]byte(publicKey)); k != nil {
		return k.user, true
	}
	return 0, false
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

// Open opens the sealed fields of a key that no reader has yet.
func (x *Keys) Open(k *Key) { k.open(x.ring) }

// Add adds a key, so that requests signed with it verify.
func (x *Keys) Add(k *Key) {
	k.open(x.ring)
	x.change(k.rec.PublicKey, k)
}

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
		k.open(x.ring)
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
