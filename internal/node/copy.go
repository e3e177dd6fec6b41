package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// logName is the log's folder in a copy, as in a data directory, and the name with which its checksum chain begins.
const logName = "engine"

// saveEvery is the time between two syncs of a copy.
const saveEvery = time.Second

// ErrOffChain reports a copy, or a state, with other records than the stream. It is wrapped: use errors.Is.
var ErrOffChain = errors.New("node: the records are not those of this stream")

// Copy keeps the log of a stream in a directory, and the snapshots of it that the node takes. One goroutine uses it;
// the snapshots may be taken by another one, which uses Log.
type Copy struct {
	Identity wal.Identity // valid once the log is there

	dir  string
	log  *wal.Log // nil: it is not there yet
	lock interface{ Close() error }
	o    CopyOptions
	at   stream.State // behind the last message that was taken, or behind which the next one comes

	saver *saver // nil: nothing is to be saved
}

// Meets returns nil if the records of a message that counts continue those that end at own: the chains are equal where
// the message reaches the place. The zero Position is one before the first record of any exchange.
//
// Errors: ErrOffChain.
func Meets(own wal.Position, m *stream.Message) error {
	at := m.At
	switch {
	case at.Seq > own.Seq:
		return fmt.Errorf("%w: it has nothing between record %d, where this node is, and record %d", ErrOffChain,
			own.Seq, at.Seq)
	case own == (wal.Position{}):
		return nil
	}
	for _, record := range m.All() {
		if at.Seq == own.Seq {
			break
		}
		at = at.Next(record)
	}
	if at.Seq == own.Seq && at != own {
		return fmt.Errorf("%w: at record %d the chain of the stream is %016x, and this node's %016x", ErrOffChain,
			own.Seq,
			at.Chain, own.Chain)
	}
	return nil
}

// Take appends the records of the next message that counts, without those that the copy has already. at is the state
// of the stream behind the message. The first message of a stream that has all records begins the log.
//
// Errors: ErrOffChain.
func (c *Copy) Take(m *stream.Message, at stream.State) error {
	if c.log == nil {
		if err := c.create(m); err != nil {
			return err
		}
	}
	if at.History != c.Identity.History {
		return fmt.Errorf("%w: it is of another exchange", ErrOffChain)
	}
	if err := Meets(c.log.Position(), m); err != nil {
		return err
	}
	var batch [][]byte
	for pos, record := range m.All() {
		if pos > c.log.LastSeq() {
			batch = append(batch, record)
		}
	}
	if len(batch) > 0 {
		if _, err := c.log.Append(batch); err != nil {
			return err
		}
	}
	c.at = at
	return c.note()
}

// create makes a log for a stream that has all records.
func (c *Copy) create(m *stream.Message) (err error) {
	if m.Kind != stream.Base || m.At.Seq != 0 {
		return fmt.Errorf("%w: it begins behind record %d: a node begins with a snapshot there", ErrOffChain, m.At.Seq)
	}
	c.Identity.History = m.History
	if c.Identity.Directory, err = wal.NewID(rand.Reader); err != nil {
		return err
	}
	if err := c.o.Machine.FS.MkdirAll(c.LogDir()); err != nil {
		return err
	}
	c.log, err = wal.Create(c.o.Machine.FS, c.LogDir(), copyLogOptions(c.o.Log, c.Identity), wal.Position{})
	return err
}

// Adopt begins the copy, which has no log yet, behind a snapshot, which becomes its own.
func (c *Copy) Adopt(from *wal.SnapshotFile) (err error) {
	h, err := ParseHead(from.Meta)
	if err != nil {
		return err
	}
	c.Identity.History = from.Identity.History
	if c.Identity.Directory, err = wal.NewID(rand.Reader); err != nil {
		return err
	}
	o := copyLogOptions(c.o.Log, c.Identity)
	if err := wal.Adopt(c.o.Machine.FS, c.LogDir(), o, from, from.Meta.Head); err != nil {
		return err
	}
	if c.log, err = wal.Open(c.o.Machine.FS, c.LogDir(), o); err != nil {
		return err
	}
	c.at = h.Stream
	return c.note()
}

// Matches returns nil if the copy has what the writer of a stream that ends so must have (HasAll).
func (c *Copy) Matches(end wal.Position) error { return HasAll(c.log, end) }

