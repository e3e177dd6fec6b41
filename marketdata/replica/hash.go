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
// data folded from its events.
func HashPair(core *engine.Core, feed *marketdata.Feed, p engine.PairID) [32]byte {
	book, market := core.HashPair(p), feed.HashPair(p)
	return sha256.Sum256(append(book[:], market[:]...))
}

// Hash returns the state hash of core and feed: the control stream, then the pairs by code. Only the goroutine
// that owns core and feed may call it.
func Hash(core *engine.Core, feed *marketdata.Feed) StateHash {
	all := sha256.New()
	control := core.HashControl()
	all.Write(control[:])
	var out StateHash
	for _, id := range core.PairsByCode() {
		in, _ := core.Pair(id)
		sum := HashPair(core, feed, id)
		seq := uint64(core.LastSeq(id))
		out.Seq += seq
		out.Pairs = append(out.Pairs, PairHash{in.Code, seq, hex.EncodeToString(sum[:])})
		all.Write(append([]byte(in.Code), 0))
		all.Write(sum[:])
	}
	out.Hash = hex.EncodeToString(all.Sum(nil))
	return out
}

// Hash returns the state hash at r.Pos.
func (r *Replica) Hash() StateHash { return Hash(r.Core, r.Feed) }
