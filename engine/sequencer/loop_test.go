package sequencer_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tickhive/engine"
	"tickhive/engine/enginetest"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink that keeps what it is given.
type recorder struct {
	mu        sync.Mutex
	events    []engine.Event
	positions []uint64
	published []int // len(events) at each publication
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
	l := startLoop(t, sequencer.LoopOptions{Clock: clk, Sinks: []sequencer.Sink{rec}})
	direct := engine.NewCore(engine.Options{})
	cmd := addPairCommand()
	cmd.TimeNs, cmd.Rules = enginetest.DayNs, engine.RulesVersion
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

func (m *metronome) DueNs() int64 { return m.due }

func (m *metronome) Act(nowNs int64, dst []engine.Command) []engine.Command {
	m.acted = append(m.acted, nowNs)
	m.due += int64(time.Second)
	return append(dst, limitOrder(engine.Buy, 100, 1))
}

func (m *metronome) Skip(nowNs int64) { m.due = nowNs; m.skipped++ }

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
		return rec.events
	}
	if !reflect.DeepEqual(run(1), run(77)) {
		t.Error("the steps of the clock change what happens")
	}
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

// stuckJournal is durable only as far as the test says.
type stuckJournal struct {
	mu           sync.Mutex
	pos, durable uint64
	refuse, fail error
	wake         chan struct{}
}

func (j *stuckJournal) Append(cmds []*engine.Command) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refuse != nil {
		return 0, j.refuse
	}
	j.pos += uint64(len(cmds))
	return j.pos, nil
}
func (j *stuckJournal) DurableFirst() bool    { return true }
func (j *stuckJournal) Flush()                {}
func (j *stuckJournal) Wake() <-chan struct{} { return j.wake }

func (j *stuckJournal) Durable() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

func (j *stuckJournal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fail
}

func (j *stuckJournal) set(f func()) {
	j.mu.Lock()
	f()
	j.mu.Unlock()
	j.wake <- struct{}{}
}

// Under sync always nothing is folded, shown or answered before the disk has it.
func TestNothingIsShownBeforeItIsDurable(t *testing.T) {
	j := &stuckJournal{wake: make(chan struct{}, 1), durable: 1}
	rec := &recorder{}
	l := startLoop(t, sequencer.LoopOptions{Journal: j, Sinks: []sequencer.Sink{rec}})
	shown := rec.seen()
	answered := make(chan error, 1)
	go func() {
		answered <- l.Submit(&sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}})
	}()
	for j.written() < 2 { // the loop has taken it
		if err := l.Query(func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Query(func() {}); err != nil { // one more turn: it had its chance
		t.Fatal(err)
	}
	if rec.seen() != shown || len(answered) != 0 {
		t.Fatal("shown or answered before it was durable")
	}
	j.set(func() { j.durable = 2 })
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if rec.seen() == shown {
		t.Fatal("answered but not shown")
	}
}

func (j *stuckJournal) written() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pos
}

// A refused write changes nothing and passes. A failed sync is for good: the outcome of what
// waited for it is unknown, and it is never shown; what comes after changes nothing.
func TestJournalFailures(t *testing.T) {
	j := &stuckJournal{wake: make(chan struct{}, 1), durable: 1}
	rec := &recorder{}
	l := startLoop(t, sequencer.LoopOptions{Journal: j, Sinks: []sequencer.Sink{rec}})
	place := func() error {
		return l.Submit(&sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}})
	}
	j.mu.Lock()
	j.refuse = errors.New("disk full")
	j.mu.Unlock()
	if err := place(); !errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, sequencer.ErrOutcomeUnknown) {
		t.Fatalf("full disk: %v", err)
	}
	j.mu.Lock()
	j.refuse, j.durable = nil, 2
	j.mu.Unlock()
	if err := place(); err != nil {
		t.Fatalf("space is back: %v", err)
	}
	shown := rec.seen()
	failed := make(chan error, 1)
	go func() { failed <- place() }()
	for j.written() < 3 {
		if err := l.Query(func() {}); err != nil {
			t.Fatal(err)
		}
	}
	j.set(func() { j.fail = errors.New("fsync") })
	if err := <-failed; !errors.Is(err, sequencer.ErrOutcomeUnknown) || errors.Is(err, sequencer.ErrUnavailable) {
		t.Fatalf("failed sync: %v", err)
	}
	if err := place(); !errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, sequencer.ErrOutcomeUnknown) ||
		rec.seen() != shown {
		t.Fatalf("after a failed sync: %v, %d events shown", err, rec.seen()-shown)
	}
}

