package node

import (
	"sync"
	"time"

	"tickhive/internal/step"
)

// worker runs a component of a node until end, on a goroutine or by the driver. The component's Step must return
// Stopped when ended returns true.
type worker struct {
	machine *Machine
	stop    chan struct{} // closed by end
	done    chan struct{} // closed by the last step
	once    *sync.Once
}

func newWorker(m *Machine) worker {
	return worker{machine: m, stop: make(chan struct{}), done: make(chan struct{}), once: new(sync.Once)}
}

// run starts the component.
func (w *worker) run(name string, s step.Stepper) {
	if d := w.machine.Driver; d != nil {
		d.Drive(name, s)
		return
	}
	go func() {
		for p := s.Step(); !p.Stopped; p = s.Step() {
			if p.Worked {
				continue
			}
			select {
			case <-w.stop:
			case <-time.After(p.Wait(w.machine.Clock.NowNs())):
			}
		}
	}()
}

// ended reports whether the component is to end. Only Step may call it.
func (w *worker) ended() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// leave ends the component: no later step has work.
func (w *worker) leave() step.Progress {
	w.once.Do(func() { close(w.done) })
	return step.Progress{Stopped: true}
}

// idle returns the progress of a step that has nothing to do for a time.
func (w *worker) idle(d time.Duration) step.Progress {
	return step.Progress{NextNs: w.machine.Clock.NowNs() + int64(d)}
}

// end stops the component and waits for its last step. It is called once.
func (w *worker) end() {
	close(w.stop)
	step.Wait(w.machine.Driver, w.done)
}
