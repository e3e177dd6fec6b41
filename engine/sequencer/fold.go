package sequencer

import (
	"slices"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/step"
)

// folds passes the events to the sinks and makes them publish. Owner: the loop's goroutine.
type folds struct {
	sinks []Sink
	// sources that receive events immediately
	observers []Observer
	// holders are the sinks that show pairs one by one.
	holders  []Holder
	held     []engine.PairID // pairs with an unfinished command whose first part is folded
	heldNs   int64           // nothing later is published while a pair is held
	shownNs  int64           // the newest published time
	folded   uint64          // position of the last folded command
	foldedNs int64           // its time
	dirty    bool            // folded since the last publication
	quiet    bool            // no reader: publish only at the end of the advance
	tally    tally
	stats    *LoopStats
}

// fold hands the events of the next command to every sink.
func (r *folds) fold(events []engine.Event) {
	r.folded++
	for _, s := range r.sinks {
		s.Fold(events, r.folded)
	}
	r.dirty = true
	if len(events) > 0 {
		r.foldedNs = events[0].TimeNs
	}
}

// hold keeps the sinks from showing a pair while its command is unfinished.
func (r *folds) hold(p engine.PairID, unfinished bool) {
	if !unfinished && len(r.held) == 0 {
		return
	}
	i := slices.Index(r.held, p)
	switch {
	case unfinished == (i >= 0):
		return
	case unfinished:
		if len(r.held) == 0 {
			r.heldNs = max(r.foldedNs, r.shownNs)
		}
		r.held = append(r.held, p)
	default:
		r.held = slices.Delete(r.held, i, i+1)
	}
	for _, h := range r.holders {
		h.Hold(r.held)
	}
}

// observe hands the events of the command that was just applied to every observer.
func (r *folds) observe(events []engine.Event) {
	for _, o := range r.observers {
		o.Observe(events)
	}
}

// unpublished reports whether folded events are not visible to readers yet.
func (r *folds) unpublished() bool { return r.dirty && !r.quiet }

// sealed returns the time before which no command can be folded any more, at the time ns of the
// clock: ns, unless commands up to pos are stamped that are not folded yet. What a sink publishes at
// that time is final up to it, so that a candle which has ended by then is closed for good. The
// loop stamps no later command before a time that it has published.
func (r *folds) sealed(pos uint64, ns int64) int64 {
	if len(r.held) > 0 { // what is folded of the pair is not shown
		return min(ns, r.heldNs)
	}
	if r.folded < pos {
		return r.foldedNs
	}
	return ns
}

// publish makes every sink publish at nowNs.
func (r *folds) publish(nowNs int64) {
	r.dirty, r.shownNs = false, max(r.shownNs, nowNs)
	for _, s := range r.sinks {
		s.Publish(nowNs)
	}
	r.stats.Batches.Add(1)
	r.stats.PublishNs.Store(clock.MachineNs())
	r.stats.OldestNs.Store(0)
}

// publishDue publishes the changes that time alone has made up to ns, second by second, because a view must
// show the figures of the second in which it is read. It reports whether there were any.
func (r *folds) publishDue(ns int64) bool {
	if r.quiet || r.nextNs() > ns {
		return false
	}
	r.shownNs = max(r.shownNs, ns)
	for _, s := range r.sinks {
		s.Publish(ns)
	}
	return true
}

// nextNs returns the next time at which a sink has something to publish without further events, for example
// because a trade leaves the 24 h window.
func (r *folds) nextNs() int64 {
	next := step.Never
	for _, s := range r.sinks {
		next = min(next, s.NextNs())
	}
	return next
}

// tally counts commands and events until they are added to LoopStats at the next publication. Adding them one
// by one would cost an atomic addition of 10 ns each.
type tally struct{ events, trades, refused uint64 }

func (r *folds) count(events []engine.Event) {
	r.tally.events += uint64(len(events))
	for i := range events {
		switch events[i].Kind {
		case engine.EventTrade:
			r.tally.trades++
		case engine.EventRejected:
			r.tally.refused++
		default: // other kinds count only as events
		}
	}
}

// addToStats moves the tally to LoopStats, which other goroutines read.
func (r *folds) addToStats() {
	t := &r.tally
	r.stats.Events.Add(t.events)
	if t.trades != 0 {
		r.stats.Trades.Add(t.trades)
	}
	if t.refused != 0 {
		r.stats.Rejected.Add(t.refused)
	}
	*t = tally{}
}
