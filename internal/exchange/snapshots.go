package exchange

import (
	"errors"
	"sync/atomic"
	"time"

	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/step"
	"tickhive/internal/wal"
)

// snapshotCheckEvery is the time between two checks whether a snapshot is due.
const snapshotCheckEvery = 200 * time.Millisecond

// snapshots takes snapshots of the market by log size and by time, on a goroutine or by a driver.
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
	s := &snapshots{background: newBackground(&x.o.Machine)}
	s.keeper = keeper.New(keeper.Options{
		Market: machine.Options{
			Engine: x.o.Engine, Market: x.o.Market, Skips: x.journal.skips, Launchpad: x.o.Launchpad, Hive: x.o.Hive,
		},
		Loop: x.loop, Core: x.core, Extras: x.extras(), KeepAll: x.o.Journal.KeepAll,
		Log: x.journal.log, Dir: x.journal.dir, Clock: x.o.Machine.Clock, Covered: x.journal.covered,
		SnapshotBytes: x.o.Journal.SnapshotBytes, SnapshotEvery: x.o.Journal.SnapshotEvery,
		Events: func() uint64 { return x.loop.Stats().Events.Load() },
		Began:  x.checkpoint,
		Ready:  x.accountsReached,
		Failed: func(err error) {
			s.failed.Add(1)
			x.log.Error("snapshot failed", "error", err)
			x.incident("snapshot", "a snapshot of the market failed; a start reads more of the journal until one "+
				"succeeds", err.Error())
		},
		Damaged: func(reason string) { x.incident("damage", "a damaged snapshot is passed over", reason) },
	})
	x.snapshots = s
	s.run("snapshots", s)
}

// accountsReached reports whether both retained snapshots of the accounts reflect the journal up to a position, and
// requests one otherwise.
func (x *Running) accountsReached(pos uint64) bool {
	if pos < x.accounts.store.RetainFrom() {
		return true
	}
	x.checkpoint()
	return false
}

// checkpoint takes a snapshot of the accounts. A recovery replays the market from a snapshot that the accounts'
// snapshot has passed, so the market takes no more snapshots until the accounts have taken theirs.
func (x *Running) checkpoint() {
	if errors.Is(x.accounts.failed(), wal.ErrStopped) {
		return // reported already
	}
	if err := x.accounts.checkpoint(); err != nil {
		x.log.Error("snapshot of the accounts failed", "error", err)
	}
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
