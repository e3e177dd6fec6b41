package sequencer

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
)

// Batching limits of docs/internals/performance.md#publication-6.
const (
	// BatchCommands limits the commands that are applied between two publications.
	BatchCommands = 256
	// gatherYields is the number of consecutive yields without a new batch after which the loop
	// processes its group: under a microsecond when no other goroutine is runnable.
	gatherYields = 4
	// companyGroups is the number of lone groups for which the loop still yields after contention.
	companyGroups = 64
	// gatherEnough is the group size at which the loop stops yielding for more commands. 256
	// waiting submitters reach 900 k commands/s with 256, 1.0 M with 64, 1.15 M with 32 and 16.
	gatherEnough = 32
	// gatherEnoughSync is gatherEnough for groups that share a sync. 256 waiting submitters see a
	// p50 of 390 us with 32, 375 with 48 and 64, 415 with 96, 430 in one group.
	gatherEnoughSync = 64
	// gatherYieldsSync is gatherYields under sync always, where groups share a sync of 150 us.
	// 256 waiting made 0.26 of 256 a sync with 4 yields, p50 3.8 syncs; 0.27, 3.1 to 3.6 with 16.
	gatherYieldsSync = 16
	// keptEvents bounds the event buffer that the loop reuses for the next command: 12 MB.
	keptEvents = 1 << 16
	// QueueBatches bounds the waiting batches; beyond it Submit returns ErrBusy.
	QueueBatches = 4096
	// sourceLate is the delay of a source beyond which the loop makes it skip.
	sourceLate = int64(5 * time.Second)
)

// LoopOptions wires a Loop. Core and Clock are required.
type LoopOptions struct {
	Core    *engine.Core
	Clock   clock.Clock // *clock.Manual for a virtual clock
	Journal Journal     // nil: nothing survives the process
	Sinks   []Sink      // folded in this order
	Sources []Source
	// StartNs is the time of the last command of a recovered journal; time goes on from it.
	StartNs int64
	// StartPos is the journal position that the recovered core reflects.
	StartPos uint64
}

// Loop is the goroutine around Core: it takes batches from a bounded queue, stamps and
// journals them, applies them, folds the events, publishes and answers. One goroutine
// runs Run and owns everything below; any number may call Submit and Query.
type Loop struct {
	core    *engine.Core
	clk     clock.Clock
	manual  *clock.Manual // nil with a real clock
	journal Journal
	sinks   []Sink
	sources []Source
	// observers are the sources that want to see events at once.
	observers []Observer

	intake  intake
	queries chan *query
	stop    chan struct{}
	stopped chan struct{}

	lastNs  int64
	pos     uint64
	events  []engine.Event
	refs    []*engine.Command
	group   []*Batch
	known   int              // submitters answered last, and those that waited then
	company int              // groups left in which the loop yields; contention resets it
	one     []engine.Command // scratch of the sources
	single  Batch            // scratch of the sources
	wait    []group          // applied, not yet durable (sync always only)
	waiting int              // commands in wait
	spare   []group          // answered groups, for reuse of their buffers
	dirty   bool             // folded since the last publication
	quiet   bool             // no reader: publish only at the end of the advance
	lost    error            // first refusal of a source's commands since actUntil began
	folded  uint64           // position of the last folded command

	closing atomic.Bool
	tally   tally
	stats   LoopStats
}

type query struct {
	fn   func()
	done chan struct{}
}

// NewLoop returns a loop; Run starts it.
func NewLoop(o LoopOptions) *Loop {
	l := &Loop{
		core: o.Core, clk: o.Clock, journal: o.Journal, sinks: o.Sinks, sources: o.Sources,
		intake: intake{bell: make(chan struct{}, 1)}, queries: make(chan *query),
		stop: make(chan struct{}), stopped: make(chan struct{}),
		lastNs: o.StartNs, pos: o.StartPos, folded: o.StartPos,
	}
	l.manual, _ = o.Clock.(*clock.Manual)
	for _, s := range o.Sources {
		if ob, ok := s.(Observer); ok {
			l.observers = append(l.observers, ob)
		}
	}
	return l
}

// Stats returns the loop's counters.
func (l *Loop) Stats() *LoopStats { return &l.stats }

// QueueLen returns the number of waiting batches.
func (l *Loop) QueueLen() int { return int(l.intake.waiting.Load()) }

// Submit hands b to the loop and waits for its outcome. The error is one of this
// package's Err values (ErrRecord: the record of a command could not be decoded again; the
// loop sequenced nothing); refusals of single commands are events, not errors.
func (l *Loop) Submit(b *Batch) error {
	if l.closing.Load() {
		return ErrStopping
	}
	for i := range b.Commands {
		if err := b.Commands[i].Recordable(); err != nil {
			return err
		}
	}
	b.err = nil
	if b.done == nil {
		b.done = make(chan struct{}, 1)
	}
	if err := l.intake.put(b); err != nil {
		if errors.Is(err, ErrBusy) {
			l.stats.Busy.Add(1)
		}
		return err
	}
	<-b.done // never blocks for ever: Run answers every accepted batch before it returns
	b.wakeFollowers()
	return b.err
}

