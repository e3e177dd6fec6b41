package exchange

import (
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/step"
	log "github.com/tickhive/tickhive/internal/stream"
)

// snapshotCheckEvery is the time between two checks whether a snapshot is due.
const snapshotCheckEvery = 200 * time.Millisecond

// snapshots takes snapshots by log size and by time, on a goroutine or by a driver.
type snapshots struct {
	step.Background
	keeper *keeper.Keeper
	failed atomic.Uint64
}

// keepSnapshots starts the snapshots of the running loop.
func (x *Running) keepSnapshots() {
	if x.journal == nil {
		return
	}
	x.snapshots = x.newSnapshots()
	x.snapshots.Run("snapshots", x.snapshots)
}

func (x *Running) newSnapshots() *snapshots {
	return x.snapshotsOf("journal", keeper.Options{
		Market: machine.Options{Skips: x.journal.skips},
		Loop:   x.loop, Digest: x.agents.state.Digest, Log: x.journal.log, Dir: x.journal.dir,
		Covered: x.journal.covered, CoveredBytes: x.journal.coveredBytes,
		Events:  func() uint64 { return x.loop.Stats().Events.Load() },
		Reached: x.snapshotsTo(),
		Head: func(pos uint64) ([]byte, error) {
			ledger, _ := x.agents.Views()
			at := x.streamBefore(pos)
			writer, err := x.writerOf(at)
			if err != nil {
				return nil, err
			}
			return x.head(ledger, at, writer)
		},
	})
}

// snapshotsOf completes the options of a keeper by what a writer and a copy have in common. name is what a start reads.
func (b *base) snapshotsOf(name string, o keeper.Options) *snapshots {
	s := &snapshots{Background: b.o.Machine.background()}
	o.Market.Engine, o.Market.Market, o.Market.Secrets = b.o.Engine, b.o.Market, b.secrets
	o.Extras, o.KeepAll, o.Clock = b.extras(), b.o.Journal.Keep == KeepAll, b.o.Machine.Clock
	o.SnapshotBytes, o.SnapshotEvery = b.o.Journal.SnapshotBytes, time.Duration(b.o.Journal.SnapshotEvery)
	o.Failed = func(err error) {
		s.failed.Add(1)
		b.log.Error("snapshot failed", "error", err)
		b.incident("snapshot", "a snapshot failed; a start reads more of the "+name+" until one succeeds", err.Error())
	}
	o.Damaged = func(reason string) { b.incident("damage", "a damaged snapshot is passed over", reason) }
	s.keeper = keeper.New(o)
	return s
}

// streamBefore returns the newest state of the stream whose records all are at or before a position; the zero State:
// none is known.
func (x *Running) streamBefore(pos uint64) (at log.State) {
	if w := x.stream.Load(); w != nil {
		at = w.Before(pos)
	}
	return at
}

// writerOf returns what the term record of a state of the stream tells, nil if the term is not this node's.
func (x *Running) writerOf(at log.State) ([]byte, error) {
	w := x.stream.Load()
	if w == nil {
		return nil, nil
	}
	if _, now := w.term.Status(); now.Term != at.Term || at.Term == 0 {
		return nil, nil
	}
	return x.termRecord()
}

// snapshotsTo returns what limits the position of a snapshot: what the stream has acknowledged, with quorum.
func (x *Running) snapshotsTo() func() uint64 {
	if x.quorum == nil {
		return nil
	}
	return x.quorum.snapshots
}

// Step continues the pending snapshot, or begins one that is due. After end was called it stops when no
// snapshot is pending.
func (s *snapshots) Step() step.Progress {
	if s.keeper.Step().Worked {
		return step.Worked()
	}
	if s.Ended() {
		return step.Progress{Stopped: true}
	}
	return s.Idle(snapshotCheckEvery)
}
