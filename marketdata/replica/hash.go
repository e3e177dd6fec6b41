package replica

import (
	"crypto/sha256"
	"encoding/hex"

	"tickhive/engine"
	"tickhive/marketdata"
)

// StateHash is the SHA-256 of a market's state, with the hash of each pair
// (docs/contract/internal.md#clock-and-state).
type StateHash struct {
	Seq   uint64 // sum of the pairs' seqs
	Hash  string // 64 hex digits
	Pairs []PairHash
}

// PairHash is the state hash of one pair.
type PairHash struct {
	Code string
	Seq  uint64
	Hash string
}

// HashPair returns the hash of a pair's whole state: its book with all resting and stop orders, and the market
// data folded from its events. It calls pause, unless it is nil, after every 64 KiB.
func HashPair(core *engine.Core, feed *marketdata.Feed, p engine.PairID, pause func()) [32]byte {
	book, market := core.HashPair(p, pause), feed.HashPair(p, pause)
	return sha256.Sum256(append(book[:], market[:]...))
}

// Hash returns the state hash of core and feed: the control stream, then the pairs by code. Only the goroutine
// that owns core and feed may call it.
func Hash(core *engine.Core, feed *marketdata.Feed) StateHash {
	h, _ := HashOf(owner{}, core, feed)
	return h
}

// Queries runs reads of core and feed; *sequencer.Loop implements it.
type Queries interface {
	Query(fn func()) error
	// QueryParts lets other pairs change at each pause.
	QueryParts(p engine.PairID, read func(pause func())) error
}

// owner runs reads on the goroutine that owns core and feed.
type owner struct{}

func (owner) Query(fn func()) error { fn(); return nil }

func (owner) QueryParts(_ engine.PairID, read func(pause func())) error { read(nil); return nil }

// HashOf returns the state hash of a running market. It reads one pair after the other, so that pairs may have moved on
// before it has read the last one; each pair is read in one state.
func HashOf(q Queries, core *engine.Core, feed *marketdata.Feed) (out StateHash, err error) {
	all := sha256.New()
	var pairs []engine.PairID
	err = q.Query(func() {
		control := core.HashControl()
		all.Write(control[:])
		pairs = core.PairsByCode()
	})
	for _, id := range pairs {
		var sum [32]byte
		var code string
		var seq uint64
		if err == nil {
			err = q.QueryParts(id, func(pause func()) {
				in, _ := core.Pair(id)
				code, seq = in.Code, uint64(core.LastSeq(id))
				sum = HashPair(core, feed, id, pause)
			})
		}
		out.Seq += seq
		out.Pairs = append(out.Pairs, PairHash{code, seq, hex.EncodeToString(sum[:])})
		all.Write(append([]byte(code), 0))
		all.Write(sum[:])
	}
	out.Hash = hex.EncodeToString(all.Sum(nil))
	return out, err
}

// Hash returns the state hash at r.Pos.
func (r *Replica) Hash() StateHash { return Hash(r.Core, r.Feed) }
