package sequencer

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
)

// The cycle. Run repeats it; a scheduler calls the two steps in any order.
//
//	Run:
//	    repeat
//	        p = Step                                     loop.go
//	        if p.Stopped: return
//	        if another group shares the sync: continue   group.go
//	        q = Backlog.Step                             backlog.go
//	        if neither has worked: sleep until a batch, a query, the journal, Stop or NextNs
//
//	Step:
//	    runDue       sources that are due act; sinks publish what time alone changes   time.go
//	    Query        at most one waiting Query runs, and a part of one that has paused
//	    fillGroup    the waiting batches become one group                              group.go
//	    sequenceSlice:                                                                 sequence.go
//	      stamp      each command gets its time; a batch whose times go back is refused
//	      append     one write to the journal for the slice: the next part of an unfinished
//	                 command and the group                                                work.go
//	      apply      Core.Apply for each command, in order; the other parts follow at once
//	      what the slice has done waits in the backlog
//
//	Backlog.Step, and Step itself where the process shows what is written:             backlog.go
//	    want         the journal brings the waiting slices to the mark that the process shows: written, synced, acked
//	    release      for each slice that has reached it:
//	      fold       each sink receives the events, then the batch's Collect           fold.go
//	      publish    readers see the state: first of the other parts, then of the sinks
//	      answer     the submitters wake up, unless their batch waits for more         batch.go

// LoopOptions wires a Loop. Core and Clock are required.
type LoopOptions struct {
	Core    *engine.Core
	Clock   clock.Clock // *clock.Manual for a virtual clock
	Journal Journal     // nil: nothing survives the process
	Sinks   []Sink      // folded in this order
	Parts   Parts       // the parts beside the market; nil: none
	Sources []Source
	// StartNs is the time of the last command of a recovered journal; time goes on from it.
	StartNs int64
	// StartPos is the journal position that the recovered core reflects.
	StartPos uint64
	// Show is the mark that the records of everything that readers see have reached. Without a journal it is Written.
	Show Mark
	// Driver steps the loop and its backlog in place of Run; nil: the caller calls Run, or the steps.
	Driver step.Driver
}

// Loop is the shell around Core: it reads batches from a bounded queue, stamps and journals
// them, applies them, folds the events, publishes and answers. One goroutine calls Run, or
// Step and Backlog.Step, and owns everything below; any number may call Submit and Query.
type Loop struct {
	core    *engine.Core
	driver  step.Driver
	times   times
	records records
	sources sources
	queries queries

	intake     intake
	contention contention
	folds      folds
	parts      Parts
	backlog    Backlog
	stop       chan struct{}
	stopped    chan struct{}

	events  []engine.Event
	refs    []*engine.Command // the commands of the slice that writeJournal has written
	group   []*Batch
	drained []*Batch // scratch of drain
	work    work
	cont    engine.Command // the Continue of the slice under way

	closing      atomic.Bool
	draining     bool // a step has seen that the loop is stopping
	intakeClosed bool // the intake is closed and empty
	finished     bool // every accepted batch is answered
	within       bool // a driver alone sees it: a step has begun and not ended
	stats        LoopStats
}

// NewLoop returns a loop; Run or Step runs it.
func NewLoop(o LoopOptions) *Loop {
	l := &Loop{
		core: o.Core, driver: o.Driver, records: records{journal: o.Journal, pos: o.StartPos},
		times: times{clk: o.Clock, lastNs: o.StartNs}, intake: intake{bell: make(chan struct{}, 1)},
		stop: make(chan struct{}), stopped: make(chan struct{}), work: work{limit: SliceCommands},
	}
	l.sources = sources{loop: l, all: o.Sources}
	l.queries = queries{loop: l, arriving: make(chan *query)}
	l.times.manual, _ = o.Clock.(*clock.Manual)
	if l.parts = o.Parts; l.parts == nil {
		l.parts = noParts{}
	}
	l.folds = folds{sinks: o.Sinks, parts: l.parts, folded: o.StartPos, foldedNs: o.StartNs, stats: &l.stats}
	for _, s := range o.Sources {
		if ob, ok := s.(Observer); ok {
			l.folds.observers = append(l.folds.observers, ob)
		}
	}
	for _, s := range o.Sinks {
		if h, ok := s.(Withholder); ok {
			l.folds.withholders = append(l.folds.withholders, h)
		}
	}
	for _, p := range o.Core.AppendUnfinished(nil) {
		l.work.unfinished = append(l.work.unfinished, unfinishedCommand{pair: p})
		l.folds.withhold(p, true)
	}
	l.backlog.loop = l
	if o.Journal != nil {
		l.backlog.show = o.Show
	}
	return l
}

// Stats returns the loop's counters.
func (l *Loop) Stats() *LoopStats { return &l.stats }

// QueueLen returns the number of waiting batches.
func (l *Loop) QueueLen() int { return int(l.intake.waiting.Load()) }

// Backlog returns the second stepper of the loop: a scheduler that calls Step calls its Step as well.
func (l *Loop) Backlog() *Backlog { return &l.backlog }

// Position returns the position of the last command. Call it inside Query or after Run returned.
func (l *Loop) Position() uint64 { return l.records.pos }

// Shown returns the position of the last command that the sinks have folded. Call it inside Query or
// after Run returned.
func (l *Loop) Shown() uint64 { return l.folds.folded }

