package launchpad

import (
	"bytes"
	"testing"
)

// Each byte of a snapshot is in the digest: a state that can be read from a changed one has another digest.
func TestTheDigestHasTheWholeState(t *testing.T) {
	r := newRig(t)
	token := r.pooled(user(1), "ONE", "50")
	r.must(Deposit{To: user(2), Currency: NATIVE, Amount: AmountOf(7)})
	r.must(BuyBoost{Token: token.No, Tier: Short})
	r.must(InjectFault{Count: 2})
	r.checkpoint(token.No)
	r.must(Transfer{Token: token.No, From: user(1), To: user(3), Amount: One})
	r.must(Swap{Token: token.No, From: user(1), Sell: true, AmountIn: One})
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
