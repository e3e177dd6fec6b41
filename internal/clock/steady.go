package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// FollowedStep is the largest forward step of the wall clock that a Steady follows by itself.
	// It covers a leap second and the first correction of a time service after a start; a wall
	// clock that is further ahead is more likely wrong than late.
	FollowedStep = 5 * time.Second
	// slowdown divides the speed of a Steady while it is ahead of the wall clock. At half speed, it agrees with
	// the wall clock again after twice the length of the step.
	slowdown = 2
	// stepTolerance is the largest difference between two clocks that does not count as a step.
	stepTolerance = int64(time.Millisecond)
	// Limits of a judgement. It reads both clocks up to readings times, until the two reads are within
	// closeReading: a thread may lose its processor between them.
	readings     = 8
	closeReading = int64(50 * time.Microsecond)
)

// Steady is the machine's clock without the steps of its wall clock. It starts at the wall clock and advances
// with the time since the machine started, suspensions included. It follows a forward step of the wall clock of
// at most FollowedStep. It ignores a larger step until Accept, or until the wall clock is set back. After a
// backward step it runs at half its speed until the wall clock has caught up. It never goes back.
//
// Usually the difference between the wall clock and the steady clock is unchanged, and a reading needs
// nothing else. If the difference has changed, CLOCK_BOOTTIME shows whether the machine was suspended
// or the wall clock was set.
//
// A wall clock that is 25 h ahead for a moment would empty every 24 h window, and one command in that moment would
// stamp the commands of a day. It is not approached slowly either: windows would show figures of no second for
// hours, and a machine that was paused would need an operator to wait. The steady clock alone would not do, because
// it stops while the machine is suspended. The length of a step counts from this clock, so a wall clock that returns
// is followed, whatever it did in between.
type Steady struct {
	src  Source
	base atomic.Pointer[timeBase]
	mu   sync.Mutex // held while the clock is judged
}

// timeBase is the result of a judgement: how to compute this clock's time from the steady clock. Immutable.
type timeBase struct {
	suspendedNs int64 // CLOCK_BOOTTIME - steady clock
	offsetNs    int64 // this clock - CLOCK_BOOTTIME, before the slowdown
	wallNs      int64 // wall clock - steady clock
	// From slowFrom of the steady clock on, this clock runs at half its speed until it has lost slowNs; 0: it
	// runs at full speed.
	slowFrom, slowNs int64
}

// at returns this clock's time at a time of the steady clock.
func (b *timeBase) at(monotonicNs int64) int64 {
	ns := monotonicNs + b.suspendedNs + b.offsetNs
	if b.slowNs != 0 {
		ns -= min(max(monotonicNs-b.slowFrom, 0)/slowdown, b.slowNs)
	}
	return ns
}

// NewSteady returns a clock that begins at the wall clock of src; nil: the machine's clocks.
func NewSteady(src Source) *Steady {
	if src == nil {
		src = machine{time.Now()}
	}
	c := &Steady{src: src}
	r := c.read()
	c.base.Store(&timeBase{
		suspendedNs: r.bootNs - r.monotonicNs, offsetNs: r.wallNs - r.bootNs, wallNs: r.wallNs - r.monotonicNs,
	})
	return c
}

// NowNs returns the time, Unix ns. It costs as much as time.Now unless the wall clock was set.
func (c *Steady) NowNs() int64 {
	wall, monotonic := c.src.Read()
	b := c.base.Load()
	if d := wall - monotonic - b.wallNs; d > stepTolerance || d < -stepTolerance {
		b, monotonic = c.judge(false)
	}
	return b.at(monotonic)
}

// Virtual returns false.
func (c *Steady) Virtual() bool { return false }

// Ahead returns how far the wall clock is ahead of this one: more than FollowedStep while this clock ignores a
// step, negative while it runs slower.
func (c *Steady) Ahead() time.Duration {
	c.NowNs()
	wall, monotonic := c.src.Read()
	d := wall - c.base.Load().at(monotonic)
	if d <= stepTolerance && d >= -stepTolerance {
		return 0
	}
	return time.Duration(d)
}

// Accept sets this clock to the wall clock if the wall clock is ahead, however far.
func (c *Steady) Accept() { c.judge(true) }

// judge makes a new base after the difference to the wall clock has changed. It returns the base and the
// reading of the steady clock to which it belongs. With accept it follows every forward step.
func (c *Steady) judge(accept bool) (b *timeBase, monotonicNs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, r := c.base.Load(), c.read()
	if d := r.wallNs - r.monotonicNs - old.wallNs; !accept && d <= stepTolerance && d >= -stepTolerance {
		// another goroutine has judged already, or the clocks could not be read close together
		return old, r.monotonicNs
	}
	b = &timeBase{suspendedNs: old.suspendedNs, wallNs: r.wallNs - r.monotonicNs}
	if d := r.bootNs - r.monotonicNs - old.suspendedNs; d > stepTolerance {
		b.suspendedNs += d
	}
	now := old.at(r.monotonicNs) + b.suspendedNs - old.suspendedNs
	switch ahead := r.wallNs - now; {
	case ahead > int64(FollowedStep) && !accept: // ignore the step
	case ahead > 0:
		now = r.wallNs
	default:
		b.slowFrom, b.slowNs = r.monotonicNs, -ahead
	}
	b.offsetNs = now - b.suspendedNs - r.monotonicNs
	c.base.Store(b)
	return b, r.monotonicNs
}

// reading holds one reading of all clocks of a machine.
type reading struct{ wallNs, monotonicNs, bootNs int64 }

// read reads the clocks as close together as it can.
func (c *Steady) read() (best reading) {
	for i, spread := 0, int64(-1); i < readings; i++ {
		_, before := c.src.Read()
		boot := c.src.BootNs()
		wall, after := c.src.Read()
		if spread < 0 || after-before < spread {
			best, spread = reading{wall, after, boot}, after-before
		}
		if spread <= closeReading {
			break
		}
	}
	return best
}
