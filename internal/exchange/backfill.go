package exchange

import (
	"context"
	"fmt"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/stream"
)

// backfillStep is the simulated time between two updates of the progress.
const backfillStep = int64(10 * time.Minute)

// backfillNear is the largest distance between the end of a backfill and the current time. It is not 0, because
// the machine's clock continues while the backfill runs.
const backfillNear = int64(50 * time.Millisecond)

// backfill simulates the configured time before the current time, on a separate loop with a
// separate clock. It does nothing without a simulation. A market that already has a history
// has no backfill (datadir.Dir.Backfill). When ctx is canceled, backfill returns its error,
// and the next start begins the backfill over.
func (r *restored) backfill(ctx context.Context) error {
	span := int64(r.data.Backfill())
	if span == 0 || r.sim == nil {
		return nil
	}
	startNs, end := r.backfillSpan()
	manual, virtual := r.clock.(*clock.Manual)
	if !virtual {
		manual = clock.NewManual(startNs)
	}
	bar := r.o.Progress("backfill")
	if err := r.beginBackfill(); err != nil {
		return err
	}
	if err := r.liveBefore(ctx, min(startNs, end-historySpan), startNs); err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	loop := r.newLoop(manual, sequencer.Written, r.sources())
	loop.Begin()
	defer loop.Stop()
	if err := r.configure(loop); err != nil {
		return err
	}
	err := r.advanceTo(ctx, loop, startNs, end, bar)
	loop.Stop()
	if err != nil {
		bar.Leave()
		return fmt.Errorf("backfill: %w", err)
	}
	bar.Done()
	return r.endBackfill(loop)
}

// backfillSpan returns the time of the backfill.
func (r *restored) backfillSpan() (startNs, endNs int64) {
	startNs = r.clock.NowNs() // openData set a virtual clock back by the span
	if !r.clock.Virtual() {
		startNs -= int64(r.data.Backfill())
	}
	return startNs, startNs + int64(r.data.Backfill())
}

// liveBefore simulates the residents before the market opens.
func (r *restored) liveBefore(ctx context.Context, fromNs, toNs int64) error {
	loop := r.newLoop(clock.NewManual(fromNs), sequencer.Written, r.agents.sources())
	loop.Begin()
	defer loop.Stop()
	err := r.agents.begin(loop, r.data.Seed())
	for at := fromNs; at < toNs && err == nil; {
		at = min(at+int64(24*time.Hour), toNs)
		if err = ctx.Err(); err == nil {
			err = loop.AdvanceQuietly(at)
		}
	}
	loop.Stop()
	r.pos, r.lastNs = loop.Position(), toNs
	return err
}

// advanceTo moves the loop of a backfill from startNs to end. If the machine's clock has moved
// on meanwhile, it continues to the current time.
func (r *restored) advanceTo(ctx context.Context, loop *sequencer.Loop, startNs, end int64, bar Progress) error {
	for at := startNs; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		at = min(at+backfillStep, end)
		if err := loop.AdvanceQuietly(at); err != nil {
			return err
		}
		if now := r.clock.NowNs(); !r.clock.Virtual() && now-end > backfillNear {
			end = now
		}
		done := at - startNs
		r.front.progress.Store(min(1_000_000, done/max((end-startNs)/1_000_000, 1)))
		bar.Set(done, end-startNs)
	}
	return nil
}

// beginBackfill records that the backfill and the demo data are incomplete. It lets the journal
// write the backfill in large pieces, because no part of it is acknowledged before its end.
func (r *restored) beginBackfill() error {
	if r.journal != nil {
		r.journal.writer.BeginBulk()
	}
	return r.data.SetFilling(true)
}

// endBackfill makes the backfill durable and sets the start of the next loop.
func (r *restored) endBackfill(loop *sequencer.Loop) error {
	r.pos, r.lastNs = loop.Position(), r.feed.Board().Load().NowNs
	if err := r.keepBackfill(); err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	return nil
}

// keepBackfill makes the backfill durable and takes snapshots of it while no loop runs. The keeper of the running
// market would otherwise build a second state for its first snapshot at once, which doubles the memory of the start.
func (r *restored) keepBackfill() error {
	if r.journal == nil {
		return nil
	}
	if err := r.journal.writer.EndBulk(); err != nil {
		return err
	}
	return r.lastSnapshot(0, stream.State{}, nil)
}
