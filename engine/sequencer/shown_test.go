package sequencer_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// An order whose pair is busy behind it is answered when readers see it: when the pair is shown again.
func TestAnAnswerWaitsUntilItsPairIsShown(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		s := newSlicing(t, policy, 1)
		step := func() bool { return s.loop.Step().Worked || s.loop.Backlog().Step().Worked }
		for range 3 * engine.MinPartEvents {
			s.offer([]engine.Command{limitOrder(engine.Sell, 100, 1)})
		}
		for step() {
		}
		s.offer([]engine.Command{limitOrder(engine.Buy, 1, 1)})
		order := s.offered[len(s.offered)-1]
		s.offer([]engine.Command{limitOrder(engine.Buy, 100, 3*engine.MinPartEvents)})
		seq, parts, answered := s.core.LastSeq(0)+1, 0, false
		for !answered && step() {
			var err error
			if s.core.Unfinished(0) {
				parts++
			}
			if answered, err = order.Outcome(); err != nil {
				t.Fatal(err)
			}
			if v := s.feed.Board().Load().View(0); answered && v.Seq < seq {
				t.Errorf("policy %s: the order is answered, and readers see seq %d, not %d", policy, v.Seq, seq)
			}
		}
		if !answered || parts == 0 {
			t.Errorf("policy %s: answered %t, %d parts", policy, answered, parts)
		}
		for step() {
		}
		s.end()
		s.records()
	}
}
