package auth

import (
	"container/heap"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/refuse"
)

// Limits of the nonce table (docs/contract/signing.md#nonces).
const (
	// NonceKeepNs is the time for which a nonce is retained. A timestamp is less than a second ahead and is valid for
	// at most 60 s, so no request is valid for 61 s.
	NonceKeepNs = (AheadMs + MaxWindowMs) * msNs
	// MaxNoncesPerKey limits the nonces that a key may use within NonceKeepNs. CancelNonces of them are reserved
	// for cancels, so that a key at its limit can still cancel its orders.
	MaxNoncesPerKey = 100_000
	CancelNonces    = 20_000
	// MaxNonces limits the nonces of all keys together. A nonce takes 28 bytes: 24 in the ring, 4 in the ring's
	// index. A ring shrinks when it is a quarter full, so the table takes 0.45 GiB at best, 0.9 GiB while all
	// keys grow, and 1.75 GiB at most.
	MaxNonces = 16 << 20

	nonceShards = 64
	// sweepShards is the number of shards that a request to a full table sweeps for idle keys.
	sweepShards = 8
)

// nonceTable holds the nonceSets of all keys. Each key has its own limit and does not affect other keys until
// all keys together have MaxNonces. Then the key with the most nonces drops its oldest ones and refuses
// timestamps up to theirs. The table has shards only to reduce contention for locks.
type nonceTable struct {
	seed   maphash.Seed
	max    int64
	total  atomic.Int64 // nonces in all shards; changed under the lock of one
	turn   atomic.Uint32
	shards [nonceShards]nonceShard
}

// nonceShard owns the sets of every 64th key.
type nonceShard struct {
	mu    sync.Mutex
	sets  nonceHeap
	most  atomic.Uint32 // number of nonces in sets[0]
	swept int           // index in sets that sweep checked last
}

func newNonceTable(most int) *nonceTable {
	return &nonceTable{seed: maphash.MakeSeed(), max: int64(most)}
}

// hash returns a 64-bit hash of a nonce with a secret seed. For a key with 100,000 nonces, one in 10^14
// requests has a nonce whose hash is already used, and is refused. The seed prevents clients from searching for
// equal hashes.
func (t *nonceTable) hash(nonce []byte) uint64 { return maphash.Bytes(t.seed, nonce) }

func (t *nonceTable) shard(key *Key) *nonceShard { return &t.shards[key.number%nonceShards] }

// use records a nonce of a key, or refuses it: 401 when it was used within NonceKeepNs or its
// timestamp is before the key's floor, 429 when the key has used up its limit.
func (t *nonceTable) use(nowMs int64, key *Key, timestampMs int64, nonce []byte, cancel bool) *refuse.Refusal {
	e := newUsedNonce(t.hash(nonce), timestampMs, nowMs, cancel)
	n, s := key.nonces, t.shard(key)
	s.mu.Lock()
	change := s.sweep(nowMs)
	change -= int64(n.count)
	n.forgetExpired(nowMs)
	reject := n.refuses(nowMs, &e)
	if reject == nil {
		n.add(e)
	}
	s.reorder(n)
	total := t.total.Add(change + int64(n.count))
	s.mu.Unlock()
	if total > t.max {
		t.makeRoom(nowMs)
	}
	return reject
}

// refuses returns the refusal of a nonce that is to be added, nil when it may be added.
func (n *nonceSet) refuses(nowMs int64, e *usedNonce) *refuse.Refusal {
	switch {
	case e.timestampMs() < n.floorMs:
		return unauthorized("API-Timestamp",
			"API-Timestamp is before %d, and the older nonces of this key are no longer kept: "+
				"send the request again with the present time, %d.", n.floorMs, nowMs)
	case n.find(e.hash) != nil:
		return unauthorized("API-Nonce", "API-Nonce was used before.")
	case n.count >= MaxNoncesPerKey:
		return &refuse.Refusal{
			Code: refuse.RateLimit, RetryAfter: 1,
			Message: "Rate limit exceeded. A key may make 100000 signed requests in 61 seconds.",
		}
	case !e.cancel() && n.count-n.cancels >= MaxNoncesPerKey-CancelNonces:
		return &refuse.Refusal{
			Code: refuse.RateLimit, RetryAfter: 1,
			Message: "Rate limit exceeded. A key may make 100000 signed requests in 61 seconds; " +
				"the last 20000 of them must be cancels (DELETE /api/orders).",
		}
	}
	return nil
}

// makeRoom drops nonces until the table is within its limit. The table is above it by one nonce, or by a few
// after concurrent requests. Each request drops at most two nonces, so no request does much work. Idle keys
// lose theirs first, also in shards without requests.
func (t *nonceTable) makeRoom(nowMs int64) {
	for range sweepShards {
		s := &t.shards[t.turn.Add(1)%nonceShards]
		s.mu.Lock()
		t.total.Add(s.sweep(nowMs))
		s.mu.Unlock()
	}
	for range 2 {
		if t.total.Load() <= t.max {
			return
		}
		s := t.heaviest()
		s.mu.Lock()
		if len(s.sets) > 0 {
			n := s.sets[0]
			n.forgetOldest()
			s.reorder(n)
			t.total.Add(-1)
		}
		s.mu.Unlock()
	}
}

// heaviest returns the shard of the key with the most nonces.
func (t *nonceTable) heaviest() *nonceShard {
	found := &t.shards[0]
	for i := range t.shards {
		if s := &t.shards[i]; s.most.Load() > found.most.Load() {
			found = s
		}
	}
	return found
}

// sweep checks the next set of the shard. If the key is idle, it drops the set's nonces. It returns the change
// of the table's total. The caller must hold mu.
func (s *nonceShard) sweep(nowMs int64) (change int64) {
	if len(s.sets) == 0 {
		return 0
	}
	if s.swept--; s.swept < 0 || s.swept >= len(s.sets) {
		s.swept = len(s.sets) - 1
	}
	if n := s.sets[s.swept]; n.idle(nowMs) {
		change = -int64(n.count)
		n.forgetAll()
		s.reorder(n)
	}
	return change
}

// reorder moves a set to its place in the heap after its count has changed. The caller must hold mu.
func (s *nonceShard) reorder(n *nonceSet) {
	switch {
	case n.place > 0 && n.count > 0:
		heap.Fix(&s.sets, int(n.place-1))
	case n.place > 0:
		heap.Remove(&s.sets, int(n.place-1))
	case n.count > 0:
		heap.Push(&s.sets, n)
	}
	s.most.Store(0)
	if len(s.sets) > 0 {
		s.most.Store(s.sets[0].count)
	}
}

// nonceHeap holds the sets of a shard that have nonces, the largest first.
type nonceHeap []*nonceSet

func (h nonceHeap) Len() int           { return len(h) }
func (h nonceHeap) Less(i, j int) bool { return h[i].count > h[j].count }

func (h nonceHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = int32(i+1), int32(j+1)
}

// Push implements heap.Interface.
func (h *nonceHeap) Push(x any) {
	n := x.(*nonceSet)
	*h = append(*h, n)
	n.place = int32(len(*h))
}

// Pop implements heap.Interface.
func (h *nonceHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	n.place = 0
	return n
}
