package step

import (
	"math"
	"time"
)

// Never is the NextNs of a component that has no work by time alone.
const Never = int64(math.MaxInt64)

// longest limits Wait, so that a clock that is set forward is noticed.
const longest = time.Hour

// Stepper is a component that a scheduler drives.
type Stepper interface{ Step() Progress }

// Driver calls the steps of components that would otherwise have a goroutine each. A nil Driver means that they
// have their goroutines.
type Driver interface {
	// Drive adds a component. The driver calls its Step until Step returns Stopped.
	Drive(name string, s Stepper)
	// Wait receives from c. Meanwhile the driver calls the steps of its components.
	Wait(c <-chan struct{})
}

// Wait receives from c. It calls d.Wait unless d is nil.
func Wait(d Driver, c <-chan struct{}) {
	if d != nil {
		d.Wait(c)
		return
	}
	<-c
}

// Within receives from c, at most for a time by now and until end is ready. It reports whether it has received.
func Within(d Driver, now func() int64, most time.Duration, c, end <-chan struct{}) bool {
	if d == nil {
		late := time.NewTimer(most)
		defer late.Stop()
		select {
		case <-c:
			return true
		case <-end:
		case <-late.C:
		}
		return false
	}
	w := &within{c: c, end: end, now: now, lateNs: now() + int64(most), over: make(chan struct{})}
	d.Drive("wait", w)
	d.Wait(w.over)
	return w.received
}

// within is a Within by a driver.
type within struct {
	c, end   <-chan struct{}
	now      func() int64
	lateNs   int64
	over     chan struct{}
	received bool
}

// Step implements Stepper.
func (w *within) Step() Progress {
	select {
	case <-w.c:
		w.received = true
	case <-w.end:
	default:
		if w.now() < w.lateNs {
			return Progress{NextNs: w.lateNs}
		}
	}
	close(w.over)
	return Progress{Stopped: true}
}

// Progress is the outcome of one Step.
type Progress struct {
	// Worked reports that the step did something, so the next step may have work at once.
	Worked bool
	// Stopped reports that no later step will have work.
	Stopped bool
	// NextNs is the time at which the next step has work, Unix ns by the component's clock, unless work arrives
	// earlier. It is valid only when the step neither worked nor stopped.
	NextNs int64
}

// Idle returns the Progress of a component that has no work until something arrives.
func Idle() Progress { return Progress{NextNs: Never} }

// Worked returns the Progress of a step that did something.
func Worked() Progress { return Progress{Worked: true} }

// Wait returns how long a goroutine may sleep before the next step, at most an hour.
func (p Progress) Wait(nowNs int64) time.Duration {
	if p.Worked || p.Stopped || p.NextNs <= nowNs {
		return 0
	}
	if d := p.NextNs - nowNs; d > 0 {
		return min(longest, time.Duration(d))
	}
	return longest // the difference overflowed int64
}
