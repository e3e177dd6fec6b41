package sequencer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/engine/enginetest"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/marketdata/replica"
)

// Under one schedule of batches the journal, the events of every sink, the publications and the state are the same
// for any number of loops.
func TestTheNumberOfLoopsShowsNowhere(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 1 // the race detector takes minutes for each
	}
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		for seed := range seeds {
			one := scheduled(t, policy, seed, 1)
			records := one.rawRecords()
			for _, loops := range []int{2, 3, 8} {
				many := scheduled(t, policy, seed, loops)
				name := fmt.Sprintf("policy %d, seed %d, %d loops", policy, seed, loops)
				if !slices.EqualFunc(records, many.rawRecords(), bytes.Equal) {
					t.Errorf("%s: another journal", name)
				}
				if !slices.Equal(one.first.positions, many.first.positions) ||
					!slices.EqualFunc(one.first.events, many.first.events, sameEvent) ||
					!slices.EqualFunc(one.last.events, many.last.events, sameEvent) {
					t.Errorf("%s: other events", name)
				}
				if !slices.Equal(one.first.published, many.first.published) {
					t.Errorf("%s: other publications", name)
				}
				if !slices.Equal(one.collected, many.collected) {
					t.Errorf("%s: other answers", name)
				}
				if a, b := replica.Hash(one.core, one.feed), replica.Hash(many.core, many.feed); a.Hash != b.Hash {
					t.Errorf("%s: another state", name)
				}
			}
		}
	}
}

// sameEvent compares events of two runs, which have different pointers.
func sameEvent(a, b engine.Event) bool {
	if (a.Client == nil) != (b.Client == nil) || a.Client != nil && *a.Client != *b.Client ||
		(a.Instrument == nil) != (b.Instrument == nil) || a.Instrument != nil && *a.Instrument != *b.Instrument {
		return false
	}
	a.Client, b.Client, a.Instrument, b.Instrument = nil, nil, nil, nil
	return a == b
}

// pipelined is a market with several pairs, with sinks before and behind the market data.
type pipelined struct {
	*market
	clk         *steppedClock
	first, last recorder
	seen        [2]seen
	collected   []string
}

const pipelinedPairs = 5

func newPipelined(t *testing.T, policy sequencer.SyncPolicy, loops int) *pipelined {
	t.Helper()
	p := &pipelined{clk: &steppedClock{}}
	p.clk.ns.Store(enginetest.DayNs)
	p.market = newMarketOf(t, pipelinedOptions(), policy, p.clk, 1)
	p.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: p.core, Clock: p.clk, Journal: p.j, StartNs: enginetest.DayNs, Loops: loops,
		Sinks: []sequencer.Sink{
			sinkPair{&p.first, &p.seen[0]}, p.feed.Sink(), sinkPair{&p.last, &p.seen[1]},
		},
	})
	return p
}

// sinkPair is a recorder that all goroutines may read, and a sink that only its owner may.
type sinkPair struct {
	*recorder
	seen *seen
}

func (s sinkPair) Fold(events []engine.Event, pos uint64) {
	s.seen.Fold(events, pos)
	s.recorder.Fold(events, pos)
}

// pipelinedOptions returns small limits, so that most sweeps have parts.
func pipelinedOptions() engine.Options {
	o := enginetest.RandomOptions()
	o.PartEvents = engine.MinPartEvents
	return o
}

// addPairs returns the commands that add the pairs.
func addPairs() (cmds []engine.Command) {
	for i := range pipelinedPairs {
		in := enginetest.Instrument()
		in.Base = fmt.Sprintf("A%d", i)
		in.Code = in.Base + "_" + in.Quote
		cmds = append(cmds, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &in})
	}
	return cmds
}

// flows returns random commands of all pairs.
type flows struct {
	r   *rand.Rand
	all [pipelinedPairs]*enginetest.Flow
}

func newFlows(seed uint64) *flows {
	f := &flows{r: rand.New(rand.NewPCG(seed, 3))}
	for i := range f.all {
		f.all[i] = enginetest.NewFlow(seed<<8 + uint64(i))
	}
	return f
}

func (f *flows) next() engine.Command {
	p := f.r.IntN(pipelinedPairs)
	c := f.all[p].Next()
	f.all[p].Last++
	if c.Pair = engine.PairID(p); c.Order != 0 {
		c.Order = engine.MakeOrderID(c.Pair, c.Order.N())
	}
	return c
}

// scheduled offers random batches and calls the steps until all are answered, again and again.
func scheduled(t *testing.T, policy sequencer.SyncPolicy, seed uint64, loops int) *pipelined {
	t.Helper()
	p, f := newPipelined(t, policy, loops), newFlows(seed)
	for round := range 60 {
		var offered []*sequencer.Batch
		for range 1 + f.r.IntN(6) {
			b := &sequencer.Batch{}
			if round == 0 {
				b.Commands = addPairs()
			}
			for range f.r.IntN(2 + f.r.IntN(500)) {
				b.Commands = append(b.Commands, f.next())
			}
			b.Collect = func(i int, _ *engine.Command, events []engine.Event) {
				p.collected = append(p.collected, fmt.Sprint(round, i, len(events)))
			}
			if err := p.loop.Offer(b); err != nil {
				t.Fatal(err)
			}
			offered = append(offered, b)
			if round == 0 {
				break
			}
		}
		for p.loop.Step().Worked || p.loop.Committer().Step().Worked {
		}
		for waiting := 0; waiting != len(offered); { // the outcome of one may make the outcome of the next available
			waiting = len(offered)
			offered = slices.DeleteFunc(offered, func(b *sequencer.Batch) bool {
				answered, err := b.Outcome()
				if err != nil {
					t.Fatal(err)
				}
				return answered
			})
		}
		if len(offered) > 0 {
			t.Fatalf("policy %d, seed %d, %d loops, round %d: %d without answer", policy, seed, loops, round,
				len(offered))
		}
		p.clk.ns.Add(f.r.Int64N(int64(time.Second)))
	}
	return p
}

