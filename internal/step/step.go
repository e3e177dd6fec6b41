package step

import (
	"math"
	"time"
)

// Never is the NextNs of a component that time alone gives no work.
const Never = int64(math.MaxInt64)

// longest bounds Wait, so that a clock that is set is noticed.
const longest = time.Hour

// Stepper is a component that a scheduler drives.
type Stepper interface{ Step() Progress }

// Driver steps components in place of their goroutines. A component without a driver, nil, has a
// goroutine of its own.
type Driver interface {
	// Drive adds a component: the driver calls its Step until one returns Stopped.
	Drive(name string, s Stepper)
	// Wait receives from c. The driver steps the components meanwhile.
	Wait(c <-chan struct{})
}

// Wait receives from c, by the driver if there is one.
func Wait(d Driver, c <-chan struct{}) {
	if d != nil {
		d.Wait(c)
		return
	}
	<-c
}

// Progress is the outcome of one Step.
type Progress struct {
	// Worked: the step did something, so that the next one may have work at once.
	Worked bool
	// Stopped: no later step has any work.
	Stopped bool
	// NextNs is the time from which the next step has work, Unix ns, by the clock of the
	// component. Work that arrives from outside may come earlier. It counts only when the step
	// neither worked nor stopped.
	NextNs int64
}

// Idle returns the Progress of a step without work, which has none until something arrives.
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
	return longest // the difference is beyond int64
}
