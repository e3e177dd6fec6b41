package hive

import (
	"testing"

	"tickhive/internal/refuse"
)

// A vote counts what its account held when the proposal was made, not what it holds at the vote.
func TestAVoteCountsTheHoldingsOfTheCheckpoint(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	holder := func(who byte, n int64) Holder { return Holder{Account: [20]byte{who}, Holdings: tokens(n)} }
	cmd := propose(token, false)
	cmd.Holders = []Holder{holder(9, 1), holder(2, 1000), holder(4, 0)}
	id := r.open(cmd)
	cast := func(who byte, now int64) int64 {
		t.Helper()
		v := vote(token, id, who, Yes)
		v.Account, v.Holdings = [20]byte{who}, tokens(now)
		return r.must(v).Vote.WeightCents
	}
	for _, tc := range []struct {
		who       byte
		now, want int64
	}{
		{2, 1000, 400},    // unchanged
		{9, 999_999, 100}, // bought after the checkpoint: counts one
		{5, 1000, 100},    // had nothing: the votes of others' tokens count once
		{4, 7, 100},
	} {
		if got := cast(tc.who, tc.now); got != tc.want {
			t.Errorf("account %d with %d tokens: weight %d, want %d", tc.who, tc.now, got, tc.want)
		}
		r.check()
	}
	// One who has sold cannot vote.
	sold := vote(token, r.open(cmd), 2, Yes)
	sold.Account, sold.Holdings = [20]byte{2}, nil
	r.refused(sold, refuse.NoHoldings, "")
	// The end of the proposals frees the checkpoints.
	r.to(r.now/secondNs + proposalSec)
	if r.check(); len(r.s.checkpoints) != 0 || r.s.checkpointed != 0 {
		t.Errorf("%d checkpoints with %d holders are left", len(r.s.checkpoints), r.s.checkpointed)
	}
}

// More holders than a record may have are refused, and a damaged checkpoint is noticed.
func TestCheckpointsAreBounded(t *testing.T) {
	r := newRig(t)
	cmd := propose(r.spawn(1), false)
	many := make([]Holder, MaxHolders+1)
	for i := range many {
		many[i] = Holder{Account: [20]byte{byte(i), byte(i >> 8), byte(i >> 16)}, Holdings: oneToken}
	}
	cmd.Holders = many
	r.refused(cmd, refuse.Conflict, "tokenId")
	r.s.checkpointed = maxCheckpoints
	cmd.Holders = many[:1]
	r.refused(cmd, refuse.Conflict, "tokenId")
	r.s.checkpointed = 0
	cmd.Holders = many[:3]
	r.must(cmd)
	whole := r.s.AppendSnapshot(nil)
	for i := 1; i < 50; i++ {
		if _, err := DecodeSnapshot(whole[:len(whole)-i], r.s.opt); err == nil {
			t.Fatalf("a snapshot without its last %d bytes is read", i)
		}
	}
}
