package sequencer

import (
	"iter"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/step"
)

// query is a read of the loop's state: fn at once, or read in parts.
type query struct {
	fn   func()
	read func(pause func())
	err  error // set before done is closed
	done chan struct{}
	pair engine.PairID // ControlPair: any
	// part runs read up to its next pause and reports whether there was one.
	part func() bool
}

// begin makes read a coroutine, which pause suspends.
func (q *query) begin() {
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		q.read(func() { yield(struct{}{}) })
	})
	q.part = func() bool { _, paused := next(); return paused }
}

// queries holds the queries that arrive, the queries that wait until their pair is no longer busy, or until a step has
// ended, and the queries that have paused.
type queries struct {
	loop     *Loop
	arriving chan *query
	waiting  []*query
	paused   []*query // the first one goes on next
}

// Query runs fn on the loop's goroutine between two commands and waits for it. fn may read
// the state that this goroutine owns. fn must be quick. The goroutine that calls Step reads
// this state between two steps and needs no Query.
func (l *Loop) Query(fn func()) error { return l.QueryPair(engine.ControlPair, fn) }

// QueryPair does the same as Query, but runs fn when the pair has no unfinished command: fn sees what
// whole commands have left.
func (l *Loop) QueryPair(p engine.PairID, fn func()) error {
	return l.queries.ask(&query{fn: fn, done: make(chan struct{}), pair: p})
}

// QueryParts does the same as QueryPair for a read of any length. read must call pause after at most 1,000 orders, or
// 64 KiB: the loop then serves other pairs and goes on with read in a later step. The pair p takes no command before
// read has returned, so that read sees one state of its book. On a virtual clock, which must not move meanwhile, pause
// returns at once. QueryParts returns when readers see all that read may have seen (LoopOptions.Show); after
// ErrUnavailable the caller must not show it.
func (l *Loop) QueryParts(p engine.PairID, read func(pause func())) error {
	return l.queries.ask(&query{read: read, done: make(chan struct{}), pair: p})
}

// ask hands a query to the loop and waits for its end.
func (w *queries) ask(q *query) error {
	l := w.loop
	if l.driver != nil {
		switch {
		case l.finished:
			return ErrStopping
		case l.within: // the driver has paused it
			w.waiting = append(w.waiting, q)
			step.Wait(l.driver, q.done)
		case !w.serve(q):
			step.Wait(l.driver, q.done)
		}
		return q.err
	}
	select {
	case w.arriving <- q:
		<-q.done
		return q.err
	case <-l.stopped:
		return ErrStopping
	}
}

// busy reports whether a pair has an unfinished command, applied or folded.
func (w *queries) busy(p engine.PairID) bool {
	l := w.loop
	return l.work.busy(p) || slices.Contains(l.folds.withheld, p) && !l.records.failed()
}

// runOne serves a query that has arrived, if there is one, and reports whether it has ended.
func (w *queries) runOne() bool {
	select {
	case q := <-w.arriving:
		return w.serve(q)
	default:
		return false
	}
}

// serve runs a query up to its first pause, or makes it wait for its pair, and reports whether the query has ended.
// Before a query runs, the backlog shows what the stream has confirmed by now, so that the query reads that too.
func (w *queries) serve(q *query) (ended bool) {
	l := w.loop
	if w.busy(q.pair) {
		w.waiting = append(w.waiting, q)
		return false
	}
	if l.backlog.show == Acked {
		l.backlog.release()
	}
	switch {
	case q.read == nil:
		q.fn()
		close(q.done)
		return true
	case l.times.manual != nil:
		q.read(func() {})
	default:
		if q.begin(); q.part() {
			w.paused = append(w.paused, q)
			l.work.reading = append(l.work.reading, q.pair)
			return false
		}
	}
	return l.backlog.endRead(q)
}

// resume runs the next part of a paused query and reports whether there was one.
func (w *queries) resume() bool {
	if len(w.paused) == 0 {
		return false
	}
	q := w.paused[0]
	w.paused = slices.Delete(w.paused, 0, 1)
	if q.part() {
		w.paused = append(w.paused, q)
		return true
	}
	reading := &w.loop.work.reading
	i := slices.Index(*reading, q.pair)
	*reading = slices.Delete(*reading, i, i+1)
	w.loop.backlog.endRead(q)
	return true
}

// abandon ends the queries of pairs whose commands the failed journal has left unfinished.
func (w *queries) abandon() {
	for _, q := range w.waiting {
		if q.read != nil {
			q.err = ErrUnavailable
		} else {
			q.fn()
		}
		close(q.done)
	}
}

// serveWaiting runs the queries whose pair is no longer busy.
func (w *queries) serveWaiting() {
	waiting := w.waiting
	w.waiting = nil
	for _, q := range waiting {
		w.serve(q)
	}
}
