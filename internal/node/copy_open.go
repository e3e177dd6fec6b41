package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/stream"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// copyMark is the file that marks the directory of a copy. It has a CopyState.
const copyMark = "COPY"

const copyText = "Copy of an exchange that a node keeps. A standby that takes over makes it a data directory, and so " +
	"does: tickhive stream restore NEW --from-dir DIR"

// maxAside is the number of copies that may be put aside.
const maxAside = 8

// ErrOffChain reports a copy with other records than the stream. It is wrapped: use errors.Is.
var ErrOffChain = errors.New("node: the copy is not one of this stream")

// CopyState says how far a copy is durable.
type CopyState struct {
	Text     string       `json:"text"` // for people
	Identity wal.Identity `json:"identity"`
	Genesis  Genesis      `json:"genesis"`
	At       stream.State `json:"at"` // behind a message that counts; At.Seq is 0: the copy is empty
	End      wal.Position `json:"end"`
}

// CopyOptions describe the copy of a node.
type CopyOptions struct {
	Log     wal.Options // of the copy's log
	Genesis Genesis     // of the stream
	Other   []string    // files of the directory that are not the copy's
	// Aside hears where a copy was put that the node cannot continue, and why.
	Aside func(to string, why error)
}

// IsCopy reports whether a directory is the copy of a node.
func IsCopy(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, copyMark))
	return err == nil
}

// OpenCopy locks a directory and returns its copy, which Join compares with the stream. A copy that cannot be
// continued is put aside, and the new one is empty.
//
// Errors: *vfs.LockedError; a directory with further files is refused.
func OpenCopy(dir string, o CopyOptions) (*Copy, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := vfs.OS{}.Lock(filepath.Join(dir, "LOCK"), vfs.Self())
	if err != nil {
		return nil, err
	}
	c := &Copy{dir: dir, lock: lock, o: o}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.close(), c.unlock())
	}
	return c, nil
}

// open continues the copy that is in the directory, or puts it aside.
func (c *Copy) open() error {
	marked, err := c.onlyMine()
	if err != nil {
		return err
	}
	if marked {
		state, err := readCopyState(c.dir)
		if err == nil && state.At.Seq > 0 {
			if err = c.resume(&state); err == nil {
				c.keeper.note(state.At, state.End)
				c.keeper.begin(c)
				return nil
			}
		}
		if err != nil {
			return c.SetAside(err)
		}
	}
	return c.empty()
}

// onlyMine reports whether the directory is marked as a copy, and refuses files that are not the copy's.
func (c *Copy) onlyMine() (marked bool, err error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return false, err
	}
	known := append([]string{"LOCK", copyMark, copyMark + temporaryExt, logName}, c.o.Other...)
	mine := func(name string) bool { return name == "LOCK" || slices.Contains(c.o.Other, name) }
	marked = IsCopy(c.dir)
	for _, e := range entries {
		if !mine(e.Name()) && !marked || !slices.Contains(known, e.Name()) {
			return marked, fmt.Errorf("%s has %s and is no copy of a node: name another directory", c.dir, e.Name())
		}
	}
	return marked, nil
}

// empty removes the log of a copy that was not begun, and marks the directory.
func (c *Copy) empty() error {
	if err := os.RemoveAll(filepath.Join(c.dir, logName)); err != nil {
		return err
	}
	return c.writeState(&CopyState{Genesis: c.o.Genesis})
}

// resume opens the log. It reaches the state at least, with its chain.
func (c *Copy) resume(s *CopyState) (err error) {
	if s.Genesis != c.o.Genesis {
		return fmt.Errorf("%w: it is of the epoch %s, or of another exchange", ErrOffChain, s.Genesis.Epoch)
	}
	c.Identity, c.end = s.Identity, s.End
	c.log, err = wal.Open(vfs.OS{}, filepath.Join(c.dir, logName), s.LogOptions(c.o.Log))
	return err
}

// LogOptions adds to the options of a log what the log of a copy with the state has.
func (s *CopyState) LogOptions(o wal.Options) wal.Options {
	o = copyLogOptions(o, s.Identity)
	o.Known = &wal.Known{Position: s.End}
	return o
}

// SetAside moves the copy to a directory beside its own, and begins an empty one. why is reported.
func (c *Copy) SetAside(why error) error {
	if err := errors.Join(c.keeper.finish(c), c.close()); err != nil {
		return err
	}
	parent, name := filepath.Split(filepath.Clean(c.dir))
	entries, err := os.ReadDir(filepath.Join(parent, "."))
	if err != nil {
		return err
	}
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+asideMiddle) {
			n++
		}
	}
	if n >= maxAside {
		return fmt.Errorf("%d copies were put aside as %s%s..., at most %d: remove those that are not needed; now: %w",
			n, filepath.Clean(c.dir), asideMiddle, maxAside, why)
	}
	now := time.Unix(0, clock.MachineNs()).UTC()
	to := filepath.Clean(c.dir) + asideMiddle + now.Format("20060102T150405.000000000")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, part := range []string{copyMark, logName} {
		err := os.Rename(filepath.Join(c.dir, part), filepath.Join(to, part))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c.o.Aside(to, why)
	c.Identity, c.end, c.keeper = wal.Identity{}, wal.Position{}, keeper{}
	return c.empty()
}

const asideMiddle = ".aside-"

// readCopyState reads the state of the copy in a directory.
func readCopyState(dir string) (s CopyState, err error) {
	text, err := os.ReadFile(filepath.Join(dir, copyMark))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s is damaged: %w", filepath.Join(dir, copyMark), err)
	}
	return s, nil
}

const temporaryExt = ".tmp"

// writeState durably replaces the state.
func (c *Copy) writeState(s *CopyState) error {
	s.Text = copyText
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(c.dir, copyMark)
	f, err := os.OpenFile(name+temporaryExt, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(name+temporaryExt, name)
	}
	if err == nil {
		err = vfs.OS{}.SyncDir(c.dir)
	}
	return err
}

// ReadCopy locks the directory of a copy that no process uses and returns its state. unlock ends the use.
func ReadCopy(dir string) (s CopyState, unlock func() error, err error) {
	lock, err := vfs.OS{}.Lock(filepath.Join(dir, "LOCK"), vfs.Self())
	if err != nil {
		return s, nil, fmt.Errorf("the directory is in use, stop its program first: %w", err)
	}
	if s, err = readCopyState(dir); err == nil && s.At.Seq == 0 {
		err = fmt.Errorf("%s is the directory of a node that has read nothing yet", dir)
	}
	if err != nil {
		return s, nil, errors.Join(err, lock.Close())
	}
	return s, lock.Close, nil
}
