package exchange

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync/atomic"

	"tickhive/internal/backup"
	"tickhive/internal/datadir"
	"tickhive/internal/mirror"
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
	var logs copies
	end := func() error {
		defer f.backups.busy.Store(false)
		return logs.close()
	}
	r, err := x.copyLogs(&logs)
	if err != nil {
		err = errors.Join(err, end())
		f.log.Error("backup failed", "error", err)
		return nil, 0, refuse.Later(1, "The backup cannot be taken now: %s.", err)
	}
	return backupBody{r, end}, r.Size(), nil
}

// copies holds the copies of the four logs, in the order in which Mark is called.
type copies []logCopy

type logCopy struct {
	name string
	*wal.Copy
}

func (c copies) close() error {
	var errs []error
	for _, l := range c {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// logs returns the logs of a stored exchange, in the order of stream.Log.
func (x *restored) logs() []mirror.NamedLog {
	return []mirror.NamedLog{
		{Name: "engine", Log: x.journal.log},
		{Name: "accounts", Log: x.accounts.store.Log()},
	}
}

// logStats returns the figures of the logs, none before the loop runs.
func (f *front) logStats() (out []admin.LogStat) {
	x := f.phase.Load().running
	if x == nil || x.journal == nil {
		return nil
	}
	for _, l := range x.logs() {
		s := admin.LogStat{
			Log: l.Name, Bytes: l.Log.BytesWritten(), Last: l.Log.LastSeq(), Durable: l.Log.DurableSeq(),
			Figures: wal.FiguresOf(l.Log), Replay: l.Log.BytesSince(wal.NewestSnapshot(l.Log)),
		}
		if l.Name == "engine" {
			s.SnapshotFailures = x.snapshots.failed.Load() // also those that fail before anything is written
		}
		for _, seg := range l.Log.Segments() {
			s.Segments++
			s.DiskBytes += seg.Bytes
		}
		out = append(out, s)
	}
	return out
}

// copyLogs returns a backup at one point in time. The loop stands between two commands while the ends of the logs
// are marked, so the market's journal ends with what the accounts have folded. The accounts are marked before the
// journal that their records refer to: every record that a marked record needs is in the backup, and so is everything
// that was acknowledged before.
//
// The snapshots are opened in the opposite order and before the marks: the accounts' snapshot reflects the market at
// least up to the market's older snapshot, as in the directory.
func (x *Running) copyLogs(logs *copies) (*backup.Reader, error) {
	for _, l := range x.logs() {
		c, err := wal.BeginCopy(l.Log)
		if err != nil {
			return nil, err
		}
		*logs = append(*logs, logCopy{l.Name, c})
	}
	var clockNs int64
	if err := x.loop.Query(func() {
		clockNs = x.data.ClockNs()
		for i := len(*logs) - 1; i >= 0; i-- {
			(*logs)[i].Mark()
		}
	}); err != nil {
		return nil, fmt.Errorf("mark the end of the logs: %w", err)
	}
	ends := map[string]wal.Position{}
	var files []backup.File
	for _, l := range *logs {
		if err := l.Sync(); err != nil {
			return nil, err
		}
		list, at, err := l.Files()
		if err != nil {
			return nil, err
		}
		ends[l.name] = at
		for _, f := range list {
			files = append(files, backup.File{Name: path.Join(l.name, f.Name), Size: f.Size, Open: f.Open})
		}
	}
	meta, clock, err := datadir.Backup(x.data, ends, clockNs)
	if err != nil {
		return nil, err
	}
	first := []backup.File{backup.Bytes(backup.MetaName, meta)}
	if clock != nil {
		first = append(first, backup.Bytes("CLOCK", clock))
	}
	return backup.NewReader(append(first, files...))
}
