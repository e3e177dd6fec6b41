package exchange

import (
	"time"

	"tickhive/marketdata/replica"
)

// snapshotLook is the time between two checks whether a snapshot is due.
const snapshotLook = 200 * time.Millisecond

// snapshots is the goroutine that takes snapshots of the market by log size and by time.
type snapshots struct {
	keeper *replica.Keeper
	stop   chan struct{}
	done   chan struct{}
}

// keepSnapshots starts the snapshots of the running loop.
func (x *Running) keepSnapshots() {
	if x.journal == nil {
		return
	}
	s := &snapshots{stop: make(chan struct{}), done: make(chan struct{})}
	s.keeper = replica.NewKeeper(replica.KeeperOptions{
		Market: replica.Options{Engine: x.o.Engine, Market: x.o.Market, Skips: x.journal.skips},
		Loop:   x.loop, Extras: x.extras(), KeepAll: x.o.Journal.KeepAll,
		Log: x.journal.log, Dir: x.journal.dir, Covered: x.journal.covered,
		SnapshotBytes: x.o.Journal.SnapshotBytes, SnapshotEvery: x.o.Journal.SnapshotEvery,
		Taken: func() {
			if err := x.accounts.checkpoint(); err != nil {
				x.log.Error("snapshot of the accounts failed", "error", err)
			}
		},
		Failed: func(err error) {
			x.log.Error("snapshot failed", "error", err)
			x.incident("snapshot", "a snapshot of the market failed: %v", err)
		},
	})
	x.snapshots = s
	go func() {
		defer close(s.done)
		ticker := time.NewTicker(snapshotLook)
		defer ticker.Stop()
		failing := false
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
			}
			failing = x.lookAtStores(failing)
			for s.keeper.Step().Worked {
			}
		}
	}()
}

// lookAtStores reports an incident when a store has stopped accepting changes, and another one
// when all accept them again. It returns whether one does not.
func (x *Running) lookAtStores(failing bool) bool {
	err := x.front.storesFailed()
	switch {
	case err != nil && !failing:
		x.log.Error("a store takes no changes", "error", err)
		x.incident("store", "a store takes no changes; the log says why")
	case err == nil && failing:
		x.incident("store", "every store takes changes again")
	}
	return err != nil
}

// end waits for a snapshot under way and stops taking more.
func (s *snapshots) end() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.done
}
