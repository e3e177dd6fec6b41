package sequencer_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/step"
)

const sliceTestPairs = 3

// slicing is a stepped market with small parts and several pairs.
type slicing struct {
	*stepped
	opts     engine.Options
	flows    [sliceTestPairs]*enginetest.Flow
	shown    [sliceTestPairs][]engine.Seq
	commands int
	together int // batches that are together
	between  int // slices in which one pair was busy and another one moved
	reading  atomic.Bool
	around   atomic.Int64 // parts of a read before which another pair moved
}

func newSlicing(t *testing.T, policy sequencer.SyncPolicy, seed uint64, sources ...sequencer.Source) *slicing {
	t.Helper()
	return newSlicingWith(t, policy, seed, nil, sources...)
}

// newSlicingWith returns one with other parts; nil: none.
func newSlicingWith(
	t *testing.T, policy sequencer.SyncPolicy, seed uint64, parts sequencer.Parts, sources ...sequencer.Source,
) *slicing {
	opts := enginetest.RandomOptions()
	opts.PartEvents = engine.MinPartEvents
	s := &slicing{opts: opts, stepped: newStepped(t, policy, seed)}
	s.market = newMarketOf(t, opts, policy, s.clk, parts, sources...)
	inst := enginetest.Instrument()
	var pairs []engine.Command
	for p, code := range []string{"AA_BB", "AA_CC", "AA_DD"} {
		in := inst
		in.Code, in.Base, in.Quote = code, code[:2], code[3:]
		pairs = append(pairs, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &in})
		s.flows[p] = enginetest.NewFlow(seed<<8 + uint64(p))
	}
	s.offer(pairs)
	return s
}

func (s *slicing) offer(cmds []engine.Command) {
	s.t.Helper()
	s.offerBatch(&sequencer.Batch{Commands: cmds})
}

func (s *slicing) offerTogether() {
	s.t.Helper()
	p := engine.PairID(s.r.IntN(sliceTestPairs))
	s.flows[p].Last++
	s.offerBatch(&sequencer.Batch{Commands: pairOff(p, name(0, s.together)), Together: true})
	s.together++
}

func (s *slicing) offerBatch(b *sequencer.Batch) {
	s.t.Helper()
	next, begun := 0, false
	b.Collect = func(i int, _ *engine.Command, events []engine.Event) {
		if i != next && i != next-1 || i == next-1 && !begun {
			s.t.Errorf("command %d is collected after command %d", i, next-1)
		}
		begun = true
		next = i + 1
	}
	s.commands += len(b.Commands)
	if err := s.loop.Offer(b); err != nil {
		s.t.Fatal(err)
	}
	s.offered = append(s.offered, b)
}

// next returns random commands of all pairs. Sums of amounts grow so that commands have many parts.
func (s *slicing) next(n int) (cmds []engine.Command) {
	for range n {
		p := engine.PairID(s.r.IntN(sliceTestPairs))
		f := s.flows[p]
		c := f.Next()
		f.Last++
		if c.Pair = p; c.Order != 0 {
			c.Order = engine.MakeOrderID(p, c.Order.N())
		}
		cmds = append(cmds, c)
	}
	return cmds
}

func (s *slicing) run(batches int) {
	s.t.Helper()
	steppers := []step.Stepper{s.loop, s.loop, s.loop.Backlog(), s.j}
	for turns, asked := 0, 0; asked < batches || len(s.offered) > 0; turns++ {
		if turns > 1000*batches {
			s.t.Fatalf("%d batches have no outcome", len(s.offered))
		}
		before := s.seqs()
		switch k := s.r.IntN(len(steppers) + 4); {
		case k < len(steppers):
			steppers[k].Step()
		case k == len(steppers):
			s.clk.ns.Add(s.r.Int64N(int64(20 * time.Millisecond)))
		case k == len(steppers)+1:
			s.collect()
		case k == len(steppers)+2:
			if asked < batches && s.core.EndPair() == sliceTestPairs && s.reading.CompareAndSwap(false, true) {
				s.read(engine.PairID(s.r.IntN(sliceTestPairs)))
			}
		case asked < batches:
			s.offer(s.next(1 + s.r.IntN(12)*s.r.IntN(40)))
			for range s.r.IntN(4) {
				s.offerTogether()
			}
			asked++
		}
		s.watch(before)
	}
}

