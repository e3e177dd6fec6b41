package exchange

import "github.com/tickhive/tickhive/internal/step"

// ageWatch reports when a replica begins to refuse reads because it is too far behind its writer, and when it serves
// them again. A goroutine or a driver runs it.
type ageWatch struct {
	step.Background
	y     *Following
	stale bool
}

// keepAge starts the watch of the replica.
func (y *Following) keepAge() {
	y.age = &ageWatch{Background: y.o.Machine.background(), y: y}
	y.age.Run("age", y.age)
}

// Step compares the age of the views with the bound. It returns Stopped after End was called.
func (w *ageWatch) Step() step.Progress {
	if w.Ended() {
		return step.Progress{Stopped: true}
	}
	was := w.stale
	switch w.stale = w.y.front.replica.Stale() != nil; {
	case w.stale && !was:
		w.y.incident("stream", "this replica is too far behind its writer: it refuses reads until it has caught up", "")
	case was && !w.stale:
		w.y.incident("stream", "this replica has caught up with its writer: it serves reads again", "")
	}
	return w.Idle(watchEvery)
}
