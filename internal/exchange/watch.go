package exchange

import (
	"errors"
	"fmt"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/wal"
)

// watchEvery is the time between two checks of the stores and the clock.
const watchEvery = 200 * time.Millisecond

// watch reports incidents of a running exchange: a store that accepts no changes, or a machine clock that was
// set. A goroutine or a driver runs it.
type watch struct {
	step.Background
	x       *Running
	failing bool   // a store accepts no changes
	clock   string // how the clock deviates from the machine's: holdsClock, slowsClock, or "" when it follows
}

const (
	holdsClock = "goes on with its own time until a restart or POST /internal/v1/clock/accept"
	slowsClock = "runs at half its speed until both agree"
)

// keepWatch starts the watch of the running exchange.
func (x *Running) keepWatch() {
	x.watch = &watch{Background: x.o.Machine.background(), x: x}
	x.watch.Run("watch", x.watch)
}

// Step checks the stores and the clock. It returns Stopped after End was called.
func (w *watch) Step() step.Progress {
	if w.Ended() {
		return step.Progress{Stopped: true}
	}
	w.checkStores()
	w.checkClock()
	return w.Idle(watchEvery)
}

// checkStores reports an incident when a store stops accepting changes, and another one when all
// accept them again.
func (w *watch) checkStores() {
	x := w.x
	x.settle()
	err := x.front.storesFailed()
	switch {
	case err != nil && !w.failing:
		x.log.Error("a store accepts no changes", "error", err)
		x.incident("store", unusable(err), err.Error())
	case err == nil && w.failing:
		x.incident("store", "every store accepts changes again", "")
	}
	w.failing = err != nil
}

// unusable says what an operator does about a store that accepts no changes.
func unusable(err error) string {
	if errors.Is(err, wal.ErrStopped) {
		return "a sync failed, so a store accepts no changes until a restart: " +
			"look at the disk, then restart the program"
	}
	return "a store accepts no changes: it cannot write. Changes are accepted again as soon as the disk has room"
}

// checkClock reports an incident when the exchange's clock stops following the machine's clock, and when it
// follows again. A step of at most clock.FollowedStep is no incident.
func (w *watch) checkClock() {
	x := w.x
	c, ok := x.clock.(*clock.Steady)
	if !ok {
		return
	}
	does, ahead := "", c.Ahead()
	switch {
	case ahead > clock.FollowedStep:
		does = holdsClock
	case ahead < -clock.FollowedStep:
		does = slowsClock
	case ahead < 0 && w.clock == slowsClock:
		return // this is the rest of a step that was reported already
	}
	switch {
	case does == w.clock:
		return
	case does == "":
		x.incident("clock", "the exchange's clock and the machine's agree again", "")
	case does == holdsClock:
		x.incident("clock", fmt.Sprintf("the machine's clock was set ahead by %s: the exchange %s",
			ahead.Round(time.Second), does), "")
	default:
		x.incident("clock", fmt.Sprintf("the machine's clock was set back by %s: the exchange's clock %s",
			-ahead.Round(time.Second), does), "")
	}
	w.clock = does
}

// clockHeld reports whether the machine's clock is so far ahead that the exchange does not follow
// it.
func (b *base) clockHeld() bool {
	c, ok := b.clock.(*clock.Steady)
	return ok && c.Ahead() > clock.FollowedStep
}
