package exchange

import (
	"sync"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/step"
)

// guardEvery is the longest time between two looks at what a guard has to cancel. Due times that are known
// earlier are met exactly.
const guardEvery = 100 * time.Millisecond

// guard carries out the cancels that no request asks for, on a goroutine or by a driver.
type guard struct {
	background
	x     *Running
	guard *entry.Guard
	mu    sync.Mutex // held for a step; a driver never steps a virtual clock, so it never waits for mu
}

// keepGuard cancels what fell due while no process ran, and starts the guard.
func (x *Running) keepGuard() {
	g := &guard{background: newBackground(&x.o.Machine), x: x, guard: x.front.account.Guard()}
	g.guard.Done = func(account engine.AccountID, c entry.Cause, canceled int) {
		x.log.Info("security", "event", "orders canceled", "by", "exchange", "cause", c.String(),
			"user", accounts.UserID(uint32(account)).String(), "canceled", canceled)
	}
	x.guard = g
	g.runDue()
	g.run("guard", g)
}

// runDue carries out what is due now.
func (g *guard) runDue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.guard.Step(g.x.clock.NowNs()) {
	}
}

// Step carries out what is due. It returns Stopped after end was called.
func (g *guard) Step() step.Progress {
	if g.ended() {
		return step.Progress{Stopped: true}
	}
	g.runDue()
	p := g.idle(guardEvery)
	if !g.x.clock.Virtual() {
		p.NextNs = min(p.NextNs, g.guard.NextNs(g.x.clock.NowNs()))
	}
	return p
}

// advance moves the virtual clock of the loop to ns, and stops on the way where a cancel is due.
func (g *guard) advance(ns int64) error {
	for {
		next := min(ns, g.guard.NextNs(g.x.clock.NowNs()))
		if err := g.x.loop.AdvanceTo(next); err != nil {
			return err
		}
		if g.runDue(); next == ns {
			return nil
		}
	}
}
