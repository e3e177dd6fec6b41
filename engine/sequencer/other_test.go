package sequencer_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// sums is another part: it adds numbers up.
type sums struct {
	total           int // applied
	taken           int // up to which Take has reported
	told, published int
	moves           int // of its position
	pos             uint64
	log             []byte
}

func (s *sums) Apply(cmd *engine.Command) any {
	s.total += int(cmd.Control.Record[0])
	s.log = append(s.log, cmd.Control.Record[0])
	return s.total
}

func (s *sums) Advance(pos uint64) {
	if s.moves++; pos <= s.pos {
		panic("the position goes back")
	}
	s.pos = pos
}

func (s *sums) Take() any {
	if s.taken == s.total {
		return nil
	}
	s.taken = s.total
	return s.total
}

func (s *sums) Show(change any) { s.told = change.(int) }

func (s *sums) Publish() { s.published = s.told }

func addition(n byte, wait sequencer.Mark) *sequencer.Batch {
	return sequencer.OtherBatch(&engine.ControlRecord{Part: 2, Record: []byte{n}}, wait)
}

// A command of another part is applied when it is written, shown at the mark of the process and answered at its own.
func TestOtherPartsAreShownAndAnsweredAtTheirMarks(t *testing.T) {
	for show := sequencer.Written; show <= sequencer.Acked; show++ {
		s := &sums{}
		m := newMarkedWith(t, show, s)
		m.rec.before = func() { // who sees a trade sees the balances that it has changed
			if s.published != s.told {
				t.Errorf("show %d: the market is published before the other parts, at %d of %d",
					show, s.published, s.told)
			}
		}
		add := func(n byte) *sequencer.Batch { return m.offerBatch(addition(n, sequencer.Synced)) }
		one, two := add(1), add(2)
		m.is(one, false, nil)
		m.is(two, false, nil)
		if s.total != 3 || (s.published == 3) != (show == sequencer.Written) || m.j.pos != 3 || s.pos != 3 {
			t.Errorf("show %d: total %d, shown %d, record %d, part at %d", show, s.total, s.published, m.j.pos, s.pos)
		}
		m.confirm(2)
		m.is(one, true, nil)
		m.is(two, false, nil)
		if show != sequencer.Written && s.published != 1 {
			t.Errorf("show %d: the first is confirmed, and shown is %d", show, s.published)
		}
		m.confirm(3)
		m.is(two, true, nil)
		if s.published != 3 || !m.shows(3) || one.Result != 1 || two.Result != 3 {
			t.Errorf("show %d: confirmed, shown is %d; results %v, %v", show, s.published, one.Result, two.Result)
		}
		m.j.fail = errors.New("the disk")
		refused := add(1)
		m.is(refused, true, sequencer.ErrUnavailable)
		if s.total != 3 {
			t.Errorf("a refused write adds to %d", s.total)
		}
	}
}

// Records of another part between the parts of long commands: a replay applies the same ones in the same order, and no
// void one.
func TestOtherPartsBetweenThePartsOfACommand(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		part := &sums{}
		s := newSlicingWith(t, policy, 7, part)
		step := func() bool { return s.loop.Step().Worked || s.loop.Backlog().Step().Worked }
		inside := 0
		for n := range 180 {
			if n%3 == 0 {
				s.offer(s.next(20))
			}
			for range 1 + n%2 {
				b := addition(byte(n)+1, policy.Shows())
				if err := s.loop.Offer(b); err != nil {
					t.Fatal(err)
				}
				s.offered = append(s.offered, b)
			}
			if step(); len(s.core.AppendUnfinished(nil)) > 0 {
				inside++
			}
		}
		for step() {
		}
		s.end()
		for range len(s.offered) { // a batch is woken by the one before it in its run
			s.collect()
		}
		core := engine.NewCore(s.opts)
		var replayed []byte
		void, applied := 0, 0
		for _, record := range s.rawRecords() {
			var cmd engine.Command
			if err := engine.DecodeCommand(record, &cmd); err != nil {
				t.Fatal(err)
			}
			if core.Void(&cmd) {
				void++
				continue
			}
			if applied++; cmd.Kind == engine.Other {
				replayed = append(replayed, cmd.Control.Record...)
			}
			core.Apply(&cmd, nil)
		}
		if !bytes.Equal(replayed, part.log) || inside < 10 || len(part.log) != 270 || len(s.offered) > 0 || void == 0 {
			t.Errorf("policy %s: %d records, %d void, %d times inside a command, %d not answered; a replay applies %d",
				policy, len(part.log), void, inside, len(s.offered), len(replayed))
		}
		if part.moves != applied || part.published != part.total {
			t.Errorf("policy %s: the position moved %d times, a replay applies %d commands; %d is shown of %d", policy,
				part.moves, applied, part.published, part.total)
		}
	}
}
