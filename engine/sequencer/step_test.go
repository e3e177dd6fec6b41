package sequencer_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// steppedClock moves when the test sets it. The loop treats it as a real clock: it acts when
// something is due, as in production.
type steppedClock struct{ ns atomic.Int64 }

func (c *steppedClock) NowNs() int64  { return c.ns.Load() }
func (c *steppedClock) Virtual() bool { return false }

// inline is the loop for a keeper on the goroutine that calls Step.
type inline struct{ *sequencer.Loop }

func (l inline) Query(fn func()) error { fn(); return nil }

// market is a journaled market over a file system in memory.
type market struct {
	t    *testing.T
	dir  keeper.LogDir
	fs   *vfstest.Mem
	log  *wal.Log
	core *engine.Core
	feed *marketdata.Feed
	j    *sequencer.WALJournal
	loop *sequencer.Loop
}

// unbounded is for tests that need each command in one part, and no slice that ends early.
var unbounded = engine.Options{PartEvents: 1 << 20}

func newMarket(t *testing.T, policy sequencer.SyncPolicy, clk clock.Clock, sources ...sequencer.Source) *market {
	t.Helper()
	return newMarketOf(t, unbounded, policy, clk, nil, sources...)
}

func newMarketOf(
	t *testing.T, o engine.Options, policy sequencer.SyncPolicy, clk clock.Clock, parts sequencer.Parts,
	sources ...sequencer.Source,
) *market {
	t.Helper()
	m := &market{t: t, fs: vfstest.NewMem(), core: engine.NewCore(o)}
	m.feed = marketdata.NewFeed(marketdata.Options{})
	m.dir = keeper.LogDir{FS: m.fs, Dir: "engine", Options: wal.Options{NoLock: true, SegmentBytes: 1 << 20}}
	var err error
	if m.log, err = wal.Open(m.fs, m.dir.Dir, m.dir.Options); err != nil {
		t.Fatal(err)
	}
	m.j = sequencer.NewSteppedWALJournal(m.log, policy, clk)
	m.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: m.core, Clock: clk, Journal: m.j, Sinks: []sequencer.Sink{m.feed.Sink()}, Sources: sources,
		StartNs: enginetest.DayNs, Show: policy.Shows(), Parts: parts,
	})
	return m
}

// records returns rawRecords without Command.First, which depends on the order of the steps.
func (m *market) records() [][]byte {
	m.t.Helper()
	all := m.rawRecords()
	for _, record := range all {
		record[0] &^= 1 << 7
	}
	return all
}

