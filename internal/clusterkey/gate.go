package clusterkey

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxAge is the largest difference between the clocks of two nodes, plus the time on the way.
const maxAge = 30 * time.Second

// maxNonces bounds the proofs that a Gate remembers. Only nodes add one, so a full Gate is one of a broken node.
const maxNonces = 1 << 16

// Gate admits requests that nodes of the cluster have signed, each of them once. Any goroutine may use it.
type Gate struct {
	ring    *Ring // nil: admits nothing
	startMs int64

	mu      sync.Mutex
	seen    map[string]struct{} // nonces of the present span of 2 maxAge
	before  map[string]struct{} // nonces of the one before
	sinceMs int64               // when the present span began
}

// NewGate returns a Gate. It admits nothing that is dated before nowMs, because the process before may have admitted
// it.
func NewGate(r *Ring, nowMs int64) *Gate {
	return &Gate{ring: r, startMs: nowMs, sinceMs: nowMs, seen: make(map[string]struct{})}
}

// IsProof reports whether a header Authorization is the proof of a node, valid or not.
func IsProof(authorization string) bool {
	scheme, _, _ := strings.Cut(authorization, " ")
	return strings.EqualFold(scheme, Scheme)
}

// Admits returns nil for the header Authorization of a request that a node has signed and that has not been admitted
// before. target is path and query as they came, host the header Host.
func (g *Gate) Admits(authorization, method, target, host string, nowMs int64) error {
	part := strings.Split(authorization, " ")
	if len(part) != 5 || part[0] != Scheme {
		return fmt.Errorf("the proof of a node has the form %s KEY-ID TIME-MS NONCE PROOF", Scheme)
	}
	id, ms, nonce := part[1], part[2], part[3]
	if g.ring == nil {
		return errors.New("this node has no cluster.key_file, so no proof of a node counts here")
	}
	if g.ring.First(id) == nil {
		return fmt.Errorf("the proof is by the key %.16q, and cluster.key_file of this node has the %v: copy this "+
			"file to all nodes", id, g.ring)
	}
	sent, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || !g.ring.Proves(part[4], proveRequest, method, target, host, ms, nonce) {
		return fmt.Errorf("the proof is not one of the key %s for this method, target and Host", id)
	}
	switch age := nowMs - sent; {
	case age > maxAge.Milliseconds() || age < -maxAge.Milliseconds():
		return fmt.Errorf("the proof is dated %d ms before the clock of this node, at most %d ms are allowed: set the "+
			"clocks of both machines", age, maxAge.Milliseconds())
	case sent < g.startMs:
		return errors.New("the proof is dated before the start of this node: send the request again")
	}
	return g.once(nonce, nowMs)
}

// once remembers a nonce for at least 2 maxAge, the longest time in which a proof counts.
func (g *Gate) once(nonce string, nowMs int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if nowMs-g.sinceMs > 2*maxAge.Milliseconds() {
		g.before, g.seen, g.sinceMs = g.seen, make(map[string]struct{}), nowMs
	}
	_, now := g.seen[nonce]
	_, before := g.before[nonce]
	switch {
	case now || before:
		return errors.New("the proof was used before: a request is signed once")
	case len(g.seen) >= maxNonces:
		return fmt.Errorf("more than %d requests of nodes within %s", maxNonces, 2*maxAge)
	}
	g.seen[nonce] = struct{}{}
	return nil
}
