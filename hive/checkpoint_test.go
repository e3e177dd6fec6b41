package hive

import (
	"math/big"
	"testing"

	"tickhive/internal/refuse"
)

// A vote counts what its account held when the proposal was made, not what it holds at the vote.
func TestAVoteCountsTheHoldingsOfTheCheckpoint(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	cmd := propose(token, false)
	cmd.Checkpoint = 12
	id := r.open(cmd)
	ballot := func(who byte, now int64, counted *big.Int) CastVote {
		v := vote(token, id, who, Yes)
		v.Checkpoint, v.Holdings, v.Counted = 12, tokens(now), counted
		return v
	}
	for _, tc := range []struct {
		who     byte
		now     int64
		counted *big.Int
		want    int64
	}{
		{2, 1000, tokens(1000), 400}, // unchanged
		{9, 999_999, tokens(1), 100}, // bought after the checkpoint: counts one
		{5, 1000, nil, 100},          // had nothing: the votes of others' tokens count once
		{4, 7, new(big.Int), 100},
	} {
		if got := r.must(ballot(tc.who, tc.now, tc.counted)).Vote.WeightCents; got != tc.want {
			t.Errorf("account %d with %d tokens: weight %d, want %d", tc.who, tc.now, got, tc.want)
		}
		r.check()
	}
	// One who has sold cannot vote.
	sold := ballot(6, 0, tokens(1000))
	sold.Holdings = nil
	r.refused(sold, refuse.NoHoldings, "")
	// A caller who does not know the proposal has not read the holdings of its checkpoint.
	stale := ballot(6, 1000, tokens(1000))
	stale.Checkpoint = 11
	r.refused(stale, refuse.ProposalNotFound, "proposalId")
}

// A proposal does not outlast the checkpoint whose holdings it counts.
func TestAProposalEndsBeforeItsCheckpoint(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	for _, urgent := range []bool{false, true} {
		cmd := propose(token, urgent)
		cmd.CheckpointEndSec = r.now/secondNs + openSec(urgent) - 1
		r.refused(cmd, refuse.Conflict, "tokenId")
		cmd.CheckpointEndSec++
		r.must(cmd)
	}
}
