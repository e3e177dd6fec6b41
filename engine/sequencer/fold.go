package sequencer

import (
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
)

// folds passes the events to the sinks and makes them publish. Owner: the loop's goroutine.
type folds struct {
	parts Parts
	sinks []Sink
	// sources that receive events immediately
	observers []Observer
	// withholders are the sinks that show pairs one by one.
	withholders []Withholder
	withheld    []engine.PairID // pairs with an unfinished command whose first part is folded
	withheldNs  int64           // nothing later is published while a pair is withheld
	shownNs     int64           // the newest published time
	folded      uint64          // position of the last folded command
	foldedNs    int64           // its time; at first the time of the start
	dirty       bool            // folded since the last publication
	unknown     bool            // the journal may have commands that are never folded here: it failed at them
	quiet       bool            // no reader: publish only at the end of the advance
	tally       tally
	stats       *LoopStats
}

// fold hands the events of the next command, or of a part of it, to every sink, and the outcome to its batch.
func (f *folds) fold(o *outcome, events []engine.Event) {
	f.folded++
	for _, s := range f.sinks {
		s.Fold(events, f.folded)
	}
	f.dirty = true
	if len(events) > 0 {
		f.foldedNs = events[0].TimeNs
	}
	if f.withhold(o.pair, o.unfinished); o.batch != nil && o.batch.Collect != nil {
		o.batch.Collect(o.index, &o.batch.Commands[o.index], events)
	}
}

// foldSlice folds what a slice has done.
func (f *folds) foldSlice(u *unshown) {
	if start := 0; len(u.outcomes) > 0 {
		f.folded = u.first
		for i := range u.outcomes {
			o := &u.outcomes[i]
			f.fold(o, u.events[start:o.end])
			start = o.end
		}
	}
	f.folded = u.pos // void records too
}

// withhold keeps the sinks from showing a pair while its command is unfinished.
func (f *folds) withhold(p engine.PairID, unfinished bool) {
	if !unfinished && len(f.withheld) == 0 {
		return
	}
	i := slices.Index(f.withheld, p)
	switch {
	case unfinished == (i >= 0):
		return
	case unfinished:
		if len(f.withheld) == 0 {
			f.withheldNs = max(f.foldedNs, f.shownNs)
		}
		f.withheld = append(f.withheld, p)
	default:
		f.withheld = slices.Delete(f.withheld, i, i+1)
	}
	for _, h := range f.withholders {
		h.Withhold(f.withheld)
	}
}

// observe hands the events of the command that was just applied to every observer.
func (f *folds) observe(events []engine.Event) {
	for _, o := range f.observers {
		o.Observe(events)
	}
}

// unpublished reports whether folded events are not visible to readers yet.
func (f *folds) unpublished() bool { return f.dirty && !f.quiet }

// sealed returns the time up to which a sink's publication is final when the clock is at ns: no command before that
// time can be folded later, so a candle that has ended by then is closed for good. The time is ns, unless a command up
// to pos is stamped and not folded yet, or the outcome of a command is unknown, so that the next start may fold it, or
// another writer may have taken over behind r.sealedNs. The loop stamps no later command before a time that it has
// published.
func (f *folds) sealed(r *records, ns int64) int64 {
	if len(f.withheld) > 0 { // what is folded of the pair is not shown
		return min(ns, f.withheldNs)
	}
	if f.folded < r.pos || f.unknown {
		return f.foldedNs
	}
	return min(ns, max(r.sealedNs(), f.foldedNs))
}

// publish makes every sink publish at nowNs.
func (f *folds) publish(nowNs int64) {
	f.dirty, f.shownNs = false, max(f.shownNs, nowNs)
	f.parts.Publish() // first: a client that sees a trade sees the settled balances too
	for _, s := range f.sinks {
		s.Publish(nowNs)
	}
	f.stats.Batches.Add(1)
	now := clock.MachineNs()
	f.stats.PublishNs.Store(now)
	if oldest := f.stats.OldestNs.Swap(0); oldest != 0 {
		f.stats.Waits.Observe(now - oldest)
	}
}

// publishDue publishes the changes that time alone has made up to ns, second by second, because a view must
// show the figures of the second in which it is read. It reports whether there were any.
func (f *folds) publishDue(ns int64) bool {
	if f.quiet || f.nextNs() > ns {
		return false
	}
	f.shownNs = max(f.shownNs, ns)
	for _, s := range f.sinks {
		s.Publish(ns)
	}
	return true
}

// nextNs returns the next time at which a sink has something to publish without further events, for example
// because a trade leaves the 24 h window.
func (f *folds) nextNs() int64 {
	next := step.Never
	for _, s := range f.sinks {
		next = min(next, s.NextNs())
	}
	return next
}

// tally counts commands and events until they are added to LoopStats at the next publication. Adding them one
// by one would cost an atomic addition of 10 ns each.
type tally struct{ events, trades, refused, orders uint64 }

func (f *folds) count(events []engine.Event) {
	f.tally.events += uint64(len(events))
	for i := range events {
		switch events[i].Kind {
		case engine.EventTrade:
			f.tally.trades++
		case engine.EventRejected:
			f.tally.refused++
		case engine.EventAccepted:
			f.tally.orders++
		default: // other kinds count only as events
		}
	}
}

// addToStats moves the tally to LoopStats, which other goroutines read.
func (f *folds) addToStats() {
	t := &f.tally
	f.stats.Events.Add(t.events)
	if t.trades != 0 {
		f.stats.Trades.Add(t.trades)
	}
	if t.refused != 0 {
		f.stats.Rejected.Add(t.refused)
	}
	if t.orders != 0 {
		f.stats.Orders.Add(t.orders)
	}
	*t = tally{}
}
