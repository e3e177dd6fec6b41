package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tickhive/internal/stream"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// CopyLog is the name of a log's folder and the options of its files.
type CopyLog struct {
	Name    string
	Options wal.Options
}

// copyMark is the file that marks the directory of a copy. Its content tells an operator what the directory is.
const copyMark = "COPY"

const copyText = "Copy of an exchange that a standby keeps. Each start of the standby makes it again.\n" +
	"It becomes a data directory when the standby takes over. No data are lost with it.\n"

// Copy writes the records of a stream into the four logs of a directory.
type Copy struct {
	Identity wal.Identity // valid after the base message

	dir    string
	layout [stream.Logs]CopyLog // in the order of stream.Log
	logs   [stream.Logs]*wal.Log
	lock   io.Closer // nil: the directory was not opened by OpenCopy
}

// NewCopy returns a copy in an empty or absent directory, which the caller has checked.
func NewCopy(dir string, layout [stream.Logs]CopyLog) *Copy { return &Copy{dir: dir, layout: layout} }

// IsCopy reports whether a directory is the copy of a standby.
func IsCopy(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, copyMark))
	return err == nil
}

// OpenCopy locks a directory, removes what an earlier copy has left there, and returns a new copy. The directory may
// have the files other, which stay.
//
// Errors: *vfs.LockedError; a directory with further files is refused.
func OpenCopy(dir string, layout [stream.Logs]CopyLog, other ...string) (*Copy, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := vfs.OS{}.Lock(filepath.Join(dir, "LOCK"), vfs.Self())
	if err != nil {
		return nil, err
	}
	c := NewCopy(dir, layout)
	c.lock = lock
	if err := c.empty(other); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return c, nil
}

// empty removes what an earlier copy has left, and marks the directory.
func (c *Copy) empty(other []string) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	known := append([]string{"LOCK", copyMark}, other...)
	mine := func(name string) bool { return name == "LOCK" || slices.Contains(other, name) }
	for _, l := range c.layout {
		known = append(known, l.Name)
	}
	marked := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == copyMark })
	for _, e := range entries {
		if !mine(e.Name()) && !marked || !slices.Contains(known, e.Name()) {
			return fmt.Errorf("%s has %s and is no copy of a standby: name another directory", c.dir, e.Name())
		}
	}
	for _, l := range c.layout {
		if err := os.RemoveAll(filepath.Join(c.dir, l.Name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(c.dir, copyMark), []byte(copyText), 0o600)
}

// Take appends the records of the next message that counts. The base message, which must be the first one, begins the
// logs.
func (c *Copy) Take(m *stream.Message) error {
	if m.Kind == stream.Base {
		return c.begin(m)
	}
	var batches [stream.Logs][][]byte
	for at, record := range m.All() {
		batches[at.Log-1] = append(batches[at.Log-1], record)
	}
	for i, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		if _, err := c.logs[i].Append(batch); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the logs. The stream has every record from the first one on.
func (c *Copy) begin(m *stream.Message) error {
	if m.Start != (stream.Positions{}) {
		return errors.New("the stream does not begin with the first records")
	}
	return c.create(m.History, stream.Positions{}, [stream.Logs]uint64{})
}

// BeginAt makes the logs behind a snapshot: they have no records before it. It is called before the first Take.
func (c *Copy) BeginAt(h *Head) error { return c.create(h.At.History, h.At.Pos, h.Chains) }

// Restore makes the logs behind a snapshot and keeps it as the snapshot of each log.
func (c *Copy) Restore(from *Snapshot) error {
	if err := c.BeginAt(&from.Head); err != nil {
		return err
	}
	reflects := from.Reflects
	for _, log := range inOrder {
		err := c.Snapshot(log, reflects[log-1], func(w io.Writer) error {
			if log == stream.Engine {
				return from.Market(func(body io.Reader) error {
					_, err := io.Copy(w, body)
					return err
				})
			}
			_, err := w.Write(from.Store(log))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// create makes logs whose first records come behind the positions.
func (c *Copy) create(history wal.ID, behind stream.Positions, chains [stream.Logs]uint64) (err error) {
	c.Identity.History = history
	if c.Identity.Directory, err = wal.NewID(rand.Reader); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	for i, l := range c.layout {
		o := l.Options
		o.NoLock, o.Name, o.Identity, o.MaxRecord = true, l.Name, c.Identity, stream.MaxRecord
		from := wal.Position{Seq: behind[i], Chain: chains[i]}
		if c.logs[i], err = wal.Create(vfs.OS{}, filepath.Join(c.dir, l.Name), o, from); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot syncs a log and writes a snapshot of its last record. reflects is as in wal.SnapshotMeta. A log without
// records gets one of record 0: it says which record of the market its state reflects.
func (c *Copy) Snapshot(log stream.Log, reflects uint64, write func(w io.Writer) error) error {
	l := c.logs[log-1]
	if err := l.Sync(); err != nil {
		return err
	}
	return l.WriteSnapshot(wal.SnapshotMeta{Seq: l.LastSeq(), Reflects: reflects}, write)
}

// Last returns the number of the last record of a log, 0 before the base message.
func (c *Copy) Last(log stream.Log) uint64 {
	if l := c.logs[log-1]; l != nil {
		return l.LastSeq()
	}
	return 0
}

// Chains returns the checksum chain of each log behind its last record.
func (c *Copy) Chains() (chains [stream.Logs]uint64) {
	for i, l := range c.logs {
		if l != nil {
			chains[i] = l.Position().Chain
		}
	}
	return chains
}

// Finish syncs and closes the logs, and calls writeMeta with their ends, which makes the directory a data directory.
func (c *Copy) Finish(writeMeta func(ends map[string]wal.Position) error) error {
	ends, err := c.close()
	if err == nil {
		err = writeMeta(ends)
	}
	if err == nil && c.lock != nil {
		err = os.Remove(filepath.Join(c.dir, copyMark))
	}
	return errors.Join(err, c.unlock())
}

// Close closes the logs of a copy that is not finished. The directory stays a copy.
func (c *Copy) Close() error {
	_, err := c.close()
	return errors.Join(err, c.unlock())
}

func (c *Copy) close() (ends map[string]wal.Position, err error) {
	ends = map[string]wal.Position{}
	for i, l := range c.logs {
		if l != nil {
			err = errors.Join(err, l.Close())
			ends[c.layout[i].Name] = l.Position()
			c.logs[i] = nil
		}
	}
	return ends, err
}

func (c *Copy) unlock() error {
	if c.lock == nil {
		return nil
	}
	lock := c.lock
	c.lock = nil
	return lock.Close()
}

// Dir returns the directory.
func (c *Copy) Dir() string { return c.dir }