// Query runs fn on the loop's goroutine between two commands and waits for it. fn may read
// the state that this goroutine owns. fn must be quick.
func (l *Loop) Query(fn func()) error {
	q := &query{fn, make(chan struct{})}
	select {
	case l.queries <- q:
		<-q.done
		return nil
	case <-l.stopped:
		return ErrStopping
	}
}

// Stop processes the accepted batches, ends Run and returns after Run has returned.
func (l *Loop) Stop() {
	if l.closing.CompareAndSwap(false, true) {
		close(l.stop)
	}
	<-l.stopped
}

// Run runs the loop until Stop.
func (l *Loop) Run() {
	defer close(l.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.runDue()
		l.flush()
		l.settle()
		if !l.intake.sleep() {
			select { // the others have their turn between two groups
			case q := <-l.queries:
				q.run()
			case <-l.stop:
				l.drain()
				return
			default:
			}
			l.take()
			continue
		}
		timer.Reset(l.untilNext())
		select {
		case <-l.intake.bell:
		case q := <-l.queries:
			q.run()
		case <-timer.C:
		case <-l.wake():
		case <-l.stop:
			l.drain()
			return
		}
		l.intake.wake()
	}
}

func (q *query) run() {
	q.fn()
	close(q.done)
}

// take sequences the waiting batches, up to the batch limits. Under sync always it goes on
// until all known submitters are back, because they share a sync.
func (l *Loop) take() {
	for commands, batches := 0, 0; commands < BatchCommands; {
		l.gather(BatchCommands-commands, l.known-batches)
		if len(l.group) == 0 {
			return
		}
		commands += l.commands(l.group)
		batches += len(l.group)
		l.process(l.group)
		clear(l.group)
		if !l.durableFirst() || batches >= l.known {
			return
		}
	}
}

// gather makes a group of the waiting batches: at most limit commands and one batch more.
// The submitters of the last group were just woken. gather yields to them while this brings
// more batches, so that one write and one publication serve them all (256 waiting submitters:
// 2 commands a group without yielding, see the benchmark of the loop). It does not yield for a
// lone submitter: the processor would go to a goroutine that computes, for milliseconds when
// it makes a snapshot. Nor does it yield beyond gatherEnough: the loop can serve that group
// while another processor runs the submitters of the group before. Under sync always it yields
// until all known submitters are back: a late one would wait for one more sync.
func (l *Loop) gather(limit, known int) {
	l.group = l.group[:0]
	yields, enough := gatherYields, gatherEnough
	switch {
	case l.company == 0:
		yields = 0
	case l.durableFirst():
		yields, enough = gatherYieldsSync, gatherEnoughSync
	default:
		known = BatchCommands
	}
	for n, idle := 0, 0; n < limit; {
		b := l.intake.take()
		if b == nil {
			if idle == yields || n >= enough || len(l.group) >= known {
				break
			}
			idle++
			runtime.Gosched()
			continue
		}
		idle = 0
		l.group = append(l.group, b)
		n += len(b.Commands)
	}
}

// process runs one group through journal, core, sinks, publication and answers.
func (l *Loop) process(batches []*Batch) {
	batches = l.stamp(batches)
	if l.manual != nil && len(l.sources) > 0 {
		l.processStamped(batches)
		return
	}
	if len(batches) > 0 {
		l.run(batches)
	}
}

// processStamped lets the sources of a virtual market act before each command that
// moves the clock.
func (l *Loop) processStamped(batches []*Batch) {
	for _, b := range batches {
		if b.Stamped {
			l.actUntil(b.Commands[0].TimeNs)
			if l.lost != nil { // the time it is stamped with was not reached
				b.answer(l.lost)
				continue
			}
		}
		l.run([]*Batch{b})
	}
}

// run journals, applies, folds, publishes and answers stamped batches.
func (l *Loop) run(batches []*Batch) {
	if err := l.append(batches); err != nil {
		l.refuse(batches, err)
		return
	}
	l.reach(batches)
	if l.stats.OldestNs.Load() == 0 {
		l.stats.OldestNs.Store(clock.MachineNs())
	}
	if l.durableFirst() {
		l.processLater(batches)
		return
	}
	l.folded = l.pos - uint64(l.commands(batches))
	for _, b := range batches {
		l.applyNow(b)
	}
	l.publish()
	l.tell()
	l.meet(submitters(batches))
	answer(batches, nil)
}

