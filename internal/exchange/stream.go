package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tickhive/engine/sequencer"
	"tickhive/internal/cmdline"
	"tickhive/internal/machine"
	"tickhive/internal/mirror"
	"tickhive/internal/node"
	"tickhive/internal/stream/jet"
	"tickhive/server/public"
)

// StreamOptions configures the stream that takes the records. It needs a data directory and a real clock.
type StreamOptions struct {
	// Open opens the stream of an epoch; nil: there is none. done ends its use.
	Open func(ctx context.Context, epoch string) (log jet.Log, done func(), err error)
	// Quorum makes a change wait for the stream before it is answered.
	Quorum bool
	// Sim is a text of the settings of the simulated market, which a standby must have too.
	Sim string
	// Handover is the term that this node took as a standby; nil: the start campaigns.
	Handover *Handover
}

// SimOff is the text of StreamOptions.Sim without a simulated market.
const SimOff = "off"

// writing is the part of a writer that sends its records to the stream. A nil one sends nothing.
type writing struct {
	*mirror.Mirror
	x    *Running
	log  jet.Log
	done func() // ends the use of the stream

	unannounce func() // ends the answers to nodes that look for a snapshot
}

// keepMirror opens the stream, becomes its writer and begins to send what it lacks.
func (x *Running) keepMirror(ctx context.Context) error {
	if x.o.Stream.Open == nil {
		return nil
	}
	log, done, err := x.o.Stream.Open(ctx, x.data.Epoch())
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	w := &writing{x: x, log: log, done: done}
	s, err := w.source()
	if err == nil {
		w.Mirror, err = mirror.Begin(ctx, log, s)
	}
	if err != nil {
		done()
		return fmt.Errorf("stream: %w", err)
	}
	x.refuseEarlier(w.FoundNs())
	w.unannounce = x.announce(log, x.data.Epoch(), w.offer)
	if q := x.quorum; q != nil {
		w.confirmed(w.At().Pos)
		q.mirror.Store(w.Mirror)
		if err := w.awaitStream(ctx); err != nil {
			w.drain(ctx)
			return fmt.Errorf("stream: %w", err)
		}
	}
	x.mirror.Store(w)
	return nil
}

// confirmed shows what the stream has confirmed.
func (w *writing) confirmed(pos uint64) {
	if q := w.x.quorum; q != nil {
		q.reach(pos)
	}
}

// ended wakes the loop, which waits for nothing more.
func (w *writing) ended() {
	if q := w.x.quorum; q != nil {
		q.Ring()
	}
}

// source describes the exchange for the mirror.
func (w *writing) source() (*mirror.Source, error) {
	x := w.x
	term, err := x.termRecord()
	if err != nil {
		return nil, fmt.Errorf("term record: %w", err)
	}
	s := &mirror.Source{
		Log: x.journal.log, Dir: x.data, Term: term, DurableAll: x.o.Journal.Sync == sequencer.SyncOff,
		Genesis: x.genesis(), Founding: x.founding,
		Look: w.look, MakeDurable: x.journal.makeDurable, NowNs: x.clock.NowNs, Failed: w.failed,
		Confirmed: w.confirmed, Ended: w.ended,
	}
	if h := x.o.Stream.Handover; h != nil {
		s.Held, s.Began = h.Held, h.Genesis
	}
	return s, nil
}

// genesis describes the exchange for the readers of its stream.
func (r *restored) genesis() node.Genesis {
	ledger, _ := r.agents.Views()
	g := node.Genesis{
		Epoch: r.data.Epoch(), Version: cmdline.Version, Seed: ledger.Seed(), LedgerNs: ledger.GenesisNs(),
	}
	if k := r.secrets; k != nil && !k.Empty() {
		g.SealedWith = k.ID()
	}
	return g
}

// look asks the loop for its position.
func (w *writing) look(digest bool) (at mirror.Look, err error) {
	x := w.x
	err = x.loop.Query(func() {
		at = mirror.Look{Pos: x.loop.Position(), SealedNs: x.clock.NowNs()}
		if digest && at.Pos > 0 {
			at.Digest = machine.Digest(x.core)
		}
	})
	return at, err
}

// failed reports that the stream receives nothing more.
func (w *writing) failed(err error) {
	w.x.incident("stream", "the stream receives nothing more until a restart", err.Error())
	if errors.Is(err, jet.ErrFenced) && w.x.o.Stream.Quorum {
		w.x.front.fail(mirror.ErrFenced)
	}
}

// failure returns the reason why the stream receives nothing more, nil while it does.
func (w *writing) failure() error {
	if w == nil {
		return nil
	}
	return w.Failure()
}

// status describes the writer for /api/status.
func (w *writing) status() *public.Replication {
	if w == nil {
		return nil
	}
	at := w.At()
	return &public.Replication{
		Role: "writer", Term: at.Term, Position: at.Pos,
		LagMs: max(w.x.clock.NowNs()-at.SentNs, 0) / int64(time.Millisecond), Failed: w.Failure() != nil,
	}
}

// drain ends the mirror while the loop still runs.
func (w *writing) drain(ctx context.Context) {
	if w == nil {
		return
	}
	w.unannounce()
	if err := w.Drain(ctx); err != nil {
		w.x.log.Warn("the stream does not have the last records; the next start sends them", "error", err)
	} else if q := w.x.quorum; q != nil {
		q.over.Store(true) // no client is there; what the simulated market has done since is in the directory
		q.Ring()
	}
	w.done()
}
