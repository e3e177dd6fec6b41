package exchange

import (
	"errors"
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/server/admin"
)

// maxTransfers is the number of snapshots that are sent at the same time.
const maxTransfers = 4

// transfers counts the snapshots that clients read.
type transfers struct{ open atomic.Int64 }

// transfer is a snapshot file that a client reads.
type transfer struct {
	vfs.File
	end func()
}

// Close implements io.Closer.
func (t transfer) Close() error {
	defer t.end()
	return t.File.Close()
}

// keeping returns the snapshots of the directory of this node and their log, nil if it has no directory.
func (f *front) keeping() (s *snapshots, log *wal.Log, refused *refuse.Refusal) {
	switch v := f.phase.Load(); {
	case v.running != nil && v.running.snapshots != nil:
		return v.running.snapshots, v.running.journal.log, nil
	case v.follows != nil && v.follows.o.Follow.Copy != nil:
		y := v.follows
		if err := y.Query(func() {}); err != nil {
			return nil, nil, refuse.New(refuse.Conflict, "", "The state of this node differs from the writer's, so it "+
				"gives no snapshot: ask another node.")
		}
		if s := y.keeps; s != nil {
			return s, y.o.Follow.Copy.Log(), nil
		}
		return nil, nil, refuse.Later(1, "The node has no record yet.")
	case v.running == nil && v.follows == nil:
		return nil, nil, refuse.Later(1, "The node is starting.")
	}
	return nil, nil, refuse.New(refuse.Conflict, "", "This node has no directory, so it keeps no snapshot: ask the "+
		"writer, a standby, or a replica that was started with --data-dir.")
}

// snapshot opens the newest snapshot on the disk for a transfer; fresh takes one first.
func (f *front) snapshot(fresh bool) (*admin.Snapshot, *refuse.Refusal) {
	s, log, refused := f.keeping()
	if refused != nil {
		return nil, refused
	}
	if f.transfers.open.Add(1) > maxTransfers {
		f.transfers.open.Add(-1)
		return nil, refuse.New(refuse.Conflict, "", "%d snapshots are being read: wait for the end of one.",
			maxTransfers).After(1)
	}
	end := func() { f.transfers.open.Add(-1) }
	if fresh {
		if err := s.keeper.Snapshot(); err != nil {
			end()
			return nil, refuse.Later(1, "The snapshot cannot be taken now: %v.", err)
		}
	}
	file, meta, size, err := log.ReadNewest()
	if err != nil || file == nil {
		end()
	}
	switch {
	case err != nil:
		f.log.Error("the snapshot cannot be read", "error", err)
		return nil, refuse.Later(1, "The snapshot cannot be read now: see the log of the node.")
	case file == nil:
		return nil, refuse.New(refuse.Conflict, "", "There is no snapshot yet: ?fresh=true takes one.")
	}
	h, err := node.ParseHead(meta)
	if err != nil {
		end()
		f.log.Error("the snapshot cannot be read", "error", errors.Join(err, file.Close()))
		return nil, refuse.Later(1, "The snapshot cannot be read now: see the log of the node.")
	}
	return &admin.Snapshot{
		Tag: node.SnapshotTag(&meta), Size: size, Message: h.Stream.Valid, Body: transfer{file, end},
	}, nil
}

// logStats returns the figures of the log, none before the loop runs.
func (f *front) logStats() (out []admin.LogStat) {
	x := f.phase.Load().running
	if x == nil || x.journal == nil {
		return nil
	}
	log := x.journal.log
	s := admin.LogStat{
		Log: datadir.LogName, Bytes: log.BytesWritten(), Last: log.LastSeq(), Durable: log.DurableSeq(),
		Figures: wal.FiguresOf(log), Replay: log.BytesSince(wal.NewestSnapshot(log)),
	}
	s.SnapshotFailures = x.snapshots.failed.Load() // also those that fail before anything is written
	for _, seg := range log.Segments() {
		s.Segments++
		s.DiskBytes += seg.Bytes
	}
	return []admin.LogStat{s}
}
