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

// CopyLog is the name of a log's folder and the options of its files.
type CopyLog struct {
	Name    string
	Options wal.Options
}

// Copy writes the records of a stream into the four logs of a directory. One goroutine uses it.
type Copy struct {
	Identity wal.Identity // valid once the logs are there

	dir    string
	layout [stream.Logs]CopyLog // in the order of stream.Log
	logs   [stream.Logs]*wal.Log
	ends   Chains    // of the records that were taken; the logs of a continued copy may have more
	lock   io.Closer // nil: the directory was not opened by OpenCopy
	o      CopyOptions
	keeper keeper
}

// NewCopy returns a copy in an empty or absent directory, which the caller has checked.
func NewCopy(dir string, layout [stream.Logs]CopyLog) *Copy { return &Copy{dir: dir, layout: layout} }

// Take appends the records of the next message that counts, without those that the copy has already. The base message,
// which must be the first one, begins the logs.
//
// Errors: ErrOffChain.
func (c *Copy) Take(m *stream.Message) error {
	if m.Kind == stream.Base && c.logs[0] == nil {
		return c.begin(m)
	}
	var batches [stream.Logs][][]byte
	for at, record := range m.All() {
		i := at.Log - 1
		switch l := c.logs[i]; {
		case at.Pos <= c.ends[i].Seq:
		case at.Pos <= l.LastSeq():
			if c.ends[i] = c.ends[i].Next(record); at.Pos == l.LastSeq() && c.ends[i] != l.Position() {
				return fmt.Errorf("%w: it has another record %d of the log %s", ErrOffChain, at.Pos, c.layout[i].Name)
			}
		default:
			batches[i] = append(batches[i], record)
		}
	}
	for i, batch := range batches {
		if len(batch) == 0 {
			continue
		}
		if _, err := c.logs[i].Append(batch); err != nil {
			return err
		}
		c.ends[i] = c.logs[i].Position()
	}
	return c.keeper.failed()
}

// begin makes the logs of a copy whose stream has every record from the first one on.
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
		c.ends[i] = c.logs[i].Position()
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

// Reaches returns an error unless the copy has exactly the records behind which a node has these chains.
//
// Errors: ErrOffChain.
func (c *Copy) Reaches(chains *Chains) error {
	for i, l := range c.logs {
		if at := l.Position(); at != chains[i] || at != c.ends[i] {
			return fmt.Errorf("%w: its log %s ends at record %d, and the stream at %d", ErrOffChain, c.layout[i].Name,
				at.Seq, chains[i].Seq)
		}
	}
	return nil
}

// Finish syncs and closes the logs, and calls writeMeta with their ends, which makes the directory a data directory.
func (c *Copy) Finish(writeMeta func(ends map[string]wal.Position) error) error {
	err := c.keeper.end(c)
	ends, closing := c.close()
	err = errors.Join(err, closing)
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
	err := c.keeper.end(c)
	_, closing := c.close()
	return errors.Join(err, closing, c.unlock())
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