// read reads a pair in parts: the pair has no unfinished command and does not move, other pairs do.
func (s *slicing) read(p engine.PairID) {
	go func() {
		defer s.reading.Store(false)
		err := s.loop.QueryParts(p, func(pause func()) {
			first := s.core.HashPair(p, pause)
			for range 4 {
				before := s.seqs()
				if pause(); before != s.seqs() {
					s.around.Add(1)
				}
				if s.core.Unfinished(p) || s.core.HashPair(p, pause) != first {
					s.t.Errorf("pair %d has moved while it was read", p)
				}
			}
		})
		if err != nil && !errors.Is(err, sequencer.ErrStopping) {
			s.t.Error(err)
		}
	}()
}

func (s *slicing) seqs() (all [sliceTestPairs]engine.Seq) {
	for p := range all {
		all[p] = s.core.LastSeq(engine.PairID(p))
	}
	return all
}

// watch records what readers see, and whether a pair moved while another one was busy.
func (s *slicing) watch(before [sliceTestPairs]engine.Seq) {
	busy, moved := false, false
	for p := range s.shown {
		id := engine.PairID(p)
		if v := s.feed.Board().Load().View(id); v != nil {
			s.shown[p] = append(s.shown[p], v.Seq)
		}
		busy = busy || s.core.Unfinished(id)
		moved = moved || !s.core.Unfinished(id) && s.core.LastSeq(id) != before[p]
	}
	if busy && moved {
		s.between++
	}
}

// whole carries out the journaled commands without parts.
type whole struct {
	core *engine.Core // without parts
	part *engine.Core // with the parts of the journal: it says what is void
	ends [sliceTestPairs]map[engine.Seq]bool
	void int
	cont int
	n    int
}

func newWhole(opts engine.Options) *whole {
	w := &whole{part: engine.NewCore(opts)}
	opts.PartEvents = 1 << 28
	w.core = engine.NewCore(opts)
	for p := range w.ends {
		w.ends[p] = map[engine.Seq]bool{0: true}
	}
	return w
}

func (w *whole) apply(t *testing.T, record []byte) {
	t.Helper()
	var c engine.Command
	if err := engine.DecodeCommand(record, &c); err != nil {
		t.Fatal(err)
	}
	if w.part.Void(&c) {
		w.void++
		return
	}
	w.part.Apply(&c, nil)
	if c.Kind == engine.Continue {
		w.cont++
		return
	}
	w.n++
	w.core.Apply(&c, nil)
	for p := range w.ends {
		w.ends[p][w.core.LastSeq(engine.PairID(p))] = true
	}
}

// Random batches of several pairs, with parts of a few events, in any order of the steps and under
// every sync policy: each command takes effect once, in order, with the effect that it has at once;
// readers see only whole commands; a pair moves while another one is busy. A journal that is cut
// after any record, between parts too, is finished to the same state.
func TestPartsThroughTheLoop(t *testing.T) {
	around, beside := int64(0), 0
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways, sequencer.SyncOff} {
		for seed := range uint64(2) {
			s := newSlicing(t, policy, seed)
			s.run(12)
			s.end()
			for s.reading.Load() {
				runtime.Gosched()
			}
			around += s.around.Load()
			live := machine.HashMarket(s.core, s.feed)
			records := s.rawRecords()
			want := newWhole(s.opts)
			hashes := map[int][sliceTestPairs][32]byte{} // by the number of records
			for i, r := range records {
				if want.apply(t, r); i == len(records)-1 || s.r.IntN(len(records)) < 30 {
					hashes[i+1] = pairHashes(want.core)
				}
			}
			if want.n != s.commands {
				t.Errorf("policy %s, seed %d: %d commands took effect, %d were submitted", policy, seed, want.n,
					s.commands)
			}
			if beside += checkTogether(t, s.opts, records, s.together); s.together < 5 {
				t.Errorf("only %d batches are together", s.together)
			}
			if pairHashes(want.core) != pairHashes(s.core) {
				t.Errorf("policy %s, seed %d: the parts leave another state", policy, seed)
			}
			for p, seqs := range s.shown {
				for _, seq := range seqs {
					if !want.ends[p][seq] {
						t.Fatalf("policy %s, seed %d: pair %d is shown at seq %d, within a command", policy,
							seed, p, seq)
					}
				}
			}
			cut := s.cuts(records, hashes, live.Hash)
			t.Logf("policy %s, seed %d: %d records, %d continue, %d void; %d cuts between parts; "+
				"%d slices of other pairs, %d around a read", policy, seed, len(records), want.cont, want.void, cut,
				s.between, s.around.Load())
			if want.cont < 20 || want.void < 5 || cut == 0 || s.between == 0 {
				t.Error("the run shows nothing")
			}
		}
	}
	if beside == 0 {
		t.Error("no batch that is together came while another pair was busy")
	}
	if around == 0 {
		t.Error("no other pair moved while a pair was read")
	}
}

