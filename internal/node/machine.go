package node

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/vfs"
)

// Machine is the machine that a node runs on. A simulation replaces all of it.
type Machine struct {
	FS    vfs.FS
	Clock clock.Clock // measures what a node waits for
	// Driver steps every component; nil: each one has a goroutine.
	Driver step.Driver
	// Rules is the latest version of the rules that the program executes; 0: Rules. A simulation has nodes of several.
	Rules uint16
}

// Knows returns the latest version of the rules that the node executes. Its own records are written by them.
func (m *Machine) Knows() uint16 { return cmp.Or(m.Rules, Rules) }

// OwnMachine returns the real machine.
func OwnMachine() Machine { return Machine{FS: vfs.OS{}, Clock: clock.Real{}} }

// errLate reports that the time of a wait is over.
var errLate = errors.New("node: too late")

// await waits until c is closed.
//
// Errors: errLate at the time lateNs of the machine's clock; ctx's cause.
func (m *Machine) await(ctx context.Context, c <-chan struct{}, lateNs int64) error {
	left := time.Duration(lateNs - m.Clock.NowNs())
	switch {
	case step.Within(m.Driver, m.Clock.NowNs, left, c, ctx.Done()):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errLate
}

// within returns a context that ends with a cause after a time of the machine's clock.
func (m *Machine) within(ctx context.Context, d time.Duration, late error) (context.Context, context.CancelFunc) {
	if m.Driver == nil {
		return context.WithTimeoutCause(ctx, d, late)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	m.Driver.Drive("timeout", &timeout{
		ctx: ctx, cancel: cancel, clock: m.Clock, lateNs: m.Clock.NowNs() + int64(d),
		late: late,
	})
	return ctx, func() { cancel(context.Canceled) }
}

// timeout is a within that a driver steps.
type timeout struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  clock.Clock
	lateNs int64
	late   error
}

// Step ends the context when it is time.
func (t *timeout) Step() step.Progress {
	if t.ctx.Err() == nil && t.clock.NowNs() < t.lateNs {
		return step.Progress{NextNs: t.lateNs}
	}
	t.cancel(t.late)
	return step.Progress{Stopped: true}
}
