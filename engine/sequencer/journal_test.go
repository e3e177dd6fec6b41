package sequencer_test

import (
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// stuckJournal is durable up to a position that the test sets.
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
func (j *stuckJournal) Want(sequencer.Mark, uint64) {}
func (j *stuckJournal) SealedNs() int64             { return math.MaxInt64 }
func (j *stuckJournal) Wake() <-chan struct{}       { return j.wake }

func (j *stuckJournal) Reached(sequencer.Mark) uint64 {
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
	l := startLoop(t, sequencer.LoopOptions{Journal: j, Show: sequencer.Synced, Sinks: []sequencer.Sink{rec}})
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
	l := startLoop(t, sequencer.LoopOptions{Journal: j, Show: sequencer.Synced, Sinks: []sequencer.Sink{rec}})
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

// The outcome of commands is unknown when their write failed and could not be cut off again,
// in every policy, and of those alone.
func TestOutcomeOfAWriteThatCannotBeCutOff(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncAlways, sequencer.SyncInterval, sequencer.SyncOff} {
		fs := vfstest.NewMem()
		log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		j := sequencer.NewWALJournal(log, policy)
		rec := &recorder{}
		l := startLoop(t, sequencer.LoopOptions{Journal: j, Show: policy.Shows(), Sinks: []sequencer.Sink{rec}})
		place := func() error {
			return l.Submit(&sequencer.Batch{Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)}})
		}
		if err := place(); err != nil {
			t.Fatal(err)
		}
		shown := rec.seen()
		fs.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpWrite || op.Kind == vfstest.OpTruncate {
				return vfstest.Fault{Err: errors.New("broken")}
			}
			return vfstest.Fault{}
		})
		if err := place(); !errors.Is(err, sequencer.ErrOutcomeUnknown) || errors.Is(err, sequencer.ErrUnavailable) ||
			rec.seen() != shown {
			t.Errorf("policy %s: %v, %d events shown", policy, err, rec.seen()-shown)
		}
		fs.Before(nil)
		if err := place(); !errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, sequencer.ErrOutcomeUnknown) ||
			rec.seen() != shown {
			t.Errorf("policy %s, the next: %v, %d events shown", policy, err, rec.seen()-shown)
		}
		l.Stop()
		_ = j.Close()
	}
}

// syncedJournal is durable as soon as the loop wants it, until it fails.
type syncedJournal struct {
	stuckJournal
	syncErr error
}

func (j *syncedJournal) Want(sequencer.Mark, uint64) {
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
	fs := vfstest.NewMem()
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
		fs := vfstest.NewMem()
		log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		j := sequencer.NewWALJournal(log, policy)
		rec := &recorder{}
		l := startLoop(t, sequencer.LoopOptions{Journal: j, Show: policy.Shows(), Sinks: []sequencer.Sink{rec}})
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
		if d := differ.Diff(rec.events, replay(t, fs)); d != "" {
			t.Errorf("policy %s: the replay has other events than the run: %s", policy, d)
		}
	}
}

// A command that could be journaled and not be read again is refused, with its batch, before
// it is journaled: no start would come past its record.
func TestNothingIsJournaledThatCannotBeReadAgain(t *testing.T) {
	fs := vfstest.NewMem()
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
			Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: symbol, Name: name}},
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
		pair(engine.SetPair, func(in *engine.Instrument) { in.State = engine.Delisted + 1 }),
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
	if d := differ.Diff(rec.events, replay(t, fs)); d != "" {
		t.Errorf("the replay has other events than the run: %s", d)
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
		c.First = true
		events = core.Apply(&c, events)
	}
}
