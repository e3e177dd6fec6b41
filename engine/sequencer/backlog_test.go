package sequencer_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// marks is a journal whose marks the test moves. One goroutine uses it.
type marks struct {
	pos     uint64
	reached [sequencer.Acked + 1]uint64
	wanted  [sequencer.Acked + 1]uint64
	sealed  int64 // time
	fail    error
	wake    chan struct{}
}

func (j *marks) SealedNs() int64 { return j.sealed }

func (j *marks) Append(cmds []*engine.Command) (uint64, error) {
	j.pos += uint64(len(cmds))
	j.reached[sequencer.Written] = j.pos
	return j.pos, nil
}

func (j *marks) Reached(m sequencer.Mark) uint64 { return j.reached[m] }

func (j *marks) Want(m sequencer.Mark, pos uint64) { j.wanted[m] = max(j.wanted[m], pos) }

func (j *marks) Wake() <-chan struct{} { return j.wake }

func (j *marks) Err() error { return j.fail }

// marked is a loop over marks, with one pair that readers see.
type marked struct {
	*sequencer.Loop
	t   *testing.T
	j   *marks
	clk *steppedClock
	rec *recorder
}

func newMarked(t *testing.T, show sequencer.Mark) *marked {
	t.Helper()
	return newMarkedWith(t, show, nil)
}

// newMarkedWith returns one with other parts; nil: none.
func newMarkedWith(t *testing.T, show sequencer.Mark, parts sequencer.Parts) *marked {
	t.Helper()
	m := &marked{t: t, j: &marks{sealed: math.MaxInt64}, clk: &steppedClock{}, rec: &recorder{}}
	m.clk.ns.Store(enginetest.DayNs)
	m.Loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: engine.NewCore(engine.Options{}), Clock: m.clk, Journal: m.j, Sinks: []sequencer.Sink{m.rec},
		StartNs: enginetest.DayNs, Show: show, Parts: parts,
	})
	m.offer(addPairCommand())
	m.confirm(1)
	return m
}

// offer hands a batch of commands to the loop, and runs the steps.
func (m *marked) offer(cmds ...engine.Command) *sequencer.Batch {
	m.t.Helper()
	return m.offerBatch(&sequencer.Batch{Commands: cmds})
}

func (m *marked) offerBatch(b *sequencer.Batch) *sequencer.Batch {
	m.t.Helper()
	if err := m.Offer(b); err != nil {
		m.t.Fatal(err)
	}
	m.steps()
	return b
}

func (m *marked) steps() {
	for m.Step().Worked || m.Backlog().Step().Worked {
	}
}

// confirm moves every mark to a position.
func (m *marked) confirm(pos uint64) {
	m.j.reached = [sequencer.Acked + 1]uint64{m.j.pos, pos, pos}
	m.steps()
}

// shows reports whether readers see the record at pos.
func (m *marked) shows(pos uint64) bool {
	n := len(m.rec.published)
	return n > 0 && m.rec.published[n-1] == len(m.rec.events) && m.rec.positions[len(m.rec.positions)-1] >= pos
}

// is checks the outcome of a batch.
func (m *marked) is(b *sequencer.Batch, answered bool, want error) {
	m.t.Helper()
	if got, err := b.Outcome(); got != answered || !errors.Is(err, want) || want == nil && err != nil {
		m.t.Errorf("answered %t: %v, want %t: %v", got, err, answered, want)
	}
}

// Readers see a command when its record has reached the mark of the process, its batch is answered when it has reached
// the batch's mark too, and not before readers see it. What waits for less is answered earlier, also when
// it comes later.
func TestShownAtTheMarkOfTheProcessAnsweredAtTheBatchs(t *testing.T) {
	for show := sequencer.Written; show <= sequencer.Acked; show++ {
		for wait := sequencer.Written; wait <= sequencer.Acked; wait++ {
			t.Run(fmt.Sprintf("show=%d,wait=%d", show, wait), func(t *testing.T) {
				m := newMarked(t, show)
				b := m.offerBatch(&sequencer.Batch{
					Wait: wait, Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)},
				})
				later := m.offer(limitOrder(engine.Buy, 101, 1))
				answered, laterAnswered := false, false
				for mark := sequencer.Written; mark <= sequencer.Acked; mark++ {
					m.j.reached[mark] = m.j.pos
					m.steps()
					if got := m.shows(2); got != (mark >= show) {
						t.Errorf("at mark %d: shown %t", mark, got)
					}
					if got, err := b.Outcome(); err != nil || got != (mark == max(show, wait)) && !answered {
						t.Errorf("at mark %d: answered %t, %v", mark, got, err)
					} else {
						answered = answered || got
					}
					if got, err := later.Outcome(); err != nil || got != (mark == show) && !laterAnswered {
						t.Errorf("at mark %d: the later one is answered %t, %v", mark, got, err)
					} else {
						laterAnswered = laterAnswered || got
					}
				}
				if want := max(show, wait); !answered || !laterAnswered || want > 0 && m.j.wanted[want] == 0 {
					t.Errorf("answered %t and %t, wanted %v", answered, laterAnswered, m.j.wanted)
				}
			})
		}
	}
}