// HasAll returns nil if a log has all records of a stream that ends so, and no other ones before its end. It may have
// more: its writer sends them.
//
// Errors: ErrOffChain; wal.ErrTruncated when the log begins behind the end.
func HasAll(log *wal.Log, end wal.Position) error {
	if log.LastSeq() < end.Seq {
		return fmt.Errorf("%w: it ends at record %d, and the stream at %d", ErrOffChain, log.LastSeq(), end.Seq)
	}
	own, err := positionOf(log, end.Seq)
	if err == nil && own != end {
		err = fmt.Errorf("%w: at record %d the chain of the stream is %016x, and this node's %016x", ErrOffChain,
			end.Seq, end.Chain, own.Chain)
	}
	return err
}

// Begun reports whether the copy has a log.
func (c *Copy) Begun() bool { return c.log != nil }

// Log returns the log, once it is there.
func (c *Copy) Log() *wal.Log { return c.log }

// LogOptions returns the options of the log.
func (c *Copy) LogOptions() wal.Options { return copyLogOptions(c.o.Log, c.Identity) }

// At returns the state of the stream behind which the copy goes on.
func (c *Copy) At() stream.State { return c.at }

// Dir returns the directory.
func (c *Copy) Dir() string { return c.dir }

// LogDir returns the directory of the log.
func (c *Copy) LogDir() string { return filepath.Join(c.dir, logName) }

// PositionAt returns the place of the log behind a record.
//
// Errors: wal.ErrTruncated.
func (c *Copy) PositionAt(seq uint64) (wal.Position, error) { return positionOf(c.log, seq) }

// copyLogOptions adds to the options of a log what the log of a copy has.
func copyLogOptions(o wal.Options, identity wal.Identity) wal.Options {
	o.NoLock, o.Name, o.Identity, o.MaxRecord = true, logName, identity, stream.MaxRecord
	return o
}

// saver makes a copy durable from time to time: first the log, then the file COPY, which says how far it is.
type saver struct {
	step.Background
	c   *Copy
	log *wal.Log

	mu    sync.Mutex
	at    stream.State
	upTo  wal.Position // end of the log
	saved stream.State // that COPY has
	err   error
}

// note tells the saver what the copy has. The first time it is made durable at once.
func (c *Copy) note() error {
	if c.lock == nil { // not opened by OpenCopy
		return nil
	}
	first := c.saver == nil
	if first {
		c.saver = &saver{Background: step.NewBackground(c.o.Machine.Driver, c.o.Machine.Clock.NowNs), c: c, log: c.log}
	}
	s := c.saver
	s.mu.Lock()
	s.at, s.upTo = c.at, c.log.Position()
	err := s.err
	s.mu.Unlock()
	if first {
		if err = s.save(); err != nil {
			c.saver = nil // it does not run, so nothing would end it
			return err
		}
		s.Run("copy", s)
	}
	return err
}

// Step saves the copy. It returns Stopped after End was called, with everything saved.
func (s *saver) Step() step.Progress {
	ends := s.Ended()
	if err := s.save(); err != nil {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
	}
	if ends {
		return step.Progress{Stopped: true}
	}
	return s.Idle(saveEvery)
}

// save syncs the log and stores the state that it reflects then.
func (s *saver) save() error {
	s.mu.Lock()
	at, end, saved, failed := s.at, s.upTo, s.saved, s.err
	s.mu.Unlock()
	if failed != nil || at == saved {
		return failed
	}
	if err := s.log.Sync(); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	state := CopyState{Identity: s.c.Identity, Genesis: s.c.o.Genesis, At: at, End: end}
	if err := WriteCopy(s.c.o.Machine.FS, s.c.dir, &state); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	s.mu.Lock()
	s.saved = at
	s.mu.Unlock()
	return nil
}

// Finish syncs and closes the log, and calls writeMeta with its end, which makes the directory a data directory.
func (c *Copy) Finish(writeMeta func(end wal.Position) error) error {
	end := c.log.Position()
	err := errors.Join(c.endSaver(), c.close())
	if err == nil {
		err = writeMeta(end)
	}
	if err == nil && c.lock != nil {
		err = c.o.Machine.FS.Remove(filepath.Join(c.dir, copyMark))
	}
	return errors.Join(err, c.unlock())
}

// Close closes the log of a copy that is not finished. The directory stays a copy.
func (c *Copy) Close() error { return errors.Join(c.endSaver(), c.close(), c.unlock()) }

// endSaver makes the copy durable a last time.
func (c *Copy) endSaver() error {
	if c.saver == nil {
		return nil
	}
	s := c.saver
	c.saver = nil
	s.End()
	return s.err
}

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
