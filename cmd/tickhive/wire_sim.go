package main

import (
	"context"
	"fmt"
	"time"

	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/sim"
)

// makeSim builds the simulated market, which opens at the start of the backfill. Without pairs
// or with --sim off it does nothing.
func (x *exchange) makeSim() error {
	if !x.cfg.simulated() {
		return nil
	}
	startNs := x.clock.NowNs()
	if !x.clock.Virtual() {
		startNs -= int64(x.cfg.Sim.Backfill) // makeClock set a virtual clock back by this span
	}
	o, err := x.cfg.simOptions(x.core, startNs)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	x.sim = sim.New(o)
	return nil
}

// sources returns the sources of orders that a loop runs.
func (x *exchange) sources() []sequencer.Source {
	if x.sim == nil {
		return nil
	}
	return []sequencer.Source{x.sim}
}

// backfillStep is the simulated time between two updates of the progress.
const backfillStep = int64(10 * time.Minute)

// backfillNear is how close to the current time a backfill must end; the machine's clock moves
// on while it runs.
const backfillNear = int64(50 * time.Millisecond)

// backfill simulates the configured time before the current time, on a separate loop with a
// separate clock. It does nothing without a simulation. A market that already has a history
// has no backfill configured (origin.agree). When ctx is canceled, backfill returns its error,
// and the next start begins the backfill over.
func (x *exchange) backfill(ctx context.Context) error {
	span := int64(x.cfg.Sim.Backfill)
	if span == 0 || x.sim == nil {
		return nil
	}
	startNs := x.clock.NowNs()
	manual, virtual := x.clock.(*clock.Manual)
	if !virtual {
		startNs -= span // makeClock set a virtual clock back by this span
		manual = clock.NewManual(startNs)
	}
	end := startNs + span
	if err := x.beginFilling(); err != nil {
		return err
	}
	loop := x.newLoop(manual)
	go loop.Run()
	defer loop.Stop()
	if err := x.configure(loop); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lived := make(chan error, 1)
	go func() { lived <- x.agents.fill(ctx, end) }()
	bar := newProgress(x.p.err, "backfill", span, x.quiet)
	err := x.advanceTo(ctx, loop, startNs, end, bar)
	if err != nil {
		cancel()
	}
	loop.Stop()
	filled := <-lived // in any case: a stop closes the stores next
	if err == nil {
		err = filled
	}
	if err != nil {
		bar.leave()
		return fmt.Errorf("backfill: %w", err)
	}
	bar.end()
	return x.endBackfill(loop)
}

// advanceTo moves the loop of a backfill from startNs to end. If the machine's clock has moved
// on meanwhile, it continues to the current time.
func (x *exchange) advanceTo(ctx context.Context, loop *sequencer.Loop, startNs, end int64, bar *progress) error {
	for at := startNs; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		at = min(at+backfillStep, end)
		if err := loop.AdvanceQuietly(at); err != nil {
			return err
		}
		if now := x.clock.NowNs(); !x.clock.Virtual() && now-end > backfillNear {
			end = now
		}
		done := at - startNs
		x.progress.Store(min(1_000_000, done/max((end-startNs)/1_000_000, 1)))
		bar.set(done)
	}
	return nil
}
