package sequencer_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/step"
)

// sealer is a sink that fails when a command is folded whose time was published before. It asks to
// publish once a second, as the market data do at the ends of candles.
type sealer struct {
	t              *testing.T
	clk            *steppedClock
	sealedNs       int64
	folded, behind int // commands; publications behind the clock
}

func (s *sealer) Fold(events []engine.Event, _ uint64) {
	s.folded++
	if at := events[0].TimeNs; at < s.sealedNs {
		s.t.Fatalf("command %d is %d ns before a time that was published", s.folded, s.sealedNs-at)
	}
}

func (s *sealer) Publish(nowNs int64) {
	if nowNs < s.sealedNs {
		s.t.Fatalf("the time of publications went back by %d ns", s.sealedNs-nowNs)
	}
	if s.sealedNs = nowNs; nowNs < s.clk.NowNs() {
		s.behind++
	}
}

func (s *sealer) NextNs() int64 { return (s.sealedNs/int64(time.Second) + 1) * int64(time.Second) }

// No command is folded whose time is before a publication: not when it waits for a slow disk while
// time passes, not in a long batch, not from a source that is late, and not when the clock goes
// back. Once nothing waits, a publication is at the time of the clock.
func TestAPublishedTimeIsSealed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, slow := range []bool{false, true} {
		r := rand.New(rand.NewPCG(seed, 1))
		clk, j := &steppedClock{}, &stuckJournal{wake: make(chan struct{}, 1)}
		clk.ns.Store(enginetest.DayNs)
		s, src := &sealer{t: t, clk: clk}, &metronome{due: enginetest.DayNs + int64(300*time.Millisecond)}
		o := sequencer.LoopOptions{
			Core: engine.NewCore(engine.Options{}), Clock: clk, Sinks: []sequencer.Sink{s},
			Sources: []sequencer.Source{src}, StartNs: enginetest.DayNs,
		}
		if slow {
			o.Journal, o.Show = j, sequencer.Synced
		}
		l := sequencer.NewLoop(o)
		steppers := []step.Stepper{l, l.Backlog()}
		offered := 0
		offer := func(cmds ...engine.Command) {
			if err := l.Offer(&sequencer.Batch{Commands: cmds}); err == nil {
				offered += len(cmds)
			}
		}
		offer(addPairCommand())
		for range 20_000 {
			switch r.IntN(8) {
			case 0, 1:
				steppers[r.IntN(2)].Step()
			case 2:
				clk.ns.Add(r.Int64N(int64(400 * time.Millisecond)))
			case 3:
				if r.IntN(3) == 0 {
					clk.ns.Add(-r.Int64N(int64(600 * time.Millisecond)))
				}
			case 4:
				offer(limitOrder(engine.Side(r.IntN(2)), 100, 1))
			case 5:
				if r.IntN(20) == 0 {
					batch := make([]engine.Command, r.IntN(600))
					for i := range batch {
						batch[i] = limitOrder(engine.Side(r.IntN(2)), 100, 1)
					}
					offer(batch...)
				}
			default:
				j.mu.Lock()
				j.durable += uint64(r.Int64N(int64(j.pos - j.durable + 1)))
				j.mu.Unlock()
			}
		}
		j.durable = j.pos
		for range 100 {
			l.Step()
			l.Backlog().Step()
			j.durable = j.pos
		}
		if slow == (s.behind == 0) || s.folded < offered || offered < 5000 {
			t.Errorf("slow disk %t: %d of %d commands folded, %d publications behind the clock", slow, s.folded,
				offered, s.behind)
		}
		src.due = step.Never
		clk.ns.Add(int64(time.Minute))
		l.Step()
		if s.sealedNs != clk.NowNs() {
			t.Errorf("slow disk %t: an idle loop published at %d ns before its clock", slow, clk.NowNs()-s.sealedNs)
		}
	}
}

