package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim"
)

// steppedClock moves when the test says so. The loop and the hub take it for a real clock: they act
// when something is due, as in production.
type steppedClock struct{ ns int64 }

func (c *steppedClock) NowNs() int64  { return c.ns }
func (c *steppedClock) Virtual() bool { return false }

// inline is the loop for a keeper on the goroutine that calls Step.
type inline struct{ *sequencer.Loop }

func (l inline) Query(fn func()) error { fn(); return nil }

// steppedHub is a journaled, simulated market and its hub, all driven by one goroutine.
type steppedHub struct {
	*manualHub
	r      *rand.Rand
	now    *steppedClock
	loop   *sequencer.Loop
	keeper *keeper.Keeper
	taken  int
	drives []step.Stepper
}

var steppedPairs = []string{"AA_BB", "CC_BB"}

func newSteppedHub(t *testing.T, policy sequencer.SyncPolicy, seed uint64) *steppedHub {
	t.Helper()
	x := &steppedHub{r: rand.New(rand.NewPCG(seed, 7)), manualHub: &manualHub{
		t: t, market: markettest.New(marketdata.Options{}),
	}}
	x.now = &steppedClock{1_767_225_600_000_000_000}
	dir := keeper.LogDir{
		FS: vfstest.NewMem(), Dir: "engine", Options: wal.Options{NoLock: true, SegmentBytes: 1 << 20},
	}
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		t.Fatal(err)
	}
	j := sequencer.NewSteppedWALJournal(log, policy, x.now)
	x.Hub = NewHub(Options{
		Board: x.market.Feed.Board(), Clock: x.now, Epoch: "00112233445566aa",
		SocketOptions: SocketOptions{MachineNs: x.now.NowNs, PongWithin: time.Hour},
	})
	source := sim.New(sim.Options{Core: x.market.Core, Seed: seed, StartNs: x.now.ns, Pairs: []sim.Pair{
		{Code: steppedPairs[0], Reference: 6_500_000, Weight: 100},
		{Code: steppedPairs[1], Reference: 340_000, Weight: 50},
	}})
	x.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: x.market.Core, Clock: x.now, Journal: j, Sinks: []sequencer.Sink{x.market.Feed.Sink(), x.Hub},
		Sources: []sequencer.Source{source}, StartNs: x.now.ns, Show: policy.Shows(),
	})
	x.keeper = keeper.New(keeper.Options{
		Log: log, Dir: dir, Loop: inline{x.loop}, KeepAll: true, SnapshotBytes: 5_000, Clock: x.now,
		Failed: func(err error) { t.Error(err) },
	})
	x.drives = []step.Stepper{x.loop, x.loop.Backlog(), j, x.keeper, x.Hub}
	b := &sequencer.Batch{}
	for _, code := range steppedPairs {
		b.Commands = append(b.Commands, engine.Command{
			Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: markettest.Instrument(code, 2, 4),
		})
	}
	if err := x.loop.Offer(b); err != nil {
		t.Fatal(err)
	}
	for len(x.market.Core.PairsByCode()) < len(steppedPairs) || x.market.Feed.Board().Load().Len() < len(steppedPairs) {
		x.loop.Step()
		x.loop.Backlog().Step()
	}
	return x
}

// subscriber is a connection without a socket: its step takes the queued messages and applies them to its books.
type subscriber struct {
	x       *steppedHub
	c       *MemoryConn
	books   map[string]*client.Book
	updates int
	closed  int
}

func (x *steppedHub) subscribe(options string) *subscriber {
	x.t.Helper()
	s := &subscriber{x: x, c: Connect(x.Hub), books: map[string]*client.Book{}}
	for _, code := range steppedPairs {
		s.books[code] = &client.Book{}
	}
	s.c.Send([]byte(`{"op":"subscribe","channel":"book","pairs":["` + strings.Join(steppedPairs, `","`) + `"]` +
		options + `}`))
	return s
}

// Step reads what is queued and fails the test on a message that does not follow the one before it.
func (s *subscriber) Step() step.Progress {
	texts, closed := s.c.Take()
	for _, text := range texts {
		m := &client.Message{}
		if err := json.Unmarshal(text, m); err != nil {
			s.x.t.Fatalf("%v: %s", err, text)
		}
		if m.Channel != "book" {
			continue
		}
		b := s.books[m.Pair]
		if err := b.Apply(m); err != nil {
			s.x.t.Fatal(err)
		}
		if m.Type == "heartbeat" {
			if err := b.Heartbeat(m); err != nil {
				s.x.t.Fatal(err)
			}
		}
		if m.Type == "update" {
			s.updates++
		}
	}
	if s.closed = closed; len(texts) == 0 {
		return step.Idle()
	}
	return step.Worked()
}

