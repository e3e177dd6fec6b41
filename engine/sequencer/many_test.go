package sequencer_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
)

// busy is a market with several pairs, with sinks before and behind the market data.
type busy struct {
	*market
	clk         *steppedClock
	first, last recorder
	seen        [2]seen
}

const busyPairs = 5

func newBusy(t *testing.T, policy sequencer.SyncPolicy) *busy {
	t.Helper()
	p := &busy{clk: &steppedClock{}}
	p.clk.ns.Store(enginetest.DayNs)
	p.market = newMarketOf(t, busyOptions(), policy, p.clk, nil)
	p.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: p.core, Clock: p.clk, Journal: p.j, StartNs: enginetest.DayNs, Show: policy.Shows(),
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

// busyOptions returns small limits, so that most sweeps have parts.
func busyOptions() engine.Options {
	o := enginetest.RandomOptions()
	o.PartEvents = engine.MinPartEvents
	return o
}

// addPairs returns the commands that add the pairs.
func addPairs() (cmds []engine.Command) {
	for i := range busyPairs {
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
	all [busyPairs]*enginetest.Flow
}

func newFlows(seed uint64) *flows {
	f := &flows{r: rand.New(rand.NewPCG(seed, 3))}
	for i := range f.all {
		f.all[i] = enginetest.NewFlow(seed<<8 + uint64(i))
	}
	return f
}

func (f *flows) next() engine.Command {
	p := f.r.IntN(busyPairs)
	c := f.all[p].Next()
	f.all[p].Last++
	if c.Pair = engine.PairID(p); c.Order != 0 {
		c.Order = engine.MakeOrderID(c.Pair, c.Order.N())
	}
	return c
}

// Several goroutines submit and read at once: a reader sees what was answered before, a query sees all sinks at the
// loop's position, a read in parts sees one state of its pair, and the journal replays to the same state.
func TestTheLoopServesManyAtOnce(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		t.Run(fmt.Sprintf("policy=%s", policy), func(t *testing.T) { serveMany(t, policy) })
	}
}

func serveMany(t *testing.T, policy sequencer.SyncPolicy) {
	p := newBusy(t, policy)
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
	const together = 50
	for i := range uint64(2) {
		submitters.Go(func() {
			for n := range together {
				b := &sequencer.Batch{Commands: pairOff(engine.PairID(n%busyPairs), name(i, n)), Together: true}
				if err := p.loop.Submit(b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	submitters.Wait()
	close(stop)
	readers.Wait()
	p.loop.Stop()
	records := p.rawRecords()
	if checkTogether(t, busyOptions(), records, 2*together) == 0 {
		t.Error("no batch that is together came while another pair was busy")
	}
	replayed := stateOf(t, busyOptions(), records)
	want := machine.HashMarket(replayed.Core, replayed.Feed).Hash
	if got := machine.HashMarket(p.core, p.feed).Hash; got != want {
		t.Errorf("the journal replays to %s, the loop has %s", want, got)
	}
}

// submit sends batches and compares what a reader sees afterwards with the answer.
func (p *busy) submit(f *flows, n int) {
	for range n {
		b := &sequencer.Batch{}
		for range 1 + f.r.IntN(60) {
			b.Commands = append(b.Commands, f.next())
		}
		var seqs [busyPairs]engine.Seq
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
func (p *busy) query(stop <-chan struct{}, durableFirst bool) {
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

func (p *busy) seqs() (all [busyPairs]engine.Seq) {
	for i := range all {
		all[i] = p.core.LastSeq(engine.PairID(i))
	}
	return all
}

// read reads one pair in parts again and again.
func (p *busy) read(stop <-chan struct{}) {
	for i := 0; !closed(stop); i++ {
		pair := engine.PairID(i % busyPairs)
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
	seqs [busyPairs]engine.Seq
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
