package hive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"tickhive/internal/wire"
)

// Hash is a transaction hash or the hash of a log entry.
type Hash [32]byte

// String returns 0x and 64 lower-case hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// Entry is one action of an agent in the action log. It never changes.
type Entry struct {
	ID      uint64 // number of the entry, from 1
	TimeNs  int64  // Unix ns; not before the time of the entry before
	Source  Agent
	Target  uint32 // workerId, 0: no token
	Type    ActionType
	Payload string // a JSON object without white space between tokens
	Reason  string
	Prev    Hash // hash of the entry before, zero for the first
}

// Sec returns the entry's time in Unix seconds, as answers print it.
func (e *Entry) Sec() int64 { return e.TimeNs / secondNs }

// TargetTokenID returns the agentNftId of the target, 0 for no token.
func (e *Entry) TargetTokenID() uint64 {
	if e.Target == 0 {
		return 0
	}
	return tokenOf(e.Target)
}

// Hash returns the entry's hash: SHA-256 over Prev and every other member. The next entry contains it.
func (e *Entry) Hash() Hash {
	var buf [256]byte
	c := wire.Writer(append(buf[:0], e.Prev[:]...))
	e.code(c)
	return sha256.Sum256(c.Bytes())
}

// code encodes or decodes every member except Prev, which Chain computes.
func (e *Entry) code(c *wire.Coder) {
	c.U64(&e.ID)
	c.I64(&e.TimeNs)
	c.U8((*uint8)(&e.Source.Tier), uint8(WorkerTier))
	c.U32(&e.Source.N)
	c.U32(&e.Target)
	c.U8((*uint8)(&e.Type), uint8(actionTypes)-1)
	c.Text(&e.Payload, MaxPayload)
	c.Text(&e.Reason, MaxReason)
	if c.Reading() && (e.Source.Tier == NoTier || e.Source.N == 0 || e.TimeNs < 0 || e.Target > MaxWorkers ||
		e.Source.Tier == WorkerTier && e.Source.N > MaxWorkers) {
		c.Fail("entry %d: source %d-%d, target %d", e.ID, e.Source.Tier, e.Source.N, e.Target)
	}
}

// txHash returns the transaction hash of an entry. It depends only on the ledger's seed and the entry's number.
func txHash(seed, entryID uint64) Hash {
	b := append(make([]byte, 0, 40), "tickhive/hive/tx\x00"...)
	b = binary.BigEndian.AppendUint64(b, seed)
	b = binary.BigEndian.AppendUint64(b, entryID)
	return sha256.Sum256(b)
}

// blockAt returns the number of the ledger's block at a time (docs/contract/launchpad.md#ledger). The first
// block has number 1.
func blockAt(genesisNs, ns int64) int64 { return max(ns-genesisNs, 0)/blockNs + 1 }