// After a failure of the journal no waiting batch is acknowledged, also where readers see what it has done.
func TestAFailedJournalAcknowledgesNothingThatWaits(t *testing.T) {
	for show := sequencer.Written; show <= sequencer.Acked; show++ {
		m := newMarked(t, show)
		b := m.offerBatch(&sequencer.Batch{
			Wait: sequencer.Synced, Commands: []engine.Command{limitOrder(engine.Buy, 100, 1)},
		})
		m.is(b, false, nil)
		m.j.fail = errors.New("fsync")
		m.steps()
		m.is(b, true, sequencer.ErrOutcomeUnknown)
		if got := m.shows(2); got != (show == sequencer.Written) {
			t.Errorf("mark %d: shown %t", show, got)
		}
		m.is(m.offer(limitOrder(engine.Buy, 100, 1)), true, sequencer.ErrUnavailable)
	}
}

// A read of the core returns when readers see all that it may have seen; at once where they do.
func TestAReadOfTheCoreIsNotAheadOfTheReaders(t *testing.T) {
	m := newMarked(t, sequencer.Synced)
	read := make(chan error, 1)
	ask := func() {
		ran := false
		go func() { read <- m.QueryParts(0, func(func()) { ran = true }) }()
		for !ran {
			m.Step()
		}
		m.steps()
	}
	ask()
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	m.offer(limitOrder(engine.Buy, 100, 1))
	ask()
	if len(read) != 0 {
		t.Error("the read ends before readers see what it has seen")
	}
	m.confirm(2)
	if err := <-read; err != nil {
		t.Error(err)
	}
	m.offer(limitOrder(engine.Buy, 100, 1))
	ask()
	m.j.fail = errors.New("fsync")
	m.steps()
	if err := <-read; !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("after a failed sync: %v", err)
	}
}

// A batch that the stream does not confirm within ten seconds is answered, whatever has become of its commands; readers
// see them when the stream has them.
func TestABatchWithoutTheStreamIsGivenUp(t *testing.T) {
	m := newMarked(t, sequencer.Acked)
	const within = 10 * time.Second
	var late []*sequencer.Batch
	for range 3 {
		late = append(late, m.offer(limitOrder(engine.Buy, 100, 1)))
		m.clk.ns.Add(int64(time.Second))
	}
	if due := m.Backlog().Step().NextNs; due != enginetest.DayNs+int64(within) {
		t.Errorf("the next step is due at %d", due-enginetest.DayNs)
	}
	m.clk.ns.Add(int64(within - 3*time.Second - 1))
	m.steps()
	m.is(late[0], false, nil)
	m.clk.ns.Add(1)
	m.steps()
	m.is(late[0], true, sequencer.ErrUnconfirmed)
	m.is(late[1], false, nil)
	late[0].Collect = func(int, *engine.Command, []engine.Event) { t.Error("its submitter has the batch again") }
	m.confirm(3)
	m.is(late[1], true, nil)
	if !m.shows(3) || m.shows(4) {
		t.Errorf("readers see %v", m.rec.positions)
	}
	m.confirm(4)
	m.is(late[2], true, nil)
	next := m.offer(limitOrder(engine.Buy, 100, 1))
	m.confirm(5)
	m.is(next, true, nil)
}

