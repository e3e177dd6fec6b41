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
	look := time.NewTicker(after / 8)
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
		switch {
		case errors.Is(err, jet.ErrLost):
			return err
		case err != nil:
			sinceNs = now
		case seq == last && now-max(sinceNs, atNs) >= int64(after):
			return nil
		}
	}
}