// Whoever moves the clock is told when a source's commands were refused or will never be
// durable, and the time then stays where it was reached.
func TestAdvanceTellsOfASourceThatWasRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(j *syncedJournal)
		// reached is how often the source acts before the clock stops.
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
			Clock: clk, Journal: j, Sinks: []sequencer.Sink{rec},
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
			t.Errorf("%s: acted %d times more, want %d; the clock stands at %d", c.name, n, c.reached,
				clk.NowNs()-enginetest.DayNs)
		}
		stamped := sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}, Stamped: true}
		stamped.Commands[0].TimeNs = enginetest.DayNs + 30*int64(time.Second)
		if err := l.Submit(&stamped); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("%s: a command of a time that was not reached: %v", c.name, err)
		}
	}
}

// The outcome of commands is unknown when their write failed and could not be cut off again,
// in every policy, and of those alone.
func TestOutcomeOfAWriteThatCannotBeCutOff(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncAlways, sequencer.SyncInterval, sequencer.SyncOff} {
		fs := vfs.NewMem()
		log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		j := sequencer.NewWALJournal(log, policy)
		rec := &recorder{}
		l := startLoop(t, sequencer.LoopOptions{Journal: j, Sinks: []sequencer.Sink{rec}})
		place := func() error {
			return l.Submit(&sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}})
		}
		if err := place(); err != nil {
			t.Fatal(err)
		}
		shown := rec.seen()
		fs.Before(func(op vfs.Op) vfs.Fault {
			if op.Kind == vfs.OpWrite || op.Kind == vfs.OpTruncate {
				return vfs.Fault{Err: errors.New("broken")}
			}
			return vfs.Fault{}
		})
		if err := place(); !errors.Is(err, sequencer.ErrOutcomeUnknown) || errors.Is(err, sequencer.ErrUnavailable) ||
			rec.seen() != shown {
			t.Errorf("policy %d: %v, %d events shown", policy, err, rec.seen()-shown)
		}
		fs.Before(nil)
		if err := place(); !errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, sequencer.ErrOutcomeUnknown) ||
			rec.seen() != shown {
			t.Errorf("policy %d, the next: %v, %d events shown", policy, err, rec.seen()-shown)
		}
		l.Stop()
		_ = j.Close()
	}
}

// syncedJournal is durable with each flush until it fails.
type syncedJournal struct {
	stuckJournal
	syncErr error
}

func (j *syncedJournal) Flush() {
	j.mu.Lock()
	if j.syncErr != nil {
		j.fail = j.syncErr
	} else {
		j.durable = j.pos
	}
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// In a bulk commands are applied before their record is written: a write that fails ends
// it for good, also when there is room again, because what comes next would not replay.
func TestBulkThatFailedStaysFailed(t *testing.T) {
	fs := vfs.NewMem()
	log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
	if err != nil {
		t.Fatal(err)
	}
	j := sequencer.NewWALJournal(log, sequencer.SyncInterval)
	defer j.Close()
	j.BeginBulk()
	l := startLoop(t, sequencer.LoopOptions{
		Journal: j,
		Sources: []sequencer.Source{&metronome{due: enginetest.DayNs + 500}},
	})
	at := enginetest.DayNs + 3000*int64(time.Second) // not yet written
	if err := l.AdvanceQuietly(at); err != nil {
		t.Fatal(err)
	}
	fs.SetCapacity(fs.Used())
	at += 3000 * int64(time.Second)
	if err := l.AdvanceQuietly(at); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("full disk: %v", err)
	}
	fs.SetCapacity(fs.Used() + 1<<20)
	if err := l.AdvanceQuietly(at); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("space is back: %v", err)
	}
	l.Stop()
	if err := j.EndBulk(); err == nil {
		t.Error("the bulk ends as if nothing had happened")
	}
}