// equals compares a subscriber's books with the engine's, level by level and by checksum.
func (s *subscriber) equals(depth int) {
	s.x.t.Helper()
	for _, code := range steppedPairs {
		id, _ := s.x.market.Core.PairByCode(code)
		ins, _ := s.x.market.Core.Pair(id)
		side := func(of engine.Side) (out []client.BookLevel) {
			for _, l := range s.x.market.Core.AppendDepth(nil, id, of, depth) {
				out = append(out, client.BookLevel{
					Price:  string(fixed.AppendI64(nil, l.Price, ins.DigitsPrice)),
					Amount: string(fixed.AppendI64(nil, l.Shown, ins.DigitsAmount)),
				})
			}
			return out
		}
		want, have := client.Book{Bids: side(engine.Buy), Asks: side(engine.Sell)}, s.books[code]
		if len(want.Bids) < 30 || len(want.Asks) < 30 {
			s.x.t.Errorf("%s: %d bids and %d asks: too few to show anything", code, len(want.Bids), len(want.Asks))
		}
		if have.Checksum() != want.Checksum() {
			s.x.t.Errorf("%s: the checksum of the last message is %d, the engine's %d", code,
				have.Checksum(), want.Checksum())
		}
		if got, want := fmt.Sprint(have.Bids, have.Asks), fmt.Sprint(want.Bids, want.Asks); got != want {
			s.x.t.Errorf("%s: the rebuilt book\n%s\nis not the engine's\n%s", code, got, want)
		}
	}
}

// Steps of loop, backlog, journal, keeper, hub and readers in one goroutine, in any order, send
// the messages that rebuild the engine's book.
func TestBooksOfStepsInAnyOrder(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways, sequencer.SyncOff} {
		for seed := range uint64(4) {
			x := newSteppedHub(t, policy, seed)
			every := x.subscribe(`,"depth":0,"interval":0`)
			conflated := x.subscribe(`,"depth":100,"interval":1000`)
			x.drives = append(x.drives, every, conflated)
			for range 10_000 {
				if k := x.r.IntN(len(x.drives) + 1); k < len(x.drives) {
					covered := x.keeper.Covered()
					if x.drives[k].Step(); x.keeper.Covered() != covered {
						x.taken++
					}
				} else {
					x.now.ns += x.r.Int64N(int64(150 * time.Millisecond))
				}
			}
			x.loop.BeginStop()
			for !x.loop.Step().Stopped {
				x.loop.Backlog().Step()
			}
			x.settle(every, conflated)
			every.equals(0)
			conflated.equals(100)
			if x.taken < 2 || every.updates < 100 || conflated.updates < 50 ||
				conflated.updates >= every.updates {
				t.Errorf("policy %s, seed %d: %d snapshots, %d and %d updates: too few to show anything", policy, seed,
					x.taken, every.updates, conflated.updates)
			}
			x.once.Do(func() { close(x.stop) }) // as Shutdown does
			if p := x.Step(); !p.Stopped || !x.Step().Stopped {
				t.Errorf("after the stop: %+v", p)
			}
			x.Shutdown() // returns at once
			if every.Step(); every.closed != closeGoingAway {
				t.Errorf("closed with %d", every.closed)
			}
		}
	}
}

// settle steps the hub until no slow stream can have work left.
func (x *steppedHub) settle(readers ...*subscriber) {
	x.t.Helper()
	for range ticksPerSecond + 1 {
		p := x.Step()
		for ; p.Worked; p = x.Step() {
			for _, s := range readers {
				s.Step()
			}
		}
		if p.Stopped || p.NextNs <= x.now.ns || p.NextNs > x.now.ns+int64(tickEvery) {
			x.t.Fatalf("without work: %+v at %d", p, x.now.ns)
		}
		x.now.ns = p.NextNs
	}
	for _, s := range readers {
		s.Step()
	}
}

// The hub reports the next tick while it has no work, and leaves out the ticks of a delay.
func TestAHubStepsWhenItsTickIsDue(t *testing.T) {
	x := newSteppedHub(t, sequencer.SyncOff, 1)
	x.settle()
	x.Step()
	for _, late := range []time.Duration{0, 30 * time.Millisecond, 250 * time.Millisecond} {
		due, ticks := x.Step().NextNs, x.ticks
		x.now.ns = due + int64(late)
		if p := x.Step(); !p.Worked || x.ticks != ticks+1 {
			t.Errorf("%v late: %+v, %d ticks", late, p, x.ticks-ticks)
		}
		p := x.Step()
		if want := due + int64(late.Truncate(tickEvery)+tickEvery); p.Worked || p.NextNs != want {
			t.Errorf("%v late: %+v, want the next tick at %d", late, p, want)
		}
	}
}
