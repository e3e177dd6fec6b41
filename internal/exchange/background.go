package exchange

import (
	"time"

	"tickhive/internal/step"
)

// background runs a component of a running exchange from run until end, on a goroutine or by a driver.
// The component's Step must return Stopped when ended returns true.
type background struct {
	machine *Machine
	stop    chan struct{} // closed by end
	done    chan struct{} // closed by the first step that has seen it
}

func newBackground(m *Machine) background {
	return background{machine: m, stop: make(chan struct{}), done: make(chan struct{})}
}

// run starts the component.
func (b *background) run(name string, s step.Stepper) {
	if d := b.machine.Driver; d != nil {
		d.Drive(name, s)
		return
	}
	go func() {
		for p := s.Step(); !p.Stopped; p = s.Step() {
			if p.Worked {
				continue
			}
			select {
			case <-b.stop:
			case <-time.After(p.Wait(b.machine.Clock.NowNs())):
			}
		}
	}()
}

// ended reports whether end was called. Only Step may call it.
func (b *background) ended() bool {
	select {
	case <-b.stop:
	default:
		return false
	}
	select {
	case <-b.done:
	default:
		close(b.done)
	}
	return true
}

// idle returns the progress of a step that has nothing to do for a time.
func (b *background) idle(d time.Duration) step.Progress {
	return step.Progress{NextNs: b.machine.Clock.NowNs() + int64(d)}
}

// end stops the component and waits for its last step.
func (b *background) end() {
	close(b.stop)
	step.Wait(b.machine.Driver, b.done)
}
