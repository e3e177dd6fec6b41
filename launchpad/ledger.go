package launchpad

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// BlockNs is the length of a block, 2 s (docs/contract/launchpad.md#ledger).
const BlockNs = 2_000_000_000

const secondNs = 1_000_000_000

// Address is the address of an account, a token or a pool on the ledger.
type Address [20]byte

// String returns 0x and 40 lower-case hex digits.
func (a Address) String() string { return "0x" + hex.EncodeToString(a[:]) }

// ParseAddress reads 0x and 40 hex digits of either case.
func ParseAddress(s string) (a Address, ok bool) {
	if len(s) != 42 || s[0] != '0' || s[1]|0x20 != 'x' {
		return a, false
	}
	_, err := hex.Decode(a[:], []byte(strings.ToLower(s[2:])))
	return a, err == nil
}

// Hash is a transaction hash: 32 bytes.
type Hash [32]byte

// String returns 0x and 64 lower-case hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// derive returns the bytes of an address or a hash. They depend only on purpose, seed and position, so a replay
// derives the same bytes.
func derive(purpose string, seed, position uint64) [32]byte {
	b := make([]byte, 0, 64)
	b = append(b, "tickhive/launchpad/"...)
	b = append(b, purpose...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, seed)
	b = binary.BigEndian.AppendUint64(b, position)
	return sha256.Sum256(b)
}

func deriveAddress(purpose string, seed, position uint64) (a Address) {
	sum := derive(purpose, seed, position)
	copy(a[:], sum[:])
	return a
}

// blockAt returns the number of the block at nowNs. The first block has number 1.
func blockAt(genesisNs, nowNs int64) int64 {
	return max(nowNs-genesisNs, 0)/BlockNs + 1
}

// floorSec converts a Unix time in ns to whole seconds, rounded down, as answers print it.
func floorSec(ns int64) int64 {
	s := ns / secondNs
	if ns%secondNs < 0 {
		s--
	}
	return s
}