// Several goroutines submit and read at once: a reader sees what was answered before, a query sees all sinks at the
// loop's position, a read in parts sees one state of its pair, and the journal replays to the same state.
func TestLoopsServeManyAtOnce(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		for _, loops := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("policy=%d/loops=%d", policy, loops), func(t *testing.T) {
				serveMany(t, policy, loops)
			})
		}
	}
}

func serveMany(t *testing.T, policy sequencer.SyncPolicy, loops int) {
	p := newPipelined(t, policy, loops)
	go p.loop.Run()
	if err := p.loop.Submit(&sequencer.Batch{Commands: addPairs()}); err != nil {
		t.Fatal(err)
	}
	var submitters, readers sync.WaitGroup
	stop := make(chan struct{})
	for i := range uint64(8) {
		submitters.Go(func() { p.submit(newFlows(i), 25) })
	}
	readers.Go(func() { p.query(stop, policy == sequencer.SyncAlways) })
	readers.Go(func() { p.read(stop) })
	submitters.Wait()
	close(stop)
	readers.Wait()
	p.loop.Stop()
	keeper := replica.NewKeeper(replica.KeeperOptions{
		Market: replica.Options{Engine: pipelinedOptions()}, Log: p.log, Dir: p.dir, Loop: inline{p.loop},
		Clock: clock.Real{}, SnapshotBytes: 1 << 40, Taken: func() {}, Failed: func(err error) { t.Error(err) },
	})
	replayed, err := keeper.Hash()
	if state := replica.Hash(p.core, p.feed); err != nil || replayed.Hash != state.Hash {
		t.Errorf("the journal replays to %s, the loops have %s, %v", replayed.Hash, state.Hash, err)
	}
	if err := p.j.Close(); err != nil {
		t.Error(err)
	}
}

// submit sends batches and compares what a reader sees afterwards with the answer.
func (p *pipelined) submit(f *flows, n int) {
	for range n {
		b := &sequencer.Batch{}
		for range 1 + f.r.IntN(60) {
			b.Commands = append(b.Commands, f.next())
		}
		var seqs [pipelinedPairs]engine.Seq
		b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
			for i := range events {
				if e := &events[i]; e.Pair != engine.ControlPair {
					seqs[e.Pair] = e.Seq
				}
			}
		}
		if err := p.loop.Submit(b); err != nil {
			p.t.Error(err)
			return
		}
		root := p.feed.Board().Load()
		for pair, seq := range seqs {
			if v := root.View(engine.PairID(pair)); seq != 0 && v.Seq < seq {
				p.t.Errorf("pair %d shows seq %d after an answer with %d", pair, v.Seq, seq)
			}
		}
	}
}

// query reads the state of the loop's goroutine again and again. Under sync always the sinks may be behind the core,
// but never behind each other.
func (p *pipelined) query(stop <-chan struct{}, durableFirst bool) {
	for !closed(stop) {
		err := p.loop.Query(func() {
			switch pos := p.loop.Position(); {
			case p.seen[0] != p.seen[1]:
				p.t.Errorf("a query sees one sink at %+v and the other one at %+v", p.seen[0], p.seen[1])
			case p.seen[0].pos > pos, !durableFirst && p.seen[0].seqs != p.seqs():
				p.t.Errorf("a query sees the sinks at %+v, the loop at %d, %d", p.seen[0], pos, p.seqs())
			}
		})
		if err != nil {
			p.t.Error(err)
		}
	}
}

func (p *pipelined) seqs() (all [pipelinedPairs]engine.Seq) {
	for i := range all {
		all[i] = p.core.LastSeq(engine.PairID(i))
	}
	return all
}

// read reads one pair in parts again and again.
func (p *pipelined) read(stop <-chan struct{}) {
	for i := 0; !closed(stop); i++ {
		pair := engine.PairID(i % pipelinedPairs)
		err := p.loop.QueryParts(pair, func(pause func()) {
			first := p.core.HashPair(pair, pause)
			for range 3 {
				if pause(); p.core.HashPair(pair, pause) != first {
					p.t.Errorf("pair %d has moved while it was read", pair)
				}
			}
		})
		if err != nil {
			p.t.Error(err)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seen is a sink without a lock: the race detector finds a loop that does not own it.
type seen struct {
	pos  uint64
	seqs [pipelinedPairs]engine.Seq
}

func (s *seen) Fold(events []engine.Event, pos uint64) {
	if pos <= s.pos {
		panic("BUG: a position is folded twice")
	}
	s.pos = pos
	for i := range events {
		if e := &events[i]; e.Pair != engine.ControlPair {
			s.seqs[e.Pair] = e.Seq
		}
	}
}
