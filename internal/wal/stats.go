package wal

import (
	"sync/atomic"

	"tickhive/internal/clock"
	"tickhive/internal/vfs"
)

// figures counts for metrics. Any goroutine.
type figures struct {
	syncs          clock.Histogram
	snapshots      clock.Histogram
	snapshotBytes  atomic.Int64
	snapshotNs     atomic.Int64
	failedSnapshot atomic.Uint64
}

// Figures are measurements of an open log.
type Figures struct {
	// Syncs are the syncs of segments and of the names in their directory, without the waiting for the one before.
	Syncs clock.Counts
	// Snapshots are the ones written since Open.
	Snapshots clock.Counts
	// SnapshotFailures is the number of snapshots that could not be written.
	SnapshotFailures uint64
	// SnapshotBytes is the size of the newest snapshot, and SnapshotNs its time by the log's clock; 0: there is none.
	SnapshotBytes, SnapshotNs int64
}

// FiguresOf returns the figures of a log since Open. Any goroutine.
func FiguresOf(l *Log) Figures {
	f := &l.figures
	return Figures{
		Syncs: f.syncs.Counts(), Snapshots: f.snapshots.Counts(), SnapshotFailures: f.failedSnapshot.Load(),
		SnapshotBytes: f.snapshotBytes.Load(), SnapshotNs: f.snapshotNs.Load(),
	}
}

// noteSnapshot reads size and time of the newest snapshot that Open found. A file that cannot be read has none; the
// recovery reports it.
func (f *figures) noteSnapshot(fsys vfs.FS, name string) {
	file, err := fsys.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	var head [headerBytes]byte
	size, err := file.Size()
	if n, readErr := file.ReadAt(head[:], 0); err == nil && readErr == nil {
		if h, reason := parseHeader(snapshotMagic, SnapshotVersion, head[:n]); reason == "" {
			f.snapshotBytes.Store(size)
			f.snapshotNs.Store(h.createdNs)
		}
	}
}
