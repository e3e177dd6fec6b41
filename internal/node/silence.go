package node

import (
	"context"
	"errors"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// SteadyNs returns the time by which a node measures silence: the machine's, which no step of its clock changes.
func (m *Machine) SteadyNs() int64 {
	if m.Driver != nil {
		return m.Clock.NowNs()
	}
	return clock.MachineNs()
}

// AwaitSilence returns nil when the stream was reachable and without a message that counts for the time after. heard
// returns the number of the last message that was read, and the time (SteadyNs) at which the last one that counts
// arrived. While the stream cannot be reached, the writer may be well; once it can, the writer has the whole time
// again.
//
// Errors: ctx's cause, jet.ErrLost.
func (m *Machine) AwaitSilence(ctx context.Context, log jet.Log, after time.Duration,
	heard func() (seq uint64, atNs int64),
) error {
	sinceNs := m.SteadyNs()
	for pause := after / 8; ; {
		if err := m.await(ctx, nil, m.Clock.NowNs()+int64(pause)); !errors.Is(err, errLate) {
			return err
		}
		asked, cancel := m.within(ctx, after/2, context.DeadlineExceeded)
		last, err := log.Last(asked)
		cancel()
		now := m.SteadyNs()
		seq, atNs := heard()
		if errors.Is(err, jet.ErrLost) {
			return err
		}
		if err != nil {
			sinceNs = now
		}
		left := after - time.Duration(now-max(sinceNs, atNs))
		if left <= 0 && seq == last {
			return nil
		}
		pause = max(min(left, after/8), after/256) // the last look is not later than it has to be
	}
}
