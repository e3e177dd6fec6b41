package exchange

import (
	"context"
	"errors"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// A phase stops its own parts and the parts of the phases before it, from the outside in: it takes no new connections,
// finishes the accepted requests, stops the loop, closes the journal, and at last records a clean end in
// the directory.

// halt ends the watch, the scrubs and the snapshots, which need the loop, and then the loop.
func (x *Running) halt() {
	x.watch.End()
	if x.scrub != nil {
		x.scrub.End() // cuts a scrub under way short
	}
	if x.snapshots != nil {
		x.snapshots.End() // after a pending snapshot
	}
	x.loop.Stop()
}

// Stop ends everything from the outside in and returns when every goroutine has ended. ctx limits
// the wait for requests.
func (x *Running) Stop(ctx context.Context) {
	x.front.pace.set(0, nil)
	x.canceler.End() // first: a stop is no disconnect of its clients
	if x.reseal != nil {
		x.reseal.End()
	}
	x.front.endSockets(x.o.Machine.Driver) // first, because closing the listeners does not close them
	x.front.shutdown(ctx)
	x.stream.Load().drain(ctx)
	x.halt()
	last := x.finalSnapshot
	if errors.Is(x.stream.Load().failure(), jet.ErrFenced) {
		last = nil // no start uses this directory
	}
	if x.loop.Shown() < x.loop.Position() {
		last = nil // the market data lack what the stream has not confirmed
	}
	x.end(last)
}

// finalSnapshot takes a snapshot of the stopped loop's market if the tail of the journal is long.
func (x *Running) finalSnapshot() error {
	x.pos, x.lastNs = x.loop.Position(), x.feed.Board().Load().NowNs
	at := x.streamBefore(x.pos)
	writer, err := x.writerOf(at)
	if err != nil {
		return err
	}
	return x.lastSnapshot(x.snapshots.keeper.Covered(), at, writer)
}

// lastSnapshot takes a snapshot at r.pos, which no loop runs, if the tail of the journal behind the position covered is
// long.
func (r *restored) lastSnapshot(covered uint64, at stream.State, writer []byte) error {
	return r.journal.lastSnapshot(r.atEnd(), covered, func() ([]byte, error) {
		return r.head(r.state.Ledger.View(), at, writer)
	})
}

// atEnd returns the state at r.pos, which no loop changes.
func (r *restored) atEnd() *machine.State {
	r.state.Pos, r.state.LastNs = r.pos, r.lastNs
	return r.state
}

// Stop closes listeners, journal and directory. ctx limits the wait for requests.
func (r *Recovered) Stop(ctx context.Context) { r.stop(ctx) }

func (r *restored) stop(ctx context.Context) {
	r.front.shutdown(ctx)
	r.lead.end()
	r.end(nil)
}

// end runs last unless it is nil, and closes journal and directory. A journal that has failed, or is not closed in
// order, has no clean end: it may be longer than it knows.
func (r *restored) end(last func() error) {
	err := r.journal.close(last)
	if err = errors.Join(err, r.endData(err == nil)); err != nil {
		r.log.Error("journal not closed cleanly", "error", err)
	}
}

// Stop closes listeners and directory. ctx limits the wait for requests. The end is as clean as the one that Open
// found, unless the journal failed in Recover.
func (o *Opened) Stop(ctx context.Context) {
	o.front.shutdown(ctx)
	if err := o.endData(o.data.WasClean() && !o.failed); err != nil {
		o.log.Error("data directory not closed cleanly", "error", err)
	}
}

// endData stores the time of a virtual clock and closes the directory.
func (b *base) endData(clean bool) error {
	return errors.Join(b.data.KeepClock(b.clock.NowNs()), b.data.Close(clean))
}
