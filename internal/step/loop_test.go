package step_test

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/step"
)

// counted is a component that idles until End.
type counted struct {
	step.Background
	steps int
	last  bool
}

// Step implements step.Stepper.
func (c *counted) Step() step.Progress {
	if c.steps++; c.Ended() {
		c.last = true
		return step.Progress{Stopped: true}
	}
	return c.Idle(time.Hour)
}

// turns is a driver that steps one component while somebody waits.
type turns struct{ s step.Stepper }

// Drive implements step.Driver.
func (d *turns) Drive(_ string, s step.Stepper) { d.s = s }

// Wait implements step.Driver.
func (d *turns) Wait(c <-chan struct{}) {
	for {
		select {
		case <-c:
			return
		default:
			d.s.Step()
		}
	}
}

// End wakes a component that idles, and returns behind its last step, on a goroutine and by a driver.
func TestABackgroundEndsBehindItsLastStep(t *testing.T) {
	for name, driver := range map[string]step.Driver{"goroutine": nil, "driver": &turns{}} {
		c := &counted{Background: step.NewBackground(driver, func() int64 { return 5 })}
		if p := c.Idle(time.Second); p.NextNs != 5+int64(time.Second) {
			t.Errorf("%s: idle until %d", name, p.NextNs)
		}
		c.Run("counted", c)
		c.End()
		if !c.last || !c.Ended() {
			t.Errorf("%s: End has returned after %d steps, the last one: %v", name, c.steps, c.last)
		}
	}
}
