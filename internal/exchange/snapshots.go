package exchange

import (
	"sync/atomic"
	"time"

	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/step"
)

// snapshotCheckEvery is the time between two checks whether a snapshot is due.
const snapshotCheckEvery = 200 * time.Millisecond

// snapshots takes snapshots by log size and by time, on a goroutine or by a driver.
type snapshots struct {
	background
	keeper *keeper.Keeper
	failed atomic.Uint64
}

// keepSnapshots starts the snapshots of the running loop.
func (x *Running) keepSnapshots() {
	if x.journal == nil {
		return
	}
	x.snapshots = x.newSnapshots()
	x.snapshots.run("snapshots", x.snapshots)
}

func (x *Running) newSnapshots() *snapshots {
	s := &snapshots{background: newBackground(&x.o.Machine)}
	s.keeper = keeper.New(keeper.Options{
		Market: machine.Options{
			Engine: x.o.Engine, Market: x.o.Market, Skips: x.journal.skips, Secrets: x.secrets,
		},
		Loop: x.loop, Core: x.core, Extras: x.extras(), KeepAll: x.o.Journal.KeepAll,
		Log: x.journal.log, Dir: x.journal.dir, Clock: x.o.Machine.Clock,
		Covered: x.journal.covered, CoveredBytes: x.journal.coveredBytes,
		SnapshotBytes: x.o.Journal.SnapshotBytes, SnapshotEvery: x.o.Journal.SnapshotEvery,
		Events: func() uint64 { return x.loop.Stats().Events.Load() },
		Failed: func(err error) {
			s.failed.Add(1)
			x.log.Error("snapshot failed", "error", err)
			x.incident("snapshot", "a snapshot failed; a start reads more of the journal until one "+
				"succeeds", err.Error())
		},
		Damaged: func(reason string) { x.incident("damage", "a damaged snapshot is passed over", reason) },
	})
	return s
}

// Step continues the pending snapshot, or begins one that is due. After end was called it stops when no
// snapshot is pending.
func (s *snapshots) Step() step.Progress {
	if s.keeper.Step().Worked {
		return step.Worked()
	}
	if s.ended() {
		return step.Progress{Stopped: true}
	}
	return s.idle(snapshotCheckEvery)
}
