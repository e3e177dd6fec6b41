package node

import (
	"context"
	"errors"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/stream/jet"
)

// AwaitSilence returns nil when the stream was reachable and without a message that counts for the time after. heard
// returns the number of the last message that was read, and the machine's time at which the last one that counts
// arrived (clock.MachineNs). While the stream cannot be reached, the writer may be well; once it can, the writer has
// the whole time again.
//
// Errors: ctx's cause, jet.ErrLost.
func AwaitSilence(ctx context.Context, log jet.Log, after time.Duration, heard func() (seq uint64, atNs int64)) error {
	look := time.NewTimer(after / 8)
	defer look.Stop()
	sinceNs := clock.MachineNs()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		asked, cancel := context.WithTimeout(ctx, after/2)
		last, err := log.Last(asked)
		cancel()
		now := clock.MachineNs()
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
		look.Reset(max(min(left, after/8), after/256)) // the last look is not later than it has to be
	}
}
