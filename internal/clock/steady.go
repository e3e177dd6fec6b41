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
	// slowdown is the part of its speed that a Steady loses while it is ahead of the wall clock:
	// one half. The exchange and its clients agree again after twice the step.
	slowdown = 2
	// stepTolerance is the difference between two clocks that is not a step yet.
	stepTolerance = int64(time.Millisecond)
	// The readings of a judgement: it ends with the first in which both clocks were read within
	// closeReading, because a thread may lose its processor between two clocks.
	readings     = 8
	closeReading = int64(50 * time.Microsecond)
)

// Steady is the machine's clock without the steps of its wall clock: it advances with the time
// since the machine started, suspensions included, from the wall clock at its creation. It
// follows a forward step of the wall clock of at most FollowedStep. A larger one it holds: it
// goes on without it until Accept, or until the wall clock has come back. After a step back it
// runs at half its speed until the wall clock has caught up. It never goes back.
//
// The fast path compares the wall clock with the steady one and finds their difference unchanged.
// Only a changed difference is judged, with CLOCK_BOOTTIME, which tells a suspension from a step.
type Steady struct {
	src  Source
	base atomic.Pointer[timeBase]
	mu   sync.Mutex // one judgement at a time
}

// timeBase is one judgement: the way from the steady clock to this one. Immutable.
type timeBase struct {
	suspendedNs int64 // CLOCK_BOOTTIME - steady clock
	offsetNs    int64 // this clock - CLOCK_BOOTTIME, before the slowdown
	wallNs      int64 // wall clock - steady clock
	// From slowFrom of the steady clock on, this clock is to lose slowNs; 0: it runs at full speed.
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

// Ahead returns how far the wall clock is ahead of this one: more than FollowedStep while this
// clock holds a step, negative while it runs slower.
func (c *Steady) Ahead() time.Duration {
	c.NowNs()
	wall, monotonic := c.src.Read()
	d := wall - c.base.Load().at(monotonic)
	if d <= stepTolerance && d >= -stepTolerance {
		return 0
	}
	return time.Duration(d)
}

// Accept sets the clock to the wall clock if that is ahead, however far.
func (c *Steady) Accept() { c.judge(true) }

// judge makes a new base after the wall clock has left the old one, and returns it with the
// reading of the steady clock that it is for. With accept it follows every forward step.
func (c *Steady) judge(accept bool) (b *timeBase, monotonicNs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, r := c.base.Load(), c.read()
	if d := r.wallNs - r.monotonicNs - old.wallNs; !accept && d <= stepTolerance && d >= -stepTolerance {
		return old, r.monotonicNs // another goroutine was first, or the clocks were read far apart
	}
	b = &timeBase{suspendedNs: old.suspendedNs, wallNs: r.wallNs - r.monotonicNs}
	if d := r.bootNs - r.monotonicNs - old.suspendedNs; d > stepTolerance {
		b.suspendedNs += d
	}
	now := old.at(r.monotonicNs) + b.suspendedNs - old.suspendedNs
	switch ahead := r.wallNs - now; {
	case ahead > int64(FollowedStep) && !accept: // held
	case ahead > 0:
		now = r.wallNs
	default:
		b.slowFrom, b.slowNs = r.monotonicNs, -ahead
	}
	b.offsetNs = now - b.suspendedNs - r.monotonicNs
	c.base.Store(b)
	return b, r.monotonicNs
}

// reading is one look at all clocks of a machine.
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
