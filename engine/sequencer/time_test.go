package sequencer_test

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/step"
)

// Stamped commands move a virtual clock; a time that goes back refuses the whole batch.
func TestStampedBatches(t *testing.T) {
	rec := &recorder{}
	clk := clock.NewManual(enginetest.DayNs)
	l := startLoop(t, sequencer.LoopOptions{Clock: clk, Sinks: []sequencer.Sink{rec}})
	stamped := func(times ...int64) *sequencer.Batch {
		b := &sequencer.Batch{Stamped: true}
		for _, at := range times {
			c := limitOrder(engine.Buy, 100, 1)
			c.TimeNs = enginetest.DayNs + at
			b.Commands = append(b.Commands, c)
		}
		return b
	}
	if err := l.Submit(stamped(5, 5, 9)); err != nil {
		t.Fatal(err)
	}
	if clk.NowNs() != enginetest.DayNs+9 {
		t.Errorf("clock at %d, want 9", clk.NowNs()-enginetest.DayNs)
	}
	before := rec.seen()
	for _, times := range [][]int64{{8}, {10, 9}} {
		if err := l.Submit(stamped(times...)); !errors.Is(err, sequencer.ErrTimeBack) {
			t.Errorf("times %v: %v, want ErrTimeBack", times, err)
		}
	}
	if err := l.AdvanceTo(enginetest.DayNs + 20); err != nil {
		t.Fatal(err)
	}
	if err := l.Submit(stamped(19)); !errors.Is(err, sequencer.ErrTimeBack) {
		t.Errorf("before the clock: %v, want ErrTimeBack", err)
	}
	if rec.seen() != before {
		t.Error("a refused batch left events")
	}
	if err := l.AdvanceTo(enginetest.DayNs + 19); !errors.Is(err, sequencer.ErrTimeBack) {
		t.Errorf("clock back: %v, want ErrTimeBack", err)
	}
}

// metronome is a source that places one order a second.
type metronome struct {
	due     int64
	acted   []int64
	skipped int
}

func (m *metronome) NextNs() int64 { return m.due }

func (m *metronome) Act(nowNs int64, dst []engine.Command) []engine.Command {
	m.acted = append(m.acted, nowNs)
	m.due += int64(time.Second)
	return append(dst, limitOrder(engine.Buy, 100, 1))
}

func (m *metronome) Skip(nowNs int64) { m.due = nowNs; m.skipped++ }

// unsteadyClock is a machine's clock that is set while the loop runs.
type unsteadyClock struct{ ns atomic.Int64 }

func (c *unsteadyClock) NowNs() int64  { return c.ns.Load() }
func (c *unsteadyClock) Virtual() bool { return false }