func pairHashes(c *engine.Core) (all [sliceTestPairs][32]byte) {
	for p := range all {
		all[p] = c.HashPair(engine.PairID(p), nil)
	}
	return all
}

// cuts replays the beginnings of the journal that have a hash, finishes each and compares the state.
// It returns the number of those that ended between two parts.
func (s *slicing) cuts(records [][]byte, hashes map[int][sliceTestPairs][32]byte, last string) (between int) {
	s.t.Helper()
	for n, hash := range hashes {
		m := stateOf(s.t, s.opts, records[:n])
		unfinished := len(m.Core.AppendUnfinished(nil)) > 0
		if unfinished {
			between++
		}
		written := 0
		if err := m.Finish(func(*engine.Command) error { written++; return nil }); err != nil {
			s.t.Fatal(err)
		}
		if unfinished != (written > 0) || m.Pos != uint64(n+written) || pairHashes(m.Core) != hash {
			s.t.Fatalf("a journal of %d records, with %d of the recovery, has another state", n, written)
		}
		if n == len(records) && machine.HashMarket(m.Core, m.Feed).Hash != last {
			s.t.Fatal("the replay of the whole journal has another state")
		}
	}
	return between
}

// A query of a pair runs between whole commands of the pair; other queries run at once.
func TestQueryPairWaitsForTheCommand(t *testing.T) {
	s := newSlicing(t, sequencer.SyncOff, 1)
	for !s.loop.Step().Worked {
	}
	rest := make([]engine.Command, 60)
	for i := range rest {
		rest[i] = limitOrder(engine.Sell, 100, 1)
		rest[i].Account = engine.AccountID(1 + i%4)
	}
	s.offer(rest)
	s.offer([]engine.Command{limitOrder(engine.Buy, 100, 60)})
	for !s.core.Unfinished(0) {
		s.loop.Step()
	}
	ran := make(chan bool, 2)
	go func() { _ = s.loop.QueryPair(0, func() { ran <- s.core.Unfinished(0) }) }()
	go func() { _ = s.loop.QueryPair(1, func() {}); ran <- true }()
	var order []bool
	for len(order) < 2 {
		s.loop.Step()
		select {
		case unfinished := <-ran:
			order = append(order, unfinished)
		default:
		}
	}
	if n := len(order); n != 2 || !slices.Contains(order, false) {
		t.Fatalf("the query ran within the command: %v", order)
	}
	s.end()
}

// A read in parts keeps the commands of its pair waiting, also while the loop stops, and nothing else: commands and
// reads of other pairs go on between two parts, and each waiting command is answered after the read.
func TestQueryPartsKeepsOnePairWaiting(t *testing.T) {
	s := newSlicing(t, sequencer.SyncOff, 1)
	for !s.loop.Step().Worked {
	}
	const parts = 9
	part := 0
	var read sync.WaitGroup
	read.Go(func() {
		if err := s.loop.QueryParts(0, func(pause func()) {
			for part = range parts {
				pause()
			}
			part = parts
		}); err != nil {
			t.Error(err)
		}
	})
	for part == 0 {
		s.loop.Step()
	}
	own, other := &sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Sell, 100, 1)}}, &sequencer.Batch{}
	other.Commands = []engine.Command{limitOrder(engine.Sell, 100, 1)}
	other.Commands[0].Pair = 1
	for _, b := range []*sequencer.Batch{own, other} {
		if err := s.loop.Offer(b); err != nil {
			t.Fatal(err)
		}
	}
	for part < parts-3 {
		s.loop.Step()
	}
	if ended, _ := own.Outcome(); ended {
		t.Error("a command got into a pair that is read")
	}
	if ended, _ := other.Outcome(); !ended {
		t.Error("a command of another pair waits")
	}
	s.loop.BeginStop()
	for !s.loop.Step().Stopped {
		s.loop.Backlog().Step()
	}
	if ended, err := own.Outcome(); err != nil || !ended || part != parts || s.core.OpenOrders(0) != 1 {
		t.Errorf("the command ended %v with error %v after %d parts", ended, err, part)
	}
	read.Wait()
}
