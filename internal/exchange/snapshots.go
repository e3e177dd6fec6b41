package exchange

import (
	"errors"
	"time"

	"tickhive/internal/step"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
)

// snapshotCheckEvery is the time between two checks whether a snapshot is due.
const snapshotCheckEvery = 200 * time.Millisecond

// snapshots takes snapshots of the market by log size and by time, on a goroutine or by a driver.
type snapshots struct {
	x      *Running
	keeper *replica.Keeper
	stop   chan struct{}
	done   chan struct{}
}

// keepSnapshots starts the snapshots of the running loop.
func (x *Running) keepSnapshots() {
	if x.journal == nil {
		return
	}
	s := &snapshots{x: x, stop: make(chan struct{}), done: make(chan struct{})}
	s.keeper = replica.NewKeeper(replica.KeeperOptions{
		Market: replica.Options{Engine: x.o.Engine, Market: x.o.Market, Skips: x.journal.skips},
		Loop:   x.loop, Core: x.core, Extras: x.extras(), KeepAll: x.o.Journal.KeepAll,
		Log: x.journal.log, Dir: x.journal.dir, Clock: x.o.Machine.Clock, Covered: x.journal.covered,
		SnapshotBytes: x.o.Journal.SnapshotBytes, SnapshotEvery: x.o.Journal.SnapshotEvery,
		Events: func() uint64 { return x.loop.Stats().Events.Load() },
		Began:  x.checkpoint,
		Ready: func(older uint64) bool {
			if older < x.accounts.store.RetainFrom() {
				return true
			}
			x.checkpoint()
			return false
		},
		Failed: func(err error) {
			x.log.Error("snapshot failed", "error", err)
			x.incident("snapshot", "a snapshot of the market failed: %v", err)
		},
	})
	x.snapshots = s
	if d := x.o.Machine.Driver; d != nil {
		d.Drive("snapshots", s)
		return
	}
	go s.run()
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

// run calls Step until end. When there is nothing to do, it waits snapshotCheckEvery.
func (s *snapshots) run() {
	ticker := time.NewTicker(snapshotCheckEvery)
	defer ticker.Stop()
	for {
		switch p := s.Step(); {
		case p.Stopped:
			return
		case p.Worked:
			continue
		}
		select {
		case <-s.stop:
		case <-ticker.C:
		}
	}
}

// Step continues the pending snapshot, or begins one that is due. After end was called it stops when no
// snapshot is pending.
func (s *snapshots) Step() step.Progress {
	if s.keeper.Step().Worked {
		return step.Worked()
	}
	select {
	case <-s.done:
		return step.Progress{Stopped: true}
	case <-s.stop:
		close(s.done)
		return step.Progress{Stopped: true}
	default:
		return step.Progress{NextNs: s.x.o.Machine.Clock.NowNs() + int64(snapshotCheckEvery)}
	}
}

// end waits for the pending snapshot and stops further ones.
func (s *snapshots) end() {
	if s == nil {
		return
	}
	close(s.stop)
	step.Wait(s.x.o.Machine.Driver, s.done)
}