// stateOf returns the state that the records leave. They have none of settings, so the limits are those of the loop.
func stateOf(t *testing.T, o engine.Options, records [][]byte) *machine.State {
	t.Helper()
	m := machine.New(machine.Options{Engine: o, Unlimited: true})
	m.Core.SetLimits(o.EffectiveLimits())
	for i, payload := range records {
		if err := m.Apply(&machine.Record{Pos: uint64(i + 1), Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// rawRecords closes the journal and returns its records. The bytes around them tell how far the log
// was durable when each was written, which depends on the order of the steps.
func (m *market) rawRecords() (all [][]byte) {
	m.t.Helper()
	if err := m.j.Close(); err != nil {
		m.t.Fatal(err)
	}
	rd, err := wal.OpenReader(m.fs, m.dir.Dir, m.dir.Options, 0)
	if err != nil {
		m.t.Fatal(err)
	}
	defer rd.Close()
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			m.t.Fatal(err)
		}
		all = append(all, bytes.Clone(rec.Payload))
	}
}

// stepped is a market that one goroutine drives.
type stepped struct {
	*market
	r       *rand.Rand
	clk     *steppedClock
	source  *metronome
	keeper  *keeper.Keeper
	taken   int
	offered []*sequencer.Batch
	asked   int // batches offered so far
}

func newStepped(t *testing.T, policy sequencer.SyncPolicy, seed uint64) *stepped {
	s := &stepped{r: rand.New(rand.NewPCG(seed, 5)), clk: &steppedClock{}}
	s.clk.ns.Store(enginetest.DayNs)
	s.source = &metronome{due: enginetest.DayNs + int64(time.Second)}
	s.market = newMarketOf(t, unbounded, policy, s.clk, nil, s.source)
	s.keeper = keeper.New(keeper.Options{
		Market: machine.Options{Engine: unbounded, Unlimited: true}, Log: s.log, Dir: s.dir, Loop: inline{s.loop},
		KeepAll:       true,
		SnapshotBytes: 30_000, Clock: s.clk,
		Failed: func(err error) { t.Error(err) },
	})
	return s
}

// run offers n batches and calls the steps in a random order until all have an outcome.
func (s *stepped) run(n int) {
	s.t.Helper()
	f := enginetest.NewFlow(s.r.Uint64())
	steppers := []step.Stepper{s.loop, s.loop.Backlog(), s.j, s.keeper}
	for turns := 0; s.asked < n || len(s.offered) > 0; turns++ {
		if turns > 100*n {
			s.t.Fatalf("%d of %d batches have no outcome", len(s.offered), s.asked)
		}
		switch k := s.r.IntN(len(steppers) + 3); {
		case k < len(steppers):
			covered := s.keeper.Covered()
			if steppers[k].Step(); s.keeper.Covered() != covered {
				s.taken++
			}
		case k == len(steppers):
			s.clk.ns.Add(s.r.Int64N(int64(20 * time.Millisecond)))
		case k == len(steppers)+1:
			s.collect()
		case s.asked < n:
			b := &sequencer.Batch{}
			if s.asked == 0 {
				b.Commands = []engine.Command{addPairCommand()}
			}
			for range s.r.IntN(40) {
				b.Commands = append(b.Commands, f.Next())
				f.Last++
			}
			if err := s.loop.Offer(b); err != nil {
				s.t.Fatal(err)
			}
			s.offered = append(s.offered, b)
			s.asked++
		}
	}
}

// collect drops the batches that have an outcome.
func (s *stepped) collect() {
	s.t.Helper()
	waiting := s.offered[:0]
	for _, b := range s.offered {
		answered, err := b.Outcome()
		if err != nil {
			s.t.Fatal(err)
		}
		if !answered {
			waiting = append(waiting, b)
		}
	}
	s.offered = waiting
}

// end steps until the loop has stopped.
func (s *stepped) end() {
	s.t.Helper()
	s.loop.BeginStop()
	for turns := 0; !s.loop.Step().Stopped; turns++ {
		if s.loop.Backlog().Step(); turns > 1000 {
			s.t.Fatal("the loop does not stop")
		}
	}
	s.loop.Stop() // returns at once
	if err := s.loop.Submit(&sequencer.Batch{}); err == nil || !s.loop.Step().Stopped {
		s.t.Errorf("a stopped loop: %v", err)
	}
}

// Steps in one goroutine, in any order, leave the journal and the state that the same commands
// leave through Run.
func TestStepsInAnyOrderEqualRun(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways, sequencer.SyncOff} {
		for seed := range uint64(4) {
			s := newStepped(t, policy, seed)
			s.run(300)
			s.end()
			if s.taken < 2 || len(s.source.acted) < 2 {
				t.Errorf("policy %s, seed %d: %d snapshots, %d acts: too few to show anything", policy, seed,
					s.taken, len(s.source.acted))
			}
			state := machine.HashMarket(s.core, s.feed)
			followed, err := s.keeper.Hash()
			if err != nil || followed.Market.Hash != state.Hash {
				t.Fatalf("policy %s, seed %d: the follower has %s, the loop %s, %v", policy, seed, followed.Market.Hash,
					state.Hash, err)
			}
			records := s.records()
			again := rerun(t, policy, records)
			if got := machine.HashMarket(again.core, again.feed); got.Hash != state.Hash {
				t.Errorf("policy %s, seed %d: Run leaves the state %s, the steps %s", policy, seed, got.Hash,
					state.Hash)
			}
			if !slices.EqualFunc(again.records(), records, bytes.Equal) {
				t.Errorf("policy %s, seed %d: Run leaves another journal", policy, seed)
			}
		}
	}
}

// rerun submits the commands of a journal, with their times, to a loop that Run runs.
func rerun(t *testing.T, policy sequencer.SyncPolicy, records [][]byte) *market {
	t.Helper()
	m := newMarket(t, policy, clock.NewManual(enginetest.DayNs))
	go m.loop.Run()
	for part := range slices.Chunk(records, 100) {
		b := &sequencer.Batch{Stamped: true, Commands: make([]engine.Command, len(part))}
		for i, record := range part {
			if err := engine.DecodeCommand(record, &b.Commands[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.loop.Submit(b); err != nil {
			t.Fatal(err)
		}
	}
	m.loop.Stop()
	return m
}

// A step says when the next has work: of the loop when a source is due, of the journal when the
// interval ends.
func TestStepsSayWhenTheyAreDue(t *testing.T) {
	s := newStepped(t, sequencer.SyncInterval, 1)
	start := s.clk.NowNs()
	if p := s.loop.Step(); p.Worked || p.NextNs != s.source.due {
		t.Errorf("loop: %+v, the source is due at %d", p, s.source.due)
	}
	if p := s.j.Step(); p != step.Idle() {
		t.Errorf("journal without a record: %+v", p)
	}
	if err := s.loop.Offer(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
		t.Fatal(err)
	}
	if p := s.loop.Step(); !p.Worked || s.log.LastSeq() != 1 || s.log.DurableSeq() != 0 {
		t.Errorf("%+v, %d records, %d durable", p, s.log.LastSeq(), s.log.DurableSeq())
	}
	p := s.j.Step()
	if p.Worked || p.NextNs <= start || p.NextNs > start+int64(sequencer.SyncEvery) {
		t.Errorf("journal with a record: %+v", p)
	}
	s.clk.ns.Store(p.NextNs)
	if p := s.j.Step(); !p.Worked || s.log.DurableSeq() != 1 {
		t.Errorf("after the interval: %+v, %d durable", p, s.log.DurableSeq())
	}
	s.clk.ns.Store(s.source.due)
	if p := s.loop.Step(); !p.Worked || s.log.LastSeq() != 2 {
		t.Errorf("a due source: %+v, %d records", p, s.log.LastSeq())
	}
	s.end()
	s.records()
}

// heldDriver keeps the steps for a test, which calls them, and does not wait.
type heldDriver map[string]step.Stepper

func (d heldDriver) Drive(name string, s step.Stepper) { d[name] = s }
func (d heldDriver) Wait(<-chan struct{})              {}

// lookedAtJournal calls look while the loop writes.
type lookedAtJournal struct {
	syncedJournal
	look func()
}

func (j *lookedAtJournal) Append(cmds []*engine.Command) (uint64, error) {
	j.look()
	return j.syncedJournal.Append(cmds)
}

// A query that comes while a driver has paused the loop within a step sees what the whole step has left.
func TestAQueryWaitsForTheEndOfAStep(t *testing.T) {
	core, d, j := engine.NewCore(unbounded), heldDriver{}, &lookedAtJournal{look: func() {}}
	loop := sequencer.NewLoop(sequencer.LoopOptions{Core: core, Clock: &steppedClock{}, Journal: j, Driver: d})
	loop.Begin()
	order, seen := limitOrder(engine.Buy, 1, 1), []uint64(nil)
	for _, cmd := range []engine.Command{addPairCommand(), order, order} {
		j.look = func() {
			if err := loop.Query(func() { seen = append(seen, core.LastOrderID(0).N()) }); err != nil {
				t.Error(err)
			}
		}
		if err := loop.Offer(&sequencer.Batch{Commands: []engine.Command{cmd}}); err != nil {
			t.Fatal(err)
		}
		d["loop"].Step()
		d["backlog"].Step()
	}
	if want := []uint64{0, 1, 2}; !slices.Equal(seen, want) {
		t.Errorf("orders seen within the steps: %v, want %v", seen, want)
	}
}
