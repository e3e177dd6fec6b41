package hive

import (
	"bytes"
	"testing"
)

// Each byte of a snapshot is in the digest: a state that can be read from a changed one has another digest.
func TestTheDigestHasTheWholeState(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	id := r.open(Propose{TokenID: token, Topic: SlippageCap, Payload: `{"slippageCapBps":70}`, Proposer: "p"})
	v := vote(token, id, 1, Yes)
	v.Comment = "good"
	r.must(v)
	r.must(act("queen-1", token, Signal, `{}`))
	b := r.s.AppendSnapshot(nil)
	was, others := r.s.Digest(), 0
	for i := range b {
		for bit := range 8 {
			changed := bytes.Clone(b)
			changed[i] ^= 1 << bit
			s, err := DecodeSnapshot(changed, r.s.opt)
			if err != nil {
				continue
			}
			others++
			if s.Digest() == was {
				t.Errorf("bit %d of byte %d of %d: an equal digest", bit, i, len(b))
			}
		}
	}
	if others < 100 {
		t.Errorf("%d changed snapshots can be read", others)
	}
}
