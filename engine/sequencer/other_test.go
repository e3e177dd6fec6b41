package sequencer_test

import (
	"bytes"
	"errors"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// sum is another part: it adds numbers up, and an alarm is due at a time.
type sum struct {
	total, shown int
	alarmNs      int64 // 0: none
	log          []byte
}

var errNothing = errors.New("nothing to add")

// addition is its command.
type addition struct {
	*sum
	n     byte // 0: refused
	alarm bool
	after int // the total when it was applied
}

func (a *addition) Due(nowNs int64) sequencer.Other {
	if a.alarm || a.alarmNs == 0 || nowNs < a.alarmNs {
		return nil
	}
	return &addition{sum: a.sum, n: 100, alarm: true}
}

func (a *addition) Plan(int64) (*engine.OtherRecord, error) {
	if a.n == 0 {
		return nil, errNothing
	}
	return &engine.OtherRecord{Part: 2, Record: []byte{a.n}}, nil
}

func (a *addition) Apply(rec *engine.OtherRecord) {
	a.total += int(rec.Record[0])
	a.log = append(a.log, rec.Record[0])
	if a.after = a.total; a.alarm {
		a.alarmNs = 0
	}
}

func (a *addition) Show() { a.shown = a.after }

// A command of another part is shown at the mark of the process and answered at its own. A refusal is answered when
// what it depends on has that mark.
func TestOtherPartsAreShownAndAnsweredAtTheirMarks(t *testing.T) {
	for show := sequencer.Written; show <= sequencer.Acked; show++ {
		m, s := newMarked(t, show), &sum{}
		add := func(n byte) *sequencer.Batch {
			return m.offerBatch(sequencer.OtherBatch(&addition{sum: s, n: n}, sequencer.Synced))
		}
		one, none := add(1), add(0)
		m.is(one, false, nil)
		m.is(none, false, nil)
		if s.total != 1 || (s.shown == 1) != (show == sequencer.Written) || m.j.pos != 2 {
			t.Errorf("show %d: total %d, shown %d, record %d", show, s.total, s.shown, m.j.pos)
		}
		m.confirm(2)
		m.is(one, true, nil)
		m.is(none, true, errNothing)
		if s.shown != 1 || !m.shows(2) {
			t.Errorf("show %d: confirmed, and shown is %d", show, s.shown)
		}
		m.j.fail = errors.New("the disk")
		refused := add(1)
		m.is(refused, true, sequencer.ErrUnavailable)
		if s.total != 1 {
			t.Errorf("a refused write adds to %d", s.total)
		}
	}
}

// What is due comes first, with a record of its own.
func TestWhatIsDueComesBeforeACommandOfItsPart(t *testing.T) {
	m, s := newMarked(t, sequencer.Written), &sum{}
	s.alarmNs = m.clk.NowNs()
	m.is(m.offerBatch(sequencer.OtherBatch(&addition{sum: s, n: 1}, sequencer.Written)), true, nil)
	if !bytes.Equal(s.log, []byte{100, 1}) || m.j.pos != 3 {
		t.Errorf("%v, record %d", s.log, m.j.pos)
	}
}

// Records of another part between the parts of long commands: a replay applies the same ones in the same order.
func TestOtherPartsBetweenThePartsOfACommand(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		s, part := newSlicing(t, policy, 7), &sum{}
		step := func() bool { return s.loop.Step().Worked || s.loop.Backlog().Step().Worked }
		inside := 0
		for n := range 180 {
			if n%3 == 0 {
				s.offer(s.next(20))
			}
			part.alarmNs = int64(n) % 2
			b := sequencer.OtherBatch(&addition{sum: part, n: byte(n) + 1}, policy.Shows())
			if err := s.loop.Offer(b); err != nil {
				t.Fatal(err)
			}
			s.offered = append(s.offered, b)
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
		for _, record := range s.rawRecords() {
			var cmd engine.Command
			if err := engine.DecodeCommand(record, &cmd); err != nil {
				t.Fatal(err)
			}
			if void := core.Void(&cmd); cmd.Kind == engine.Other && !void {
				replayed = append(replayed, cmd.Other.Record...)
			}
			core.Apply(&cmd, nil)
		}
		if !bytes.Equal(replayed, part.log) || inside < 10 || len(part.log) < 240 || len(s.offered) > 0 {
			t.Errorf("policy %d: %d records, %d times inside a command, %d not answered; a replay applies %d", policy,
				len(part.log), inside, len(s.offered), len(replayed))
		}
	}
}
