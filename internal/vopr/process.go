package vopr

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// killed unwinds the coroutines of a process that has ended.
type killed struct{}

// process is one life of the exchange: its components and the requests under way. It implements
// step.Driver. Owner: the world's goroutine.
//
// A component is not always whole: where its goroutine would wait for the disk, or could lose the processor, the
// coroutine may pause within its step (interrupt). Until it goes on, it alone and the bystanders run.
type process struct {
	rnd     *rand.Rand
	tasks   []*task
	current *task
	within  *task  // paused within its step; nil: none
	turns   int    // of others meanwhile
	dead    bool   // nothing that happens from here on counts
	bug     string // a panic
}

// task is a coroutine: a component that repeats its Step, or a request.
type task struct {
	name  string
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// begin adds a coroutine that runs fn.
func (p *process) begin(name string, fn func()) {
	t := &task{name: name}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if v := recover(); v != nil && v != (killed{}) {
				p.bug = fmt.Sprintf("panic in %s: %v\n%s", name, v, debug.Stack())
			}
		}()
		fn()
	})
	p.tasks = append(p.tasks, t)
}

// Drive implements step.Driver.
func (p *process) Drive(name string, s step.Stepper) {
	p.begin(name, func() {
		for !s.Step().Stopped {
			p.pause()
		}
	})
}

// Wait implements step.Driver: the scheduler runs other coroutines until c is ready.
func (p *process) Wait(c <-chan struct{}) {
	for {
		select {
		case <-c:
			return
		default:
			p.pause()
		}
	}
}

// pause gives the turn back to the scheduler.
func (p *process) pause() {
	if !p.current.yield(struct{}{}) {
		panic(killed{})
	}
}

// turn runs a coroutine that the seed chooses until it pauses or ends.
func (p *process) turn() {
	if len(p.tasks) == 0 {
		return
	}
	t := p.tasks[p.rnd.IntN(len(p.tasks))]
	if p.within != nil && t != p.within {
		if !p.within.lets(t) {
			return
		}
		p.turns++
	}
	p.current = t
	if _, more := t.next(); !more {
		p.tasks = slices.DeleteFunc(p.tasks, func(other *task) bool { return other == t })
	}
	p.current = nil
}

// interrupt pauses the loop, its backlog or the journal for some turns, now and then.
func (p *process) interrupt() {
	t := p.current
	if p.dead || t == nil || p.within != nil || !t.is("loop", "backlog", "journal") || p.rnd.IntN(4) > 0 {
		return
	}
	p.within = t
	for range p.rnd.IntN(40) {
		p.pause()
	}
	p.within = nil
}

// atSync interrupts a sync of the log, before and after the disk has what was written.
func (p *process) atSync(op vfstest.Op) {
	if op.Kind == vfstest.OpSync && path.Ext(op.Path) == ".wal" {
		p.interrupt()
	}
}

// is reports whether a coroutine has one of these names.
func (t *task) is(names ...string) bool { return slices.Contains(names, t.name) }

// lets reports whether another coroutine may run while t is paused within its step. Those of the same goroutine do not,
// nor those that may need a lock that t has: of the log during a sync.
func (t *task) lets(other *task) bool {
	if other.is("hub", "canceler") || strings.Contains(other.name, " /") && !strings.Contains(other.name, internal) {
		return true
	}
	return t.is("journal") && other.is("loop", "backlog")
}

// between is a sink beside others at which the loop may lose the processor: between two folds, two publications, or the
// last one and the answer.
type between struct{ p *process }

// Fold implements sequencer.Sink.
func (b between) Fold([]engine.Event, uint64) { b.p.interrupt() }

// Publish implements sequencer.Sink.
func (b between) Publish(int64) { b.p.interrupt() }

// NextNs implements sequencer.Sink.
func (b between) NextNs() int64 { return step.Never }

// interrupted puts a between before and behind each sink.
func (p *process) interrupted(sinks []sequencer.Sink) []sequencer.Sink {
	all := []sequencer.Sink{between{p}}
	for _, s := range sinks {
		all = append(all, s, between{p})
	}
	return all
}

// end unwinds every coroutine. The files that they write on the way belong to a disk that no process reads
// again.
func (p *process) end() {
	p.dead = true
	for _, t := range p.tasks {
		p.current = t
		t.stop()
	}
	p.tasks = nil
}