// A command whose outcome is unknown may be in the journal: the next start folds it at its time. So nothing later
// is published any more, although time goes on.
func TestNothingIsPublishedAfterACommandOfUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func(*stuckJournal)
	}{
		{"its write fails", func(j *stuckJournal) { j.refuse = sequencer.ErrOutcomeUnknown }},
		{"its sync fails", func(*stuckJournal) {}},
	} {
		clk, j := &steppedClock{}, &stuckJournal{wake: make(chan struct{}, 1), durable: 1}
		clk.ns.Store(enginetest.DayNs)
		s := &sealer{t: t, clk: clk}
		l := sequencer.NewLoop(sequencer.LoopOptions{
			Core: engine.NewCore(engine.Options{}), Clock: clk, Sinks: []sequencer.Sink{s}, Journal: j,
			StartNs: enginetest.DayNs, Show: sequencer.Synced,
		})
		run := func() {
			for range 10 {
				l.Step()
				l.Backlog().Step()
			}
		}
		if err := l.Offer(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
			t.Fatal(err)
		}
		run()
		clk.ns.Add(int64(90 * time.Second))
		run()
		if s.folded != 1 || s.sealedNs != clk.NowNs() {
			t.Fatalf("%s: %d commands folded first, published at %d", c.name, s.folded, s.sealedNs)
		}
		c.fails(j)
		lost := &sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}}
		if err := l.Offer(lost); err != nil {
			t.Fatal(err)
		}
		run()
		j.set(func() { j.fail = errors.New("the disk is broken") })
		run()
		at := lost.Commands[0].TimeNs
		if _, err := lost.Outcome(); !errors.Is(err, sequencer.ErrOutcomeUnknown) || s.folded != 1 {
			t.Fatalf("%s: the outcome is %v, %d commands folded", c.name, err, s.folded)
		}
		for range 3 {
			clk.ns.Add(int64(90 * time.Second))
			run()
		}
		if s.sealedNs > at {
			t.Errorf("%s: published %d ns after the command", c.name, s.sealedNs-at)
		}
		if p := l.Step(); p.Worked || p.NextNs != step.Never {
			t.Errorf("%s: the loop has more to do: %+v", c.name, p)
		}
	}
}

// Another writer may take over behind the last message that the stream has. So neither time alone nor the publication
// of a command passes it, but the time of a command that the stream has; and the loop does not spin meanwhile.
func TestNoTimeIsPublishedThatAnotherWriterMayPrecede(t *testing.T) {
	clk, j := &steppedClock{}, &marks{sealed: enginetest.DayNs}
	clk.ns.Store(enginetest.DayNs)
	s := &sealer{t: t, clk: clk}
	l := sequencer.NewLoop(sequencer.LoopOptions{
		Core: engine.NewCore(engine.Options{}), Clock: clk, Sinks: []sequencer.Sink{s}, Journal: j,
		StartNs: enginetest.DayNs, Show: sequencer.Acked,
	})
	run := func() (last step.Progress) {
		for range 10 {
			last = l.Step()
			l.Backlog().Step()
		}
		return last
	}
	const minute = int64(time.Minute)
	at := func(minutes int64) int64 { return enginetest.DayNs + minutes*minute }
	for _, c := range []struct {
		what   string
		change func()
		want   int64
		next   int64 // time of the next step
	}{
		{"time passes", func() { clk.ns.Store(at(2)) }, at(0), step.Never},
		{"the stream has a beat", func() { j.sealed = at(1) }, at(1), step.Never},
		{"a command waits for the stream", func() {
			if err := l.Offer(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
				t.Fatal(err)
			}
		}, at(1), step.Never},
		{"time passes behind the command", func() { clk.ns.Store(at(4)) }, at(1), step.Never},
		{"the stream has the command", func() { j.reached[sequencer.Acked] = 1 }, at(2), step.Never},
		{"the stream has a beat behind the command", func() { j.sealed = at(3) }, at(3), step.Never},
		{"the stream has a beat of now", func() { j.sealed = at(4) + 1 }, at(4), step.Never},
		{"the beat is ahead of the clock", func() { j.sealed = at(9) }, at(4), at(4) + int64(time.Second)},
	} {
		c.change()
		p := run()
		if s.sealedNs != c.want || p.Worked || p.NextNs != c.next {
			t.Errorf("%s: published at %d s, and then %+v; want %d s, next at %d", c.what,
				(s.sealedNs-enginetest.DayNs)/1e9, p, (c.want-enginetest.DayNs)/1e9, c.next)
		}
	}
}
