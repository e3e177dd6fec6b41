package sequencer_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink that records its events.
type recorder struct {
	mu        sync.Mutex
	events    []engine.Event
	positions []uint64
	published []int  // len(events) at each publication
	before    func() // called before each publication; nil: nothing
	nextNs    int64
}

func (r *recorder) Fold(events []engine.Event, pos uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, events...)
	r.positions = append(r.positions, pos)
}

func (r *recorder) Publish(int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.before != nil {
		r.before()
	}
	r.published = append(r.published, len(r.events))
}

func (r *recorder) NextNs() int64 {
	if r.nextNs == 0 {
		return math.MaxInt64
	}
	return r.nextNs
}

func (r *recorder) seen() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

func addPairCommand() engine.Command {
	inst := enginetest.Instrument()
	return engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst}
}

func limitOrder(side engine.Side, price, amount int64) engine.Command {
	return engine.Command{Kind: engine.Place, Side: side, Price: price, Amount: amount}
}

// startLoop runs a loop with one pair until the test ends.
func startLoop(t *testing.T, o sequencer.LoopOptions) *sequencer.Loop {
	t.Helper()
	if o.Core == nil {
		o.Core = engine.NewCore(engine.Options{})
	}
	if o.Clock == nil {
		o.Clock = clock.NewManual(enginetest.DayNs)
	}
	l := sequencer.NewLoop(o)
	go l.Run()
	t.Cleanup(l.Stop)
	if err := l.Submit(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
		t.Fatal(err)
	}
	return l
}

// The same commands give the same events through the loop as direct, in batches of any
// size, and each command's events are collected apart.
func TestLoopGivesTheEventsOfTheCore(t *testing.T) {
	const seed = 11
	rec := &recorder{}
	clk := clock.NewManual(enginetest.DayNs)
	l := startLoop(t, sequencer.LoopOptions{Core: engine.NewCore(unbounded), Clock: clk, Sinks: []sequencer.Sink{rec}})
	direct := engine.NewCore(unbounded)
	cmd := addPairCommand()
	cmd.TimeNs = enginetest.DayNs
	want := direct.Apply(&cmd, nil)
	f := enginetest.NewFlow(seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for n := 0; n < 20_000; {
		b := &sequencer.Batch{}
		for range 1 + r.IntN(700) {
			c := f.Next()
			f.Last++
			b.Commands = append(b.Commands, c)
		}
		var collected []engine.Event
		b.Collect = func(_ int, _ *engine.Command, events []engine.Event) { collected = append(collected, events...) }
		if err := l.Submit(b); err != nil {
			t.Fatal(err)
		}
		start := len(want)
		for i := range b.Commands {
			b.Commands[i].TimeNs = clk.NowNs()
			want = direct.Apply(&b.Commands[i], want)
		}
		n += len(b.Commands)
		if !enginetest.EqualEvents(collected, want[start:]) {
			t.Fatalf("seed %d: a batch of %d collected other events", seed, len(b.Commands))
		}
	}
	if !enginetest.EqualEvents(rec.events, want) {
		t.Fatalf("seed %d: the sink saw other events", seed)
	}
	for i, pos := range rec.positions {
		if pos != uint64(i+1) {
			t.Fatalf("command %d was folded with position %d", i+1, pos)
		}
	}
}

// Once an order has been answered, what readers see includes it.
func TestAnswerComesAfterPublication(t *testing.T) {
	rec := &recorder{}
	l := startLoop(t, sequencer.LoopOptions{Sinks: []sequencer.Sink{rec}})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for range 500 {
				var seq engine.Seq
				b := &sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Side(r.IntN(2)), 90+r.Int64N(20),
					1+r.Int64N(5))}}
				b.Collect = func(_ int, _ *engine.Command, events []engine.Event) { seq = events[len(events)-1].Seq }
				if err := l.Submit(b); err != nil {
					t.Error(err)
					return
				}
				rec.mu.Lock()
				shown := rec.published[len(rec.published)-1]
				if got := rec.events[shown-1].Seq; got < seq {
					t.Errorf("answered seq %d, published %d", seq, got)
				}
				rec.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// A full queue refuses and never grows; a stopped loop refuses.
func TestFullQueueRefuses(t *testing.T) {
	l := startLoop(t, sequencer.LoopOptions{})
	hold, held := make(chan struct{}), make(chan struct{})
	go func() { _ = l.Query(func() { close(held); <-hold }) }()
	<-held
	var wg sync.WaitGroup
	busy := make(chan struct{}, 1)
	for range sequencer.QueueBatches + 1 {
		wg.Go(func() {
			err := l.Submit(&sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 1, 1)}})
			if errors.Is(err, sequencer.ErrBusy) {
				busy <- struct{}{}
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	<-busy
	close(hold)
	wg.Wait()
	if len(busy) != 0 || l.Stats().Busy.Load() != 1 {
		t.Errorf("%d refused, want exactly the one beyond the queue", l.Stats().Busy.Load())
	}
	l.Stop()
	if err := l.Submit(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); !errors.Is(err,
		sequencer.ErrStopping) {
		t.Errorf("after Stop: %v, want ErrStopping", err)
	}
}
