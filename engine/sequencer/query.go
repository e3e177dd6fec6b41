package sequencer

import (
	"slices"

	"tickhive/engine"
	"tickhive/internal/step"
)

type query struct {
	fn   func()
	done chan struct{}
	pair engine.PairID // ControlPair: any
}

func (q *query) run() {
	q.fn()
	close(q.done)
}

// queries holds the queries that arrive and those that wait until their pair is no longer busy. The loop's goroutine
// owns it, but for arriving.
type queries struct {
	loop     *Loop
	arriving chan *query
	waiting  []*query
}

// Query runs fn on the loop's goroutine between two commands and waits for it. fn may read
// the state that this goroutine owns. fn must be quick. The goroutine that calls Step reads
// this state between two steps and needs no Query.
func (l *Loop) Query(fn func()) error { return l.QueryPair(engine.ControlPair, fn) }

// QueryPair does the same as Query, but runs fn when the pair has no unfinished command: fn sees what
// whole commands have left.
func (l *Loop) QueryPair(p engine.PairID, fn func()) error {
	if l.driver != nil { // the driver calls no other step meanwhile
		if l.finished {
			return ErrStopping
		}
		if q := (&query{fn, make(chan struct{}), p}); !l.queries.serve(q) {
			step.Wait(l.driver, q.done)
		}
		return nil
	}
	q := &query{fn, make(chan struct{}), p}
	select {
	case l.queries.arriving <- q:
		<-q.done
		return nil
	case <-l.stopped:
		return ErrStopping
	}
}

// busy reports whether a pair has an unfinished command, applied or folded.
func (l *Loop) busy(p engine.PairID) bool {
	return l.work.busy(p) || slices.Contains(l.folds.withheld, p) && !l.records.failed()
}

// runOne runs one waiting query and reports whether there was one.
func (w *queries) runOne() bool {
	select {
	case q := <-w.arriving:
		return w.serve(q)
	default:
		return false
	}
}

// serve runs a query, or makes it wait for its pair, and reports whether it has run.
func (w *queries) serve(q *query) bool {
	if w.loop.busy(q.pair) {
		w.waiting = append(w.waiting, q)
		return false
	}
	q.run()
	return true
}

// serveWaiting runs the queries whose pair is no longer busy.
func (w *queries) serveWaiting() {
	waiting := w.waiting
	w.waiting = nil
	for _, q := range waiting {
		w.serve(q)
	}
}
