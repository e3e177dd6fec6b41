package hive

import (
	"bytes"
	"math/big"
	"slices"

	"tickhive/internal/refuse"
	"tickhive/internal/wire"
)

// A proposal has a checkpoint: who held at least one of its token when it was made. A vote counts
// these holdings, so that a token counts once, even if it is transferred while the proposal is active.

// Bounds of checkpoints, in accounts. A record of MaxHolders has 12 MB.
const (
	MaxHolders     = 1 << 19 // of one proposal
	maxCheckpoints = 1 << 22 // of all active proposals together
)

// Holder is an account of the ledger and its holdings, in 10^-18.
type Holder struct {
	Account  [20]byte
	Holdings *big.Int
}

// holding is a Holder in a checkpoint. log is all that a weight needs of the holdings.
type holding struct {
	account [20]byte
	log     int64 // logCents
}

// maxLogCents is above every logCents: no supply passes 10^30 tokens.
const maxLogCents = 40_00

// checkpoint returns the holdings of the accounts that have at least one token, by account. It refuses more than the
// bounds.
func (s *State) checkpoint(holders []Holder) ([]holding, *refuse.Refusal) {
	var kept []holding
	for i := range holders {
		if h := &holders[i]; h.Holdings.Cmp(oneToken) >= 0 {
			kept = append(kept, holding{h.Account, logCents(h.Holdings)})
		}
	}
	if len(kept) > MaxHolders || s.checkpointed+len(kept) > maxCheckpoints {
		return nil, refuse.New(refuse.Conflict, "tokenId",
			"A proposal counts at most %d holders, the active ones at most %d together; wait until one closes.",
			MaxHolders, maxCheckpoints)
	}
	slices.SortFunc(kept, func(a, b holding) int { return bytes.Compare(a.account[:], b.account[:]) })
	return kept, nil
}

// putCheckpoint stores the checkpoint of an active proposal.
func (s *State) putCheckpoint(n uint32, held []holding) {
	s.checkpoints[n] = held
	s.checkpointed += len(held)
}

func (s *State) dropCheckpoint(n uint32) {
	s.checkpointed -= len(s.checkpoints[n])
	delete(s.checkpoints, n)
}

// logOf returns the part of a vote's weight that follows from the holdings in the checkpoint, in hundredths.
func (s *State) logOf(n uint32, cmd *CastVote) int64 {
	held := s.checkpoints[n]
	i, found := slices.BinarySearchFunc(held, cmd.Account, func(h holding, account [20]byte) int {
		return bytes.Compare(h.account[:], account[:])
	})
	if !found {
		return 0
	}
	return held[i].log
}

func codeHoldings(c *wire.Coder, held *[]holding) {
	n := c.Len(len(*held))
	if c.Reading() && n > 0 {
		*held = make([]holding, n)
	}
	for i := range *held {
		h := &(*held)[i]
		c.Fixed(h.account[:])
		c.I64(&h.log)
		if c.Reading() && (h.log < 0 || h.log > maxLogCents ||
			i > 0 && bytes.Compare((*held)[i-1].account[:], h.account[:]) >= 0) {
			c.Fail("holder %d of a checkpoint", i)
		}
		if c.Err() != nil {
			return
		}
	}
}
