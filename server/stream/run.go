package stream

import (
	"time"

	"tickhive/internal/step"
)

// Run runs the hub on the caller's goroutine and returns after Shutdown.
func (h *Hub) Run() {
	h.writers.start(h)
	defer h.writers.stop()
	timer := time.NewTimer(tickEvery)
	defer timer.Stop()
	timerNs := int64(0) // the time for which the timer is set
	for p := h.Step(); !p.Stopped; p = h.Step() {
		if p.Worked {
			continue
		}
		if timerNs != p.NextNs { // usually once a tick
			timerNs = p.NextNs
			timer.Reset(p.Wait(h.opts.MachineNs()))
		}
		select {
		case <-h.notify:
			h.published = true
		case h.op = <-h.ops:
		case <-timer.C:
			timerNs = 0
		case <-h.stop:
		}
	}
}

// Step does one piece of the hub's work: the due tick, the changes of a publication, or one queued
// operation. Then it queues the resulting messages and wakes the writers, and waits for neither.
// Without work, NextNs is the machine time of the next tick. The first step after Shutdown was called
// queues every client's last message and close frame; its result is Stopped.
func (h *Hub) Step() step.Progress {
	if h.ended {
		return step.Progress{Stopped: true}
	}
	select {
	case <-h.stop:
		h.announceShutdown()
		h.writers.flush()
		h.ended = true
		close(h.stopped)
		return step.Progress{Stopped: true}
	default:
	}
	if !h.tickDue() && !h.arrived() {
		return step.Progress{NextNs: h.tickNs}
	}
	h.deliver()
	h.writers.flush() // after all messages are queued, so that one write can join them
	return step.Worked()
}

// tickDue runs a tick that is due and reports whether there was one. After a delay it does not make up for the
// missed ticks.
func (h *Hub) tickDue() bool {
	now := h.opts.MachineNs()
	late := now - h.tickNs
	if late < 0 {
		return false
	}
	h.tickNs = now + int64(tickEvery) - late%int64(tickEvery)
	h.tick()
	return true
}

// arrived sends the changes of a publication or carries out one queued operation, and reports
// whether there was one.
func (h *Hub) arrived() bool {
	if !h.published && h.op == nil {
		select {
		case <-h.notify:
			h.published = true
		default: // a fixed order of checks, so that a driver can repeat a run
			select {
			case h.op = <-h.ops:
			default:
				return false
			}
		}
	}
	if h.published {
		h.published = false
		h.advanceUnconflated()
		return true
	}
	op := h.op
	h.op = nil
	op()
	return true
}

// Shutdown notifies every client, closes the sockets with 1001 and ends Run.
func (h *Hub) Shutdown() {
	h.once.Do(func() { close(h.stop) })
	step.Wait(h.opts.Driver, h.stopped)
}
