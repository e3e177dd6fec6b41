package exchange

import (
	"sync"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/step"
)

// cancelEvery is the longest time between two looks at what a canceler has to cancel. Due times that are known
// earlier are met exactly.
const cancelEvery = 100 * time.Millisecond

// canceler carries out the cancels that no request asks for, on a goroutine or by a driver.
type canceler struct {
	step.Background
	x      *Running
	orders *entry.Canceler
	mu     sync.Mutex // held for a step; a driver never steps a virtual clock, so it never waits for mu
}

// keepCanceling cancels what fell due while no process ran, and starts the canceler.
func (x *Running) keepCanceling() {
	c := &canceler{Background: x.o.Machine.background(), x: x, orders: x.front.account.Canceler()}
	c.orders.Done = func(account engine.AccountID, why entry.Cause, canceled int) {
		x.log.Info("security", "event", "orders canceled", "by", "exchange", "cause", why.String(),
			"user", accounts.UserID(uint32(account)).String(), "canceled", canceled)
	}
	x.canceler = c
	c.runDue()
	c.Run("canceler", c)
}

// runDue carries out what is due now.
func (c *canceler) runDue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.orders.Step(c.x.clock.NowNs()) {
	}
}

// Step carries out what is due. It returns Stopped after End was called.
func (c *canceler) Step() step.Progress {
	if c.Ended() {
		return step.Progress{Stopped: true}
	}
	c.runDue()
	p := c.Idle(cancelEvery)
	if !c.x.clock.Virtual() {
		p.NextNs = min(p.NextNs, c.orders.NextNs(c.x.clock.NowNs()))
	}
	return p
}

// advance moves the virtual clock of the loop to ns, and stops on the way where a cancel is due.
func (c *canceler) advance(ns int64) error {
	for {
		next := min(ns, c.orders.NextNs(c.x.clock.NowNs()))
		if err := c.x.loop.AdvanceTo(next); err != nil {
			return err
		}
		if c.runDue(); next == ns {
			return nil
		}
	}
}