// What was answered is in the log of every policy when the process ends, and replaying
// the log gives the same events.
func TestJournalReplaysToTheSameEvents(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways, sequencer.SyncOff} {
		fs := vfs.NewMem()
		log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		j := sequencer.NewWALJournal(log, policy)
		rec := &recorder{}
		l := startLoop(t, sequencer.LoopOptions{Journal: j, Sinks: []sequencer.Sink{rec}})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				f := enginetest.NewFlow(uint64(g))
				for range 300 {
					b := &sequencer.Batch{}
					for range 1 + f.R.IntN(5) {
						b.Commands = append(b.Commands, f.Next())
					}
					if err := l.Submit(b); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		l.Stop()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := replay(t, fs); !reflect.DeepEqual(got, rec.events) {
			t.Errorf("policy %d: the replay has %d events, the run %d", policy, len(got), len(rec.events))
		}
	}
}

// A command that could be journaled and not be read again is refused, with its batch, before
// it is journaled: no start would come past its record.
func TestNothingIsJournaledThatCannotBeReadAgain(t *testing.T) {
	fs := vfs.NewMem()
	log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
	if err != nil {
		t.Fatal(err)
	}
	j := sequencer.NewWALJournal(log, sequencer.SyncInterval)
	rec := &recorder{}
	l := startLoop(t, sequencer.LoopOptions{Journal: j, Sinks: []sequencer.Sink{rec}})
	asset := func(symbol, name string) engine.Command {
		return engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Asset: &engine.Asset{Symbol: symbol, Name: name},
		}
	}
	pair := func(kind engine.CommandKind, change func(*engine.Instrument)) engine.Command {
		inst := enginetest.Instrument()
		change(&inst)
		return engine.Command{Kind: kind, Instrument: &inst}
	}
	long := strings.Repeat("x", 257)
	seen := rec.seen()
	for i, c := range []engine.Command{
		asset("AAA", long),
		asset(long, "a"),
		pair(engine.AddPair, func(in *engine.Instrument) { in.Code = long }),
		pair(engine.AddPair, func(in *engine.Instrument) { in.DigitsPrice = 19 }),
		pair(engine.SetPair, func(in *engine.Instrument) { in.MakerFee = engine.RateOne + 1 }),
		pair(engine.SetPair, func(in *engine.Instrument) { in.State = engine.Halted + 1 }),
	} {
		b := &sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1), c}}
		if err := l.Submit(b); !errors.Is(err, engine.ErrRecord) || rec.seen() != seen {
			t.Errorf("command %d: %v, %d events", i, err, rec.seen()-seen)
		}
	}
	if err := l.Submit(&sequencer.Batch{Commands: []engine.Command{asset("AAA", long[:256])}}); err != nil {
		t.Error(err)
	}
	l.Stop()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got := replay(t, fs); !reflect.DeepEqual(got, rec.events) {
		t.Errorf("the replay has %d events, the run %d", len(got), len(rec.events))
	}
}

func replay(t *testing.T, fs vfs.FS) (events []engine.Event) {
	t.Helper()
	r, err := wal.OpenReader(fs, "journal", wal.Options{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	core := engine.NewCore(engine.Options{})
	for {
		rec, err := r.Next()
		if err != nil {
			return events
		}
		var c engine.Command
		if err := engine.DecodeCommand(rec.Payload, &c); err != nil {
			t.Fatal(err)
		}
		events = core.Apply(&c, events)
	}
}