// Submit hands b to the loop and waits for its outcome. The error is one of this
// package's Err values, or engine.ErrRecord (the record of a command could not be decoded again; the
// loop sequenced nothing); refusals of single commands are events, not errors.
func (l *Loop) Submit(b *Batch) error {
	if err := l.Offer(b); err != nil {
		return err
	}
	step.Wait(l.driver, b.done) // ends, because the loop answers every accepted batch before it stops
	b.wakeFollowers()
	return b.err
}

// Offer hands b to the loop and returns at once. The error is Submit's for a batch that did not
// get into the queue. Batch.Outcome returns the outcome of any other.
func (l *Loop) Offer(b *Batch) error {
	b.err, b.applied = nil, 0
	if l.closing.Load() {
		return ErrStopping
	}
	for i := range b.Commands {
		if err := b.Commands[i].Recordable(); err != nil {
			return err
		}
	}
	if b.done == nil {
		b.done = make(chan struct{}, 1)
	}
	err := l.intake.put(b)
	if errors.Is(err, ErrBusy) {
		l.stats.Busy.Add(1)
	}
	return err
}

// Stop processes the accepted batches, ends Run and returns after that.
func (l *Loop) Stop() {
	l.BeginStop()
	step.Wait(l.driver, l.stopped)
}

// BeginStop makes the loop refuse further batches. The steps answer the accepted ones and then
// return Stopped.
func (l *Loop) BeginStop() {
	if l.closing.CompareAndSwap(false, true) {
		close(l.stop)
	}
}

// Begin runs the loop until Stop, on a goroutine or by its driver.
func (l *Loop) Begin() {
	if l.driver == nil {
		go l.Run()
		return
	}
	l.driver.Drive("loop", driven{l, l})
	l.driver.Drive("backlog", driven{&l.backlog, l})
}

// driven is a step of the loop that its driver may pause: Query waits for its end, as for that of a goroutine.
type driven struct {
	step.Stepper
	l *Loop
}

// Step implements step.Stepper.
func (d driven) Step() step.Progress {
	d.l.within = true
	p := d.Stepper.Step()
	d.l.within = false
	return p
}

// Run runs the loop until Stop.
func (l *Loop) Run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		p := l.Step()
		if p.Stopped {
			return
		}
		if l.sharesSync() {
			continue
		}
		if q := l.backlog.Step(); !p.Worked && !q.Worked {
			p.NextNs = min(p.NextNs, q.NextNs)
			l.sleep(timer, p)
		}
	}
}

// Step takes one group of the waiting batches through the cycle, after the due sources and at
// most one Query and a part of another. It never waits for another goroutine or for time to pass; it writes to the
// journal. Only a stamped batch on a virtual clock with sources makes it sync as well: the
// sources act until the time of the batch, and at most unshownCommands may wait for the disk.
//
// The result is Stopped after BeginStop, once every accepted batch is answered.
// Otherwise NextNs is the time at which a source or a sink is due.
func (l *Loop) Step() step.Progress {
	if l.finished {
		return step.Progress{Stopped: true}
	}
	worked := false
	if l.draining = l.draining || l.closing.Load(); !l.draining {
		worked = l.runDue()
		worked = l.queries.runOne() || worked
	}
	worked = l.queries.resume() || worked
	worked = l.runGroup() || worked
	if len(l.queries.waiting) > 0 {
		l.queries.serveWaiting()
	}
	switch {
	case worked:
		return step.Worked()
	case l.draining && l.finish():
		return step.Progress{Stopped: true}
	}
	return step.Progress{NextNs: l.nextNs()}
}

// runGroup processes one group of the waiting batches and reports whether there was one.
func (l *Loop) runGroup() bool {
	c := &l.contention
	if !l.sharesSync() {
		if !l.acceptsGroup() || l.intake.empty() && !l.work.pending() {
			return false
		}
		c.startSync()
	}
	l.group = l.group[:0]
	if l.work.pending() {
		l.group = l.work.take(l.group, l.work.limit, false)
	}
	unfinished := len(l.work.unfinished) > 0
	if len(l.group) == 0 && !unfinished || !l.intake.empty() {
		l.fillGroup(min(SliceCommands-c.commands, l.work.limit), c.expected-c.batches)
	}
	if len(l.group) == 0 && !unfinished {
		c.startSync()
		return false
	}
	if l.backlog.show == Synced && !unfinished {
		c.commands += commands(l.group)
		c.batches += len(l.group)
	} else {
		c.startSync()
	}
	l.sequenceSlice(l.group)
	clear(l.group)
	return !l.work.refused
}

// finish closes the empty intake and reports whether every accepted batch is answered.
func (l *Loop) finish() bool {
	l.intakeClosed = l.intakeClosed || !l.work.pending() && l.intake.close()
	if !l.intakeClosed || !l.backlog.empty() || l.work.pending() {
		return false
	}
	l.queries.abandon()
	l.finished = true
	close(l.stopped)
	return true
}

// sleep returns when there may be work: something has arrived, or the time of p has come.
func (l *Loop) sleep(timer *time.Timer, p step.Progress) {
	stop, queries := l.stop, l.queries.arriving
	if l.draining {
		stop, queries = nil, nil
	}
	if (l.acceptsGroup() || l.backlog.stuck()) && !l.intake.sleep() {
		return
	}
	wait := time.Hour
	if l.work.refused {
		wait = retryWork
	} else if p.NextNs != step.Never { // reading the clock costs about 80 ns
		wait = p.Wait(l.times.clk.NowNs())
	}
	timer.Reset(wait)
	select {
	case <-l.intake.bell:
	case q := <-queries:
		l.queries.serve(q)
	case <-timer.C:
	case <-l.records.wake():
	case <-stop:
	}
	l.intake.wake()
}
