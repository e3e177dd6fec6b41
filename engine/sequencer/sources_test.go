package sequencer_test

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// burst is a source that places many orders at once.
type burst struct {
	due  int64
	acts int
}

func (b *burst) NextNs() int64 { return b.due }

func (b *burst) Act(_ int64, dst []engine.Command) []engine.Command {
	b.due += int64(10 * time.Millisecond)
	b.acts++
	for i := range 40 {
		c := limitOrder(engine.Side(i%2), 100, 1)
		c.Pair = engine.PairID(b.acts % sliceTestPairs)
		dst = append(dst, c)
	}
	return dst
}

func (b *burst) Skip(nowNs int64) { b.due = nowNs }

// Every submitter is answered, also when its batch ends in one slice with the rest of a source's batch.
func TestSubmittersBesideASourceAreAnswered(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		for seed := range uint64(6) {
			source := &burst{due: enginetest.DayNs + int64(time.Second)}
			s := newSlicing(t, policy, seed, source)
			for s.core.EndPair() < sliceTestPairs {
				s.loop.Step()
				s.loop.Backlog().Step()
			}
			s.clk.ns.Add(int64(time.Second))
			s.run(60)
			if source.acts < 10 {
				t.Errorf("policy %s, seed %d: the source acted %d times", policy, seed, source.acts)
			}
			s.end()
			s.records()
		}
	}
}
