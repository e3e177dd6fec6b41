package sequencer

import "tickhive/engine"

// What is applied and not folded at once: the loop holds it until the disk has its commands (sync always).

const (
	// spareGroups and spareEvents bound the buffers that the loop retains for later groups.
	spareGroups = 4
	spareEvents = 16 * SliceCommands
)

// group is a slice that was journaled and applied, and is not folded yet.
type group struct {
	first, pos uint64 // positions before its first and of its last record
	events     []engine.Event
	outcomes   []outcome
	ended      []*Batch // the batches that end with it
}

// outcome is one applied command, or one part of a command.
type outcome struct {
	batch      *Batch // nil: no submitter waits for it
	index      int    // in batch
	pair       engine.PairID
	end        int // of its events in the group's
	unfinished bool
}

// applied makes groups and releases them. The loop's goroutine owns it.
type applied struct {
	loop    *Loop
	joining *group   // receives the outcomes of the slice under way; nil: they are folded at once
	spares  []*group // answered groups, for reuse of their buffers: a group of 128 commands has 30 KB of events
}

// apply applies a new slice of n records and returns it as a group.
func (a *applied) apply(batches []*Batch, n int) *group {
	l, g := a.loop, a.get()
	g.first, g.pos = l.records.pos-uint64(n), l.records.pos
	a.joining = g
	g.ended = append(g.ended, l.applySlice(batches)...)
	clear(l.ended)
	a.joining = nil
	l.folds.count(g.events)
	l.folds.addToStats()
	return g
}

// release folds, publishes and answers a group.
func (a *applied) release(g *group) {
	l := a.loop
	l.folds.foldGroup(g)
	l.publish()
	answer(g.ended, nil)
	a.put(g)
}

// get returns an empty group.
func (a *applied) get() *group {
	n := len(a.spares)
	if n == 0 {
		return &group{}
	}
	g := a.spares[n-1]
	a.spares = a.spares[:n-1]
	return g
}

// put takes back a group that is answered.
func (a *applied) put(g *group) {
	if len(a.spares) == spareGroups || cap(g.events) > spareEvents {
		return
	}
	clear(g.outcomes)
	clear(g.ended)
	g.events, g.outcomes, g.ended = g.events[:0], g.outcomes[:0], g.ended[:0]
	a.spares = append(a.spares, g)
}

// foldGroup hands the events of a group to the sinks, and the outcomes to their batches.
func (f *folds) foldGroup(g *group) {
	start, pos, ns := 0, g.first, f.foldedNs
	for i := range g.outcomes {
		o := &g.outcomes[i]
		events := g.events[start:o.end]
		start = o.end
		pos++
		for _, s := range f.sinks {
			s.Fold(events, pos)
		}
		if len(events) > 0 {
			ns = events[0].TimeNs
		}
		if o.unfinished || len(f.withheld) > 0 {
			f.foldedNs = ns
			f.withhold(o.pair, o.unfinished)
		}
		if o.batch != nil && o.batch.Collect != nil {
			o.batch.Collect(o.index, &o.batch.Commands[o.index], events)
		}
	}
	f.folded = g.pos // void records too
	f.foldedNs, f.dirty = ns, true
}
