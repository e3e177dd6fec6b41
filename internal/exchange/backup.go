package exchange

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync/atomic"

	"tickhive/internal/backup"
	"tickhive/internal/datadir"
	"tickhive/internal/refuse"
	"tickhive/internal/wal"
	"tickhive/server/admin"
)

// backups takes backups of the running exchange, one at a time.
type backups struct{ busy atomic.Bool }

// backupBody yields a backup and ends it when it is closed.
type backupBody struct {
	*backup.Reader
	end func() error
}

// Close implements io.Closer.
func (b backupBody) Close() error { return errors.Join(b.Reader.Close(), b.end()) }

// backup begins a backup of the exchange. The caller must close the body.
func (f *front) backup() (body io.ReadCloser, size int64, refused *refuse.Refusal) {
	x := f.phase.Load().running
	if x == nil || x.journal == nil {
		return nil, 0, refuse.New(refuse.Conflict, "", "The exchange runs without a data directory: there is nothing "+
			"to back up.")
	}
	if !f.backups.busy.CompareAndSwap(false, true) {
		return nil, 0, refuse.New(refuse.Conflict, "", "A backup is under way: wait for its end.")
	}
	r, c, err := x.copyLog()
	if err != nil {
		f.backups.busy.Store(false)
		f.log.Error("backup failed", "error", err)
		return nil, 0, refuse.Later(1, "The backup cannot be taken now: %s.", err)
	}
	end := func() error {
		defer f.backups.busy.Store(false)
		return c.Close()
	}
	return backupBody{r, end}, r.Size(), nil
}

// logStats returns the figures of the logs, none before the loop runs.
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

// copyLog returns a backup at one point in time: the loop stands between two commands while the end of the log is
// marked.
func (x *Running) copyLog() (*backup.Reader, *wal.Copy, error) {
	c, err := wal.BeginCopy(x.journal.log)
	if err != nil {
		return nil, nil, err
	}
	r, err := x.backupOf(c)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return r, c, nil
}

func (x *Running) backupOf(c *wal.Copy) (*backup.Reader, error) {
	var clockNs int64
	if err := x.loop.Query(func() {
		clockNs = x.data.ClockNs()
		c.Mark()
	}); err != nil {
		return nil, fmt.Errorf("mark the end of the log: %w", err)
	}
	if err := c.Sync(); err != nil {
		return nil, err
	}
	list, end, err := c.Files()
	if err != nil {
		return nil, err
	}
	meta, clock, err := datadir.Backup(x.data, end, clockNs)
	if err != nil {
		return nil, err
	}
	files := []backup.File{backup.Bytes(backup.MetaName, meta)}
	if clock != nil {
		files = append(files, backup.Bytes("CLOCK", clock))
	}
	for _, f := range list {
		files = append(files, backup.File{Name: path.Join(datadir.LogName, f.Name), Size: f.Size, Open: f.Open})
	}
	return backup.NewReader(files)
}
