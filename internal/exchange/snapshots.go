package exchange

import (
	"time"

	"tickhive/marketdata/replica"
)

// snapshotCheckEvery is the time between two checks for a snapshot that is due.
const snapshotCheckEvery = 200 * time.Millisecond

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
		ticker := time.NewTicker(snapshotCheckEvery)
		defer ticker.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
			}
			for s.keeper.Step().Worked {
			}
		}
	}()
}

// end waits for a snapshot under way and stops taking more.
func (s *snapshots) end() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.done
}
