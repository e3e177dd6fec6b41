package sequencer

import (
	"tickhive/internal/clock"
	"tickhive/internal/step"
)

// The goroutines of engine.loops.
//
//	matching loop:  stamp, journal, Core.Apply             group k+2
//	                                                       group k+1   waits in queue
//	folding loop:   the first sink, publish, answer        group k
//	any that waits: the other sinks and Batch.Collect      group k
//
// One goroutine sequences and applies all commands, so journal, positions and events are the same for any number of
// loops; the folds of a group begin when all its commands are applied, as they do under sync always. The groups are
// folded, published and answered one after the other. Two goroutines may share the folds of one group: the first
// sink has no state in common with the others. With two loops the matching loop helps when it would have to wait;
// with three another goroutine does nothing else.

const (
	// MaxLoops is the largest LoopOptions.Loops that has an effect: one goroutine for each part of the work.
	MaxLoops = 3
	// pipelineGroups bounds the groups that are handed over and not answered yet.
	pipelineGroups = 4
	// pipelineCommands is the least number of commands that are worth handing over while nothing else waits: waking
	// the other goroutine takes about as long as folding them.
	pipelineCommands = 8
)

// pipeline hands applied groups to the folding loop. A nil pipeline takes none: the loop folds.
//
// Owner: the matching loop's goroutine, but for serve and what it calls. The folds and the sinks belong to the
// folding loop from pass on, and to the matching loop again once idle reports true.
type pipeline struct {
	loop    *Loop
	queue   chan *group   // applied
	done    chan *group   // answered
	offer   chan *group   // a goroutine that receives a group folds its other sinks
	shared  chan struct{} // receives when they are folded
	under   int           // groups that were passed and not received from done
	helpers int           // goroutines that only receive offers
	running bool          // the goroutines run; otherwise Step is called
	ended   chan struct{} // receives for each goroutine that has ended
}

func newPipeline(l *Loop, loops int) *pipeline {
	return &pipeline{
		loop: l, queue: make(chan *group, pipelineGroups), done: make(chan *group, pipelineGroups),
		offer: make(chan *group), shared: make(chan struct{}, 1), ended: make(chan struct{}), helpers: loops - 2,
	}
}

// begin starts the goroutines.
func (p *pipeline) begin() {
	if p == nil {
		return
	}
	p.running = true
	go func() {
		for g := range p.queue {
			p.serve(g)
		}
		close(p.offer)
		p.ended <- struct{}{}
	}()
	for range p.helpers {
		go func() {
			for g := range p.offer {
				p.help(g)
			}
			p.ended <- struct{}{}
		}()
	}
}

// end ends the goroutines. All groups must be answered.
func (p *pipeline) end() {
	if p == nil {
		return
	}
	close(p.queue)
	for range 1 + p.helpers {
		<-p.ended
	}
}

// Step serves one group. A scheduler calls it instead of begin.
func (p *pipeline) Step() step.Progress {
	select {
	case g := <-p.queue:
		p.serve(g)
		return step.Worked()
	default:
		if p.loop.finished {
			return step.Progress{Stopped: true}
		}
		return step.Idle()
	}
}

// serve folds, publishes and answers a group.
func (p *pipeline) serve(g *group) {
	f := &p.loop.folds
	if f.stats.OldestNs.Load() == 0 { // the publication of the group before has cleared it
		f.stats.OldestNs.Store(clock.MachineNs())
	}
	if len(f.sinks) < 2 || !p.running {
		f.foldGroup(g, f.sinks)
	} else {
		p.share(g)
	}
	if f.unpublished() {
		f.publish(f.sealed(g.pos+1, f.foldedNs))
	}
	answer(g.ended, nil)
	p.done <- g // never blocks: the channel has room for all groups under way
}

// share folds a group together with the goroutine that waits first, if one does.
func (p *pipeline) share(g *group) {
	given := false
	p.loop.folds.foldFirst(g, func() {
		if !given {
			select {
			case p.offer <- g:
				given = true
			default:
			}
		}
	})
	if given {
		<-p.shared
	} else {
		p.loop.folds.foldGroup(g, p.loop.folds.sinks[1:])
	}
}

// help folds the other sinks of a group that was offered.
func (p *pipeline) help(g *group) {
	p.loop.folds.foldGroup(g, p.loop.folds.sinks[1:])
	p.shared <- struct{}{}
}

// stepOne serves a group when no other goroutine does, and reports whether it has.
func (p *pipeline) stepOne() bool {
	if p.idle() || p.running {
		return false
	}
	p.advance()
	return true
}

// takes reports whether the folding loop should have a group.
func (p *pipeline) takes(g *group) bool {
	return p != nil && (p.under > 0 || !p.running || len(g.outcomes) >= pipelineCommands || !p.loop.intake.empty())
}

// pass hands a group over. It waits while the pipeline is full.
func (p *pipeline) pass(g *group) {
	for p.full() {
		p.advance()
	}
	p.under++
	p.queue <- g
}

// advance waits until a group is answered, and helps meanwhile.
func (p *pipeline) advance() {
	if !p.running {
		p.Step()
	}
	select {
	case g := <-p.done:
		p.take(g)
	case g := <-p.offer:
		p.help(g)
	}
}

// take receives an answered group.
func (p *pipeline) take(g *group) {
	p.under--
	p.loop.applied.put(g)
}

// collect takes the groups that are answered by now.
func (p *pipeline) collect() {
	for p != nil && p.under > 0 {
		select {
		case g := <-p.done:
			p.take(g)
		default:
			return
		}
	}
}

// settle waits until all groups are answered.
func (p *pipeline) settle() {
	for !p.idle() {
		p.advance()
	}
}

// idle reports whether no group is under way, so that the matching loop owns the folds.
func (p *pipeline) idle() bool { return p == nil || p.under == 0 }

// full reports whether pass would wait.
func (p *pipeline) full() bool { return p != nil && p.under >= pipelineGroups }

// waits returns the channels on which the matching loop waits while it has nothing to do; nil without a folding loop.
// It leaves the offers to a helper, if there is one.
func (p *pipeline) waits() (answered, offered <-chan *group) {
	switch {
	case p == nil:
		return nil, nil
	case p.helpers > 0:
		return p.done, nil
	}
	return p.done, p.offer
}
