package exchange

import (
	"time"

	"tickhive/internal/clock"
)

// watchEvery is the time between two looks at the stores and the clock.
const watchEvery = 200 * time.Millisecond

// watch is the goroutine that reports incidents of a running exchange: a store that accepts no
// changes, a machine clock that was set.
type watch struct {
	failing bool   // a store accepts no changes
	clock   string // what the clock does instead of following the machine's: holdsClock, slowsClock, or empty
	stop    chan struct{}
	done    chan struct{}
}

const (
	holdsClock = "goes on with its own time until a restart or POST /internal/v1/clock/accept"
	slowsClock = "runs at half its speed until both agree"
)

// keepWatch starts the watch of the running exchange.
func (x *Running) keepWatch() {
	w := &watch{stop: make(chan struct{}), done: make(chan struct{})}
	x.watch = w
	go func() {
		defer close(w.done)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-ticker.C:
			}
			x.checkStores()
			x.checkClock()
		}
	}()
}

// end stops the watch.
func (w *watch) end() {
	close(w.stop)
	<-w.done
}

// checkStores reports an incident when a store stops accepting changes, and another one when all
// accept them again.
func (x *Running) checkStores() {
	err := x.front.storesFailed()
	switch {
	case err != nil && !x.watch.failing:
		x.log.Error("a store accepts no changes", "error", err)
		x.incident("store", "a store accepts no changes; see the log for the reason")
	case err == nil && x.watch.failing:
		x.incident("store", "every store accepts changes again")
	}
	x.watch.failing = err != nil
}

// checkClock reports an incident when the exchange's clock no longer follows the machine's, or
// follows it again. Steps of at most clock.FollowedStep are none.
func (x *Running) checkClock() {
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
	case ahead < 0 && x.watch.clock == slowsClock:
		return // the rest of a step that is reported
	}
	switch {
	case does == x.watch.clock:
		return
	case does == "":
		x.incident("clock", "the exchange's clock and the machine's agree again")
	case does == holdsClock:
		x.incident("clock", "the machine's clock was set ahead by %s: the exchange %s", ahead.Round(time.Second), does)
	default:
		x.incident("clock", "the machine's clock was set back by %s: the exchange's clock %s",
			-ahead.Round(time.Second), does)
	}
	x.watch.clock = does
}

// clockHeld reports whether the machine's clock is so far ahead that the exchange does not follow
// it.
func (b *base) clockHeld() bool {
	c, ok := b.clock.(*clock.Steady)
	return ok && c.Ahead() > clock.FollowedStep
}