// refuse answers batches with err. It records a source's error in lost for the caller that
// moves the clock.
func (l *Loop) refuse(batches []*Batch, err error) {
	if submitters(batches) < len(batches) && l.lost == nil {
		l.lost = err
	}
	answer(batches, err)
}

// meet records contention before the loop answers n submitters, to size the next group. A
// source is not a submitter: a group of sources alone says nothing about contention.
func (l *Loop) meet(n int) {
	if n == 0 {
		return
	}
	l.known = n + l.QueueLen()
	if l.known > 1 {
		l.company = companyGroups
	} else {
		l.company = max(l.company-1, 0)
	}
}

// applyNow applies and folds a batch, publishing every BatchCommands commands of it.
func (l *Loop) applyNow(b *Batch) {
	for i := range b.Commands {
		cmd := &b.Commands[i]
		l.events = l.core.Apply(cmd, l.events[:0])
		l.observe(l.events)
		l.count(l.events)
		l.folded++
		l.fold(l.events)
		if b.Collect != nil {
			b.Collect(i, cmd, l.events)
		}
		if (i+1)%BatchCommands == 0 {
			l.publish()
		}
	}
	if cap(l.events) > keptEvents { // of a command that swept a book
		l.events = nil
	}
}

func (l *Loop) commands(batches []*Batch) (n int) {
	for _, b := range batches {
		n += len(b.Commands)
	}
	return n
}

func (l *Loop) fold(events []engine.Event) {
	for _, s := range l.sinks {
		s.Fold(events, l.folded)
	}
	l.dirty = true
}

func (l *Loop) publish() {
	if !l.dirty || l.quiet {
		return
	}
	l.dirty = false
	now := l.clk.NowNs()
	for _, s := range l.sinks {
		s.Publish(max(now, l.lastNs))
	}
	l.stats.Batches.Add(1)
	l.stats.PublishNs.Store(clock.MachineNs())
	l.stats.OldestNs.Store(0)
}

func (l *Loop) observe(events []engine.Event) {
	for _, o := range l.observers {
		o.See(events)
	}
}

// stamp gives every command its time. A stamped batch whose times go back is refused
// whole; the others go on.
func (l *Loop) stamp(batches []*Batch) []*Batch {
	kept := batches[:0]
	last, now := l.lastNs, l.clk.NowNs() // one reading for the group: it costs 40 ns
	for _, b := range batches {
		if len(b.Commands) == 0 {
			b.answer(nil)
			continue
		}
		if b.Stamped {
			if !l.acceptStamps(b, last) {
				b.answer(ErrTimeBack)
				continue
			}
			last = b.Commands[len(b.Commands)-1].TimeNs
		} else {
			last = max(last, now)
			for i := range b.Commands {
				b.Commands[i].TimeNs = last
			}
		}
		kept = append(kept, b)
	}
	return kept
}

func (l *Loop) acceptStamps(b *Batch, last int64) bool {
	if l.manual != nil {
		last = max(last, l.manual.NowNs())
	}
	for i := range b.Commands {
		if b.Commands[i].TimeNs < last {
			return false
		}
		last = b.Commands[i].TimeNs
	}
	return true
}

// reach sets lastNs to the time of the group's last command, so that time never goes back.
func (l *Loop) reach(batches []*Batch) {
	cmds := batches[len(batches)-1].Commands
	l.lastNs = max(l.lastNs, cmds[len(cmds)-1].TimeNs)
	if l.manual != nil && l.lastNs > l.manual.NowNs() {
		l.manual.Set(l.lastNs)
	}
}

// append journals the group in one write.
func (l *Loop) append(batches []*Batch) error {
	l.refs = l.refs[:0]
	for _, b := range batches {
		for i := range b.Commands {
			c := &b.Commands[i]
			c.Rules = engine.RulesVersion
			l.refs = append(l.refs, c)
		}
	}
	n := uint64(len(l.refs))
	if l.journal == nil {
		l.pos += n
	} else {
		if err := l.journal.Err(); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		pos, err := l.journal.Append(l.refs)
		if err != nil {
			if errors.Is(err, ErrOutcomeUnknown) {
				return err
			}
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		l.pos = pos
	}
	l.stats.Commands.Add(n)
	clear(l.refs)
	return nil
}

func (l *Loop) wake() <-chan struct{} {
	if l.journal == nil {
		return nil
	}
	return l.journal.Wake()
}

// drain processes every batch that was accepted before Stop.
func (l *Loop) drain() {
	for !l.intake.close() {
		l.take()
	}
	for len(l.wait) > 0 {
		l.awaitDisk()
	}
}

// Position returns the position of the last command. Call it inside Query or after Run returned.
func (l *Loop) Position() uint64 { return l.pos }
