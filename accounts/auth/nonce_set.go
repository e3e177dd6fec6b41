package auth

// usedNonce is one used nonce in the ring of its key.
type usedNonce struct {
	hash uint64 // hash of the nonce with the secret seed
	word int64  // timestamp in ms, times two, plus one for a cancel
	skew int32  // time of the use minus the timestamp, in ms
	back uint32 // distance to the previous nonce in the same bucket; 0: there is none
}

func newUsedNonce(hash uint64, timestampMs, usedMs int64, cancel bool) usedNonce {
	skew := min(max(usedMs-timestampMs, -MaxWindowMs), MaxWindowMs)
	e := usedNonce{hash: hash, word: timestampMs << 1, skew: int32(skew)}
	if cancel {
		e.word |= 1
	}
	return e
}

func (e *usedNonce) timestampMs() int64 { return e.word >> 1 }
func (e *usedNonce) usedMs() int64      { return e.timestampMs() + int64(e.skew) }
func (e *usedNonce) cancel() bool       { return e.word&1 != 0 }

// expired reports whether the nonce was used more than NonceKeepNs ago.
func (e *usedNonce) expired(nowMs int64) bool { return nowMs-e.usedMs() > NonceKeepNs/msNs }

// nonceSet holds the used nonces of one key, in the order of their use. Invariant: every
// nonce that was ever added is in the set, or its timestamp is before floorMs. A request
// that passed once is therefore refused for ever, whatever the set drops.
//
// The ring is also its own index: latest has the number of the newest nonce of each bucket, and
// back leads to the previous one. The set drops the oldest nonces first. A chain therefore ends at
// the first number that was dropped, and dropping a nonce only lowers count.
//
// Owner: the lock of the key's shard.
type nonceSet struct {
	ring    []usedNonce // its length is a power of two; nil without nonces
	latest  []uint32    // number of the newest nonce in each bucket; as long as ring
	next    uint32      // number of the next nonce; numbers wrap around
	count   uint32      // number of nonces in the set, which are the newest ones
	cancels uint32      // number of them that are nonces of cancels
	place   int32       // 1 + index in the shard's heap; 0: not in the heap

	floorMs  int64 // requests with older timestamps are refused
	newestMs int64 // newest timestamp in the set
	lastMs   int64 // latest time of a use
}

const minNonceRing = 8

func (n *nonceSet) oldest() *usedNonce { return &n.ring[(n.next-n.count)&n.mask()] }

func (n *nonceSet) mask() uint32 { return uint32(len(n.ring) - 1) }

// find returns the newest use of a nonce; nil when it is not in the set.
func (n *nonceSet) find(hash uint64) *usedNonce {
	if n.count == 0 {
		return nil
	}
	for number := n.latest[uint32(hash)&n.mask()]; ; {
		if age := n.next - number; age == 0 || age > n.count {
			return nil
		}
		e := &n.ring[number&n.mask()]
		if e.hash == hash {
			return e
		}
		if e.back == 0 {
			return nil
		}
		number -= e.back
	}
}

// add appends one use of a nonce.
func (n *nonceSet) add(e usedNonce) {
	if int(n.count) == len(n.ring) {
		n.resize(max(minNonceRing, 2*len(n.ring)))
	}
	bucket := &n.latest[uint32(e.hash)&n.mask()]
	if e.back = n.next - *bucket; e.back > n.count {
		e.back = 0
	}
	*bucket = n.next
	n.ring[n.next&n.mask()] = e
	n.next++
	n.count++
	if e.cancel() {
		n.cancels++
	}
	n.newestMs = max(n.newestMs, e.timestampMs())
	n.lastMs = max(n.lastMs, e.usedMs())
}

// forgetOldest drops the nonce that was used first, and raises floorMs above its timestamp.
func (n *nonceSet) forgetOldest() {
	e := n.oldest()
	n.floorMs = max(n.floorMs, e.timestampMs()+1)
	if e.cancel() {
		n.cancels--
	}
	n.count--
	if len(n.ring) > minNonceRing && int(n.count) < len(n.ring)/4 {
		n.resize(len(n.ring) / 2)
	}
}

// forgetExpired drops the nonces that have expired.
func (n *nonceSet) forgetExpired(nowMs int64) {
	if n.idle(nowMs) {
		n.forgetAll()
		return
	}
	for n.count > 0 && n.oldest().expired(nowMs) {
		n.forgetOldest()
	}
}

// idle reports whether every nonce of the set is expired.
func (n *nonceSet) idle(nowMs int64) bool {
	return n.count > 0 && nowMs-n.lastMs > NonceKeepNs/msNs
}

// forgetAll drops every nonce in constant time.
func (n *nonceSet) forgetAll() {
	n.floorMs = max(n.floorMs, n.newestMs+1)
	n.ring, n.latest = nil, nil
	n.count, n.cancels, n.newestMs, n.lastMs = 0, 0, 0, 0
}

// resize moves the set into a ring of another size.
func (n *nonceSet) resize(size int) {
	old, mask := n.ring, n.mask()
	first, count := n.next-n.count, n.count
	n.ring, n.latest = make([]usedNonce, size), make([]uint32, size)
	n.next, n.count, n.cancels = 0, 0, 0
	for i := range count {
		n.add(old[(first+i)&mask])
	}
}
