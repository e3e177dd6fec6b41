package step

import "time"

// Background runs a component from Run until End, on a goroutine or by a driver. The component's Step returns Stopped
// once Ended reports true. Run and End are called once each.
type Background struct {
	driver Driver
	nowNs  func() int64
	stop   chan struct{} // closed by End
	done   chan struct{} // closed behind the last step
}

// NewBackground returns a Background; driver may be nil. nowNs is the component's clock, Unix ns.
func NewBackground(driver Driver, nowNs func() int64) Background {
	return Background{driver: driver, nowNs: nowNs, stop: make(chan struct{}), done: make(chan struct{})}
}

// last closes done behind the step that returns Stopped.
type last struct {
	Stepper
	done chan struct{}
}

// Step implements Stepper.
func (l last) Step() Progress {
	p := l.Stepper.Step()
	if p.Stopped {
		close(l.done)
	}
	return p
}

// Run starts the component.
func (b *Background) Run(name string, s Stepper) {
	s = last{s, b.done}
	if b.driver != nil {
		b.driver.Drive(name, s)
		return
	}
	go func() {
		for p := s.Step(); !p.Stopped; p = s.Step() {
			if p.Worked {
				continue
			}
			select {
			case <-b.stop:
			case <-time.After(p.Wait(b.nowNs())):
			}
		}
	}()
}

// Ending returns the channel that End closes, for a step that takes long.
func (b *Background) Ending() <-chan struct{} { return b.stop }

// Ended reports whether End was called.
func (b *Background) Ended() bool {
	select {
	case <-b.stop:
		return true
	default:
		return false
	}
}

// Idle returns the Progress of a step that has nothing to do for a time.
func (b *Background) Idle(d time.Duration) Progress { return Progress{NextNs: b.nowNs() + int64(d)} }

// End stops the component and waits for its last step.
func (b *Background) End() {
	close(b.stop)
	Wait(b.driver, b.done)
}
