package exchange

import (
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
	driver step.Driver
	turn   chan struct{} // holds a token while nobody carries out what is due
}

// keepCanceling cancels what fell due while no process ran, and starts the canceler.
func (x *Running) keepCanceling() {
	c := &canceler{
		Background: x.o.Machine.background(), x: x, orders: x.front.account.Canceler(), driver: x.o.Machine.Driver,
		turn: make(chan struct{}, 1),
	}
	c.turn <- struct{}{}
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
	step.Wait(c.driver, c.turn)
	defer func() { c.turn <- struct{}{} }()
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
