package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tickhive/internal/stream"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// Copy writes the records of a stream into the log of a directory. One goroutine uses it.
type Copy struct {
	Identity wal.Identity // valid once the log is there

	dir    string
	log    *wal.Log     // nil: it is not there yet
	end    wal.Position // of the records that were taken; the log of a continued copy may have more
	lock   io.Closer    // nil: the directory was not opened by OpenCopy
	o      CopyOptions
	keeper keeper
}

// NewCopy returns a copy in an empty or absent directory, which the caller has checked. o are the options of its log.
func NewCopy(dir string, o wal.Options) *Copy { return &Copy{dir: dir, o: CopyOptions{Log: o}} }

// Take appends the records of the next message that counts, without those that the copy has already. The base message,
// which must be the first one, begins the log.
//
// Errors: ErrOffChain.
func (c *Copy) Take(m *stream.Message) error {
	if m.Kind == stream.Base && c.log == nil {
		if m.Start != 0 {
			return errors.New("the stream does not begin with the first record")
		}
		return c.create(m.History, wal.Position{})
	}
	var batch [][]byte
	for pos, record := range m.All() {
		switch last := c.log.LastSeq(); {
		case pos <= c.end.Seq:
		case pos <= last:
			if c.end = c.end.Next(record); pos == last && c.end != c.log.Position() {
				return fmt.Errorf("%w: it has another record %d", ErrOffChain, pos)
			}
		default:
			batch = append(batch, record)
		}
	}
	if len(batch) > 0 {
		if _, err := c.log.Append(batch); err != nil {
			return err
		}
		c.end = c.log.Position()
	}
	return c.keeper.failed()
}

// BeginAt makes the log behind a snapshot: it has no records before it. It is called before the first Take.
func (c *Copy) BeginAt(h *Head) error { return c.create(h.At.History, h.End()) }

// Restore makes the log behind a snapshot and keeps it as the log's.
func (c *Copy) Restore(from *Snapshot) error {
	if err := c.BeginAt(&from.Head); err != nil {
		return err
	}
	return c.Snapshot(from.copyBody)
}

// create makes a log whose first record comes behind a position.
func (c *Copy) create(history wal.ID, behind wal.Position) (err error) {
	c.Identity.History = history
	if c.Identity.Directory, err = wal.NewID(rand.Reader); err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	o := copyLogOptions(c.o.Log, c.Identity)
	if c.log, err = wal.Create(vfs.OS{}, filepath.Join(c.dir, logName), o, behind); err != nil {
		return err
	}
	c.end = c.log.Position()
	return nil
}

// copyLogOptions adds to the options of a log what the log of a copy has.
func copyLogOptions(o wal.Options, identity wal.Identity) wal.Options {
	o.NoLock, o.Name, o.Identity, o.MaxRecord = true, logName, identity, stream.MaxRecord
	return o
}

// Snapshot syncs the log and writes a snapshot of its last record; of a log without records, one of record 0.
func (c *Copy) Snapshot(write func(w io.Writer) error) error {
	if err := c.log.Sync(); err != nil {
		return err
	}
	return c.log.WriteSnapshot(wal.SnapshotMeta{Seq: c.log.LastSeq()}, write)
}

// Reaches returns an error unless the copy has exactly the records of a stream whose log ends so.
//
// Errors: ErrOffChain.
func (c *Copy) Reaches(end wal.Position) error {
	if at := c.log.Position(); at != end || at != c.end {
		return fmt.Errorf("%w: it ends at record %d, and the stream at %d", ErrOffChain, at.Seq, end.Seq)
	}
	return nil
}

// Finish syncs and closes the log, and calls writeMeta with its end, which makes the directory a data directory.
func (c *Copy) Finish(writeMeta func(end wal.Position) error) error {
	end := c.log.Position()
	err := errors.Join(c.keeper.finish(c), c.close())
	if err == nil {
		err = writeMeta(end)
	}
	if err == nil && c.lock != nil {
		err = os.Remove(filepath.Join(c.dir, copyMark))
	}
	return errors.Join(err, c.unlock())
}

// Close closes the log of a copy that is not finished. The directory stays a copy.
func (c *Copy) Close() error { return errors.Join(c.keeper.finish(c), c.close(), c.unlock()) }

func (c *Copy) close() error {
	if c.log == nil {
		return nil
	}
	log := c.log
	c.log = nil
	return log.Close()
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
