package vopr

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"github.com/tickhive/tickhive/internal/step"
)

// killed unwinds the coroutines of a process that has ended.
type killed struct{}

// process is one life of the exchange: its components and the requests under way. It implements
// step.Driver. Owner: the world's goroutine.
type process struct {
	rnd     *rand.Rand
	tasks   []*task
	current *task
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
	p.current = t
	if _, more := t.next(); !more {
		p.tasks = slices.DeleteFunc(p.tasks, func(other *task) bool { return other == t })
	}
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