// Without the stream the loop takes commands up to a bound. Then the others wait, and when the stream has been away for
// ten seconds they are refused; afterwards everything is as before.
func TestWithoutTheStreamCommandsAreRefusedAtTheBound(t *testing.T) {
	m := newMarked(t, sequencer.Acked)
	cmds := make([]engine.Command, sequencer.SliceCommands)
	for i := range cmds {
		cmds[i] = engine.Command{Kind: engine.Cancel, Order: 1}
	}
	var taken []*sequencer.Batch
	for before := uint64(0); m.j.pos != before; {
		before = m.j.pos
		taken = append(taken, m.offer(cmds...))
		if m.j.pos > 20_000 {
			t.Fatal("no bound")
		}
	}
	waits := taken[len(taken)-1]
	taken = taken[:len(taken)-1]
	m.is(waits, false, nil)
	m.clk.ns.Add(int64(10 * time.Second))
	m.steps()
	m.is(waits, true, sequencer.ErrBusy)
	for _, b := range taken {
		m.is(b, true, sequencer.ErrUnconfirmed)
	}
	m.is(m.offer(limitOrder(engine.Buy, 100, 1)), true, sequencer.ErrBusy)
	if m.shows(2) {
		t.Error("shown")
	}
	m.confirm(m.j.pos)
	if !m.shows(m.j.pos) {
		t.Error("not shown")
	}
	b := m.offer(limitOrder(engine.Buy, 100, 1))
	m.is(b, false, nil)
	m.confirm(m.j.pos)
	m.is(b, true, nil)
}

// A client that is answered reads its own order: the view that the answer stands for is published before it.
func TestAnAnswerComesBehindItsPublication(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		m := newMarket(t, policy, clock.Real{})
		go m.loop.Run()
		if err := m.loop.Submit(&sequencer.Batch{Commands: []engine.Command{addPairCommand()}}); err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				var seq engine.Seq
				b := sequencer.Batch{Collect: func(_ int, _ *engine.Command, events []engine.Event) {
					seq = events[len(events)-1].Seq
				}}
				for range 300 {
					b.Commands = append(b.Commands[:0], limitOrder(engine.Buy, 100, 1))
					if err := m.loop.Submit(&b); err != nil {
						t.Error(err)
						return
					}
					if v := m.feed.Board().Load().View(0); v == nil || v.Seq < seq {
						t.Errorf("policy %s: answered at seq %d, the readers are behind", policy, seq)
						return
					}
				}
			})
		}
		clients.Wait()
		m.loop.Stop()
		m.records()
	}
}

// While a sync blocks, calls arrive whose answers wait for one. The power is cut then: everything that was answered is
// in the log, and the calls that arrived meanwhile are not answered by the sync that had begun before them.
func TestCallsThatWaitWhileASyncBlocks(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways, sequencer.SyncOff} {
		fs := vfstest.NewMem()
		log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
		if err != nil {
			t.Fatal(err)
		}
		j := sequencer.NewWALJournal(log, policy)
		l := startLoop(t, sequencer.LoopOptions{Journal: j, Show: policy.Shows()})
		call := func(price int64) chan error {
			b := &sequencer.Batch{
				Wait: sequencer.Synced, Commands: []engine.Command{limitOrder(engine.Buy, price, 1)},
			}
			answered := make(chan error, 1)
			go func() { answered <- l.Submit(b) }()
			return answered
		}
		if err := <-call(1); err != nil {
			t.Fatal(err)
		}
		began, goOn := make(chan struct{}, 64), make(chan struct{})
		fs.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpSync {
				began <- struct{}{}
				<-goOn
			}
			return vfstest.Fault{}
		})
		first := call(2)
		<-began
		second := call(3)
		if policy != sequencer.SyncAlways { // there the loop stands, and the call is not written
			for log.LastSeq() < 4 {
				if err := l.Query(func() {}); err != nil {
					t.Fatal(err)
				}
			}
		}
		goOn <- struct{}{}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		<-began // the second one waits for a sync of its own
		answered := len(second)
		after := fs.Crash(1)
		close(goOn)
		if err := <-second; err != nil || answered != 0 {
			t.Errorf("policy %s: answered %d before its sync, %v", policy, answered, err)
		}
		l.Stop()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if n := recordsOf(t, after); n < 3 {
			t.Errorf("policy %s: after the power cut %d records, three were answered", policy, n)
		}
	}
}

// recordsOf returns the number of records that a start finds.
func recordsOf(t *testing.T, fs *vfstest.Mem) (n int) {
	t.Helper()
	log, err := wal.Open(fs, "journal", wal.Options{NoLock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	rd, err := log.Reader(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rd.Close() }()
	for {
		if _, err := rd.Next(); errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		n++
	}
}
