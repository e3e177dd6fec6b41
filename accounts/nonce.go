package accounts

import (
	"hash/maphash"
	"sync"
)

// The bounds of the nonce table (Decisions section 6.1). A timestamp may be 60 s in the
// future and is good for 60 s after it, so 121 s outlast every request.
const (
	NonceKeepNs      = 121_000_000_000
	MaxNoncesPerKey  = 100_000
	maxNoncesInShard = 250_000 // of 64 shards: 16,000,000 of 40 bytes at the very most
	nonceShards      = 64
)

// nonceTable remembers used nonces. One lock per shard, held for a few map operations.
type nonceTable struct {
	seeds  [2]maphash.Seed
	shards [nonceShards]nonceShard
}

// nonceShard owns the nonces of every 64th key. What is older than NonceKeepNs goes at
// each use of the shard, oldest first.
type nonceShard struct {
	mu     sync.Mutex
	seen   map[nonceID]struct{}
	perKey map[uint64]int32
	fifo   []usedNonce
	head   int
}

// nonceID stands for one nonce of one key: 128 bits of a hash with secret seeds, so that
// two different nonces never meet in practice and nobody can look for such a pair.
type nonceID struct {
	key  uint64
	hash [2]uint64
}

type usedNonce struct {
	id nonceID
	at int64
}

func newNonceTable() *nonceTable {
	t := &nonceTable{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range t.shards {
		t.shards[i].seen = map[nonceID]struct{}{}
		t.shards[i].perKey = map[uint64]int32{}
	}
	return t
}

// use remembers a nonce of a key, or refuses it: 401 when it was used within
// NonceKeepNs, 429 when the key has MaxNoncesPerKey.
func (t *nonceTable) use(nowNs int64, key uint64, nonce []byte) *Reject {
	id := nonceID{key, [2]uint64{maphash.Bytes(t.seeds[0], nonce), maphash.Bytes(t.seeds[1], nonce)}}
	s := &t.shards[key%nonceShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(nowNs)
	if _, used := s.seen[id]; used {
		return unauthorized("API-Nonce", "API-Nonce was used before.")
	}
	if s.perKey[key] >= MaxNoncesPerKey || len(s.seen) >= maxNoncesInShard {
		return &Reject{
			Status: 429, Code: "RATE_LIMIT",
			Message: "Rate limit exceeded. A key may make 100000 signed requests in 121 seconds.",
		}
	}
	s.seen[id] = struct{}{}
	s.perKey[key]++
	s.fifo = append(s.fifo, usedNonce{id, nowNs})
	return nil
}

// forget drops what is old enough; the slice is moved down when half of it is gone.
func (s *nonceShard) forget(nowNs int64) {
	for s.head < len(s.fifo) && nowNs-s.fifo[s.head].at > NonceKeepNs {
		id := s.fifo[s.head].id
		delete(s.seen, id)
		if s.perKey[id.key]--; s.perKey[id.key] == 0 {
			delete(s.perKey, id.key)
		}
		s.head++
	}
	if s.head > 1024 && s.head*2 > len(s.fifo) {
		n := copy(s.fifo, s.fifo[s.head:])
		s.fifo, s.head = s.fifo[:n], 0
	}
}