// A machine's clock that goes back leaves the time of the commands where it was, for commands that
// are submitted and for those of a source.
func TestTimeNeverGoesBackOnAMachinesClock(t *testing.T) {
	const second = int64(time.Second)
	rec, clk, src := &recorder{}, &unsteadyClock{}, &metronome{due: step.Never}
	clk.ns.Store(enginetest.DayNs + 10*second)
	l := startLoop(t, sequencer.LoopOptions{
		Clock: clk, Sinks: []sequencer.Sink{rec}, Sources: []sequencer.Source{src},
	})
	place := func() {
		t.Helper()
		if err := l.Submit(&sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	times := func() (times []int64) {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		for i := range rec.events {
			if rec.events[i].Kind == engine.EventAccepted {
				times = append(times, rec.events[i].TimeNs-enginetest.DayNs)
			}
		}
		return times
	}
	place()
	clk.ns.Store(enginetest.DayNs + 5*second)
	place()
	if err := l.Query(func() { src.due = enginetest.DayNs + 4*second }); err != nil {
		t.Fatal(err)
	}
	for len(times()) < 4 { // the source acts twice: when its time is 4 s and when it is 5 s
		if err := l.Query(func() {}); err != nil {
			t.Fatal(err)
		}
	}
	place()
	clk.ns.Store(enginetest.DayNs + 12*second)
	if err := l.Query(func() { src.due = step.Never }); err != nil {
		t.Fatal(err)
	}
	place()
	got := times()
	for i := range got {
		want := 10 * second
		if i == len(got)-1 {
			want = 12 * second
		}
		if got[i] != want {
			t.Errorf("command %d is of second %d, want %d", i, got[i]/second, want/second)
		}
	}
}

// backAtATrade is a sink that sets a clock back whenever trades are folded.
type backAtATrade struct {
	recorder
	clk  *unsteadyClock
	sets int
}

func (b *backAtATrade) Fold(events []engine.Event, pos uint64) {
	b.recorder.Fold(events, pos)
	if slices.ContainsFunc(events, func(e engine.Event) bool { return e.Kind == engine.EventTrade }) {
		b.sets++
		b.clk.ns.Add(-int64(time.Second))
	}
}

// The parts of a long command do not go back with a machine's clock either, nor does what comes after it.
func TestTimeNeverGoesBackBetweenTheParts(t *testing.T) {
	clk := &unsteadyClock{}
	clk.ns.Store(enginetest.DayNs + int64(time.Hour))
	sink := &backAtATrade{clk: clk}
	l := startLoop(t, sequencer.LoopOptions{Clock: clk, Sinks: []sequencer.Sink{sink}})
	submit := func(cmds ...engine.Command) {
		t.Helper()
		if err := l.Submit(&sequencer.Batch{Commands: cmds}); err != nil {
			t.Fatal(err)
		}
	}
	const makers = 900 // several parts of trades
	for range makers / 100 {
		submit(slices.Repeat([]engine.Command{limitOrder(engine.Sell, 100, 1)}, 100)...)
	}
	submit(limitOrder(engine.Buy, 100, makers))
	submit(limitOrder(engine.Buy, 90, 1))
	sink.mu.Lock()
	defer sink.mu.Unlock()
	if sink.sets < 3 {
		t.Fatalf("the command had %d parts with trades", sink.sets)
	}
	last := int64(0)
	for _, e := range sink.events {
		if e.Kind != engine.EventPair && e.TimeNs < last {
			t.Fatalf("event %d is %v earlier than one before it", e.Seq, time.Duration(last-e.TimeNs))
		}
		last = max(last, e.TimeNs)
	}
}

// alwaysDue is a sink that has something to publish at any time.
type alwaysDue struct{ recorder }

func (*alwaysDue) NextNs() int64 { return math.MinInt64 }

// A publication by time alone, at a clock that went back, does not take the time of the next command back.
func TestAPublicationByTimeAloneDoesNotSetTimeBack(t *testing.T) {
	const second = int64(time.Second)
	clk, sink := &steppedClock{}, &alwaysDue{}
	clk.ns.Store(enginetest.DayNs + 10*second)
	l := sequencer.NewLoop(sequencer.LoopOptions{
		Core: engine.NewCore(engine.Options{}), Clock: clk, Sinks: []sequencer.Sink{sink},
	})
	for _, c := range []struct{ clock, want int64 }{{10, 10}, {5, 10}, {6, 10}, {11, 11}, {10, 11}} {
		clk.ns.Store(enginetest.DayNs + c.clock*second)
		l.Step() // publishes
		if err := l.Offer(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
			t.Fatal(err)
		}
		l.Step()
		last := sink.events[len(sink.events)-1]
		if got := (last.TimeNs - enginetest.DayNs) / second; got != c.want {
			t.Errorf("at second %d: a command of second %d, want %d", c.clock, got, c.want)
		}
	}
}

// Each part of a long command has the time at which the loop carries it out.
func TestAPartHasItsOwnTime(t *testing.T) {
	clk, rec := &steppedClock{}, &recorder{}
	clk.ns.Store(enginetest.DayNs)
	l := sequencer.NewLoop(sequencer.LoopOptions{
		Core: engine.NewCore(engine.Options{}), Clock: clk, Sinks: []sequencer.Sink{rec},
	})
	offer := func(cmds ...engine.Command) {
		if err := l.Offer(&sequencer.Batch{Commands: cmds}); err != nil {
			t.Fatal(err)
		}
	}
	const makers = 900 // several parts of trades
	offer(addPairCommand())
	offer(slices.Repeat([]engine.Command{limitOrder(engine.Sell, 100, 1)}, makers)...)
	for l.Step().Worked {
		clk.ns.Add(1)
	}
	offer(limitOrder(engine.Buy, 100, makers))
	parts := 0
	for {
		clk.ns.Add(int64(time.Second))
		before := rec.seen()
		if !l.Step().Worked {
			break
		}
		if before == rec.seen() {
			continue
		}
		parts++
		for _, e := range rec.events[before:] {
			if e.TimeNs != clk.NowNs() {
				t.Fatalf("part %d: an event is %v before its clock", parts, time.Duration(clk.NowNs()-e.TimeNs))
			}
		}
	}
	if parts < 3 {
		t.Errorf("the command had %d parts", parts)
	}
}

// A source acts at its own instants inside an advanced span, in one step or in many, and
// before a stamped command of a later time.
func TestSourcesActInsideAnAdvancedSpan(t *testing.T) {
	run := func(steps int) []engine.Event {
		rec, m := &recorder{}, &metronome{due: enginetest.DayNs + 500}
		l := startLoop(t, sequencer.LoopOptions{Sinks: []sequencer.Sink{rec}, Sources: []sequencer.Source{m}})
		const span = 100 * int64(time.Second)
		for i := 1; i <= steps; i++ {
			if err := l.AdvanceTo(enginetest.DayNs + span*int64(i)/int64(steps)); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.acted) != 100 {
			t.Fatalf("acted %d times in 100 s", len(m.acted))
		}
		c := limitOrder(engine.Sell, 200, 1)
		c.TimeNs = enginetest.DayNs + span + 3*int64(time.Second)
		if err := l.Submit(&sequencer.Batch{Commands: []engine.Command{c}, Stamped: true}); err != nil {
			t.Fatal(err)
		}
		if len(m.acted) != 103 || rec.events[len(rec.events)-1].TimeNs != c.TimeNs {
			t.Fatalf("acted %d times before a command three seconds later", len(m.acted))
		}
		var times []int64
		for _, e := range rec.events {
			if e.Kind == engine.EventAccepted && e.Side == engine.Buy {
				times = append(times, e.TimeNs)
			}
		}
		if !slices.Equal(times, m.acted) {
			t.Errorf("orders of the times %v, the source acted at %v", times, m.acted)
		}
		return rec.events
	}
	if d := differ.Diff(run(1), run(77)); d != "" {
		t.Errorf("the steps of the clock change what happens: %s", d)
	}
}

// AdvanceTo reports that a source's commands were refused or will never be durable, and the
// clock then stays at the time that was reached.
func TestAdvanceReportsASourceThatWasRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(j *syncedJournal)
		// reached counts the actions of the source before the clock stops.
		reached int
		want    error
	}{
		{"full disk", func(j *syncedJournal) { j.refuse = errors.New("disk full") }, 1, sequencer.ErrUnavailable},
		{"failed sync", func(j *syncedJournal) { j.syncErr = errors.New("fsync") }, 10, sequencer.ErrOutcomeUnknown},
	} {
		j := &syncedJournal{stuckJournal: stuckJournal{wake: make(chan struct{}, 1)}}
		rec, m := &recorder{}, &metronome{due: enginetest.DayNs + 500}
		clk := clock.NewManual(enginetest.DayNs)
		l := startLoop(t, sequencer.LoopOptions{
			Clock: clk, Journal: j, Show: sequencer.Synced, Sinks: []sequencer.Sink{rec},
			Sources: []sequencer.Source{m},
		})
		if err := l.AdvanceTo(enginetest.DayNs + 10*int64(time.Second)); err != nil || len(m.acted) != 10 {
			t.Fatalf("%s: %v, acted %d times, want 10", c.name, err, len(m.acted))
		}
		seen := rec.seen()
		j.mu.Lock()
		c.fail(j)
		j.mu.Unlock()
		err := l.AdvanceTo(enginetest.DayNs + 20*int64(time.Second))
		if !errors.Is(err, c.want) || rec.seen() != seen {
			t.Errorf("%s: %v, %d events shown", c.name, err, rec.seen()-seen)
		}
		if n := len(m.acted) - 10; n != c.reached || clk.NowNs() != m.acted[len(m.acted)-1] {
			t.Errorf("%s: acted %d times more, want %d; the clock is at %d", c.name, n, c.reached,
				clk.NowNs()-enginetest.DayNs)
		}
		stamped := sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}, Stamped: true}
		stamped.Commands[0].TimeNs = enginetest.DayNs + 30*int64(time.Second)
		if err := l.Submit(&stamped); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("%s: a command of a time that was not reached: %v", c.name, err)
		}
	}
}
