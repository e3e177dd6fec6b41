package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// copyMark is the file that marks the directory of a copy. It has a CopyState.
const copyMark = "COPY"

const copyText = "Copy of an exchange that a node keeps. A standby that takes over makes it a data directory, and so " +
	"does: tickhive stream restore NEW --from-dir DIR"

// maxAside is the number of copies that may be put aside.
const maxAside = 8

const (
	asideMiddle  = ".aside-"
	temporaryExt = ".tmp"
)

// CopyState says how far a copy is durable.
type CopyState struct {
	Text     string       `json:"text"` // for people
	Identity wal.Identity `json:"identity"`
	Genesis  Genesis      `json:"genesis"`
	At       stream.State `json:"at"` // behind a message that counts; the zero State: none is known
	End      wal.Position `json:"end"`
}

// CopyOptions describe the copy of a node.
type CopyOptions struct {
	Machine Machine
	Log     wal.Options // of the copy's log
	Genesis Genesis     // of the stream
	Other   []string    // files of the directory that are not the copy's
	// Aside hears where a copy was put that the node cannot continue, and why.
	Aside func(to string, why error)
}

// NewCopy returns a copy in an empty or absent directory, which the caller has checked. o are the options of its log.
func NewCopy(dir string, m Machine, o wal.Options) *Copy {
	return &Copy{dir: dir, o: CopyOptions{Machine: m, Log: o}}
}

// IsCopy reports whether a directory is the copy of a node.
func IsCopy(fsys vfs.FS, dir string) bool {
	f, err := fsys.Open(filepath.Join(dir, copyMark))
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// OpenCopy locks a directory and returns its copy. A copy that cannot be continued is put aside, and the new one is
// empty.
//
// Errors: *vfs.LockedError; a directory with further files is refused.
func OpenCopy(dir string, o CopyOptions) (*Copy, error) {
	if o.Machine.FS == nil {
		o.Machine = OwnMachine()
	}
	if err := o.Machine.FS.MkdirAll(dir); err != nil {
		return nil, err
	}
	lock, err := o.Machine.FS.Lock(filepath.Join(dir, "LOCK"), vfs.Self())
	if err != nil {
		return nil, err
	}
	c := &Copy{dir: dir, lock: lock, o: o}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open continues the copy that is in the directory, or puts it aside.
func (c *Copy) open() error {
	marked, err := c.onlyMine()
	if err != nil {
		return err
	}
	if !marked {
		return c.empty()
	}
	state, err := ReadCopyState(c.o.Machine.FS, c.dir)
	if err == nil && state.Identity == (wal.Identity{}) {
		return c.empty()
	}
	if err == nil {
		if err = c.resume(&state); err == nil {
			return c.note()
		}
	}
	return c.SetAside(err)
}

// onlyMine reports whether the directory is marked as a copy, and refuses files that are not the copy's.
func (c *Copy) onlyMine() (marked bool, err error) {
	names, err := c.o.Machine.FS.List(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	logs, err := c.o.Machine.FS.List(c.LogDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	marked = slices.Contains(names, copyMark)
	if !marked && len(logs) > 0 {
		names = append(names, logName)
	}
	for _, name := range names {
		mine := name == "LOCK" || slices.Contains(c.o.Other, name) ||
			marked && (name == copyMark || name == DownloadName) ||
			name == copyMark+temporaryExt // alone when the first start was cut short before it had marked the directory
		if !mine {
			return marked, fmt.Errorf("%s has %s and is no copy of a node: name another directory", c.dir, name)
		}
	}
	return marked, nil
}

// empty removes the log of a copy that was not begun, and marks the directory.
func (c *Copy) empty() error {
	fsys := c.o.Machine.FS
	names, err := fsys.List(c.LogDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if err := fsys.Remove(filepath.Join(c.LogDir(), name)); err != nil {
			return err
		}
	}
	return WriteCopy(fsys, c.dir, &CopyState{Genesis: c.o.Genesis})
}

// resume opens the log. It reaches the state at least, with its chain.
func (c *Copy) resume(s *CopyState) (err error) {
	if s.Genesis != c.o.Genesis {
		return fmt.Errorf("%w: it is of the epoch %s, or of another exchange", ErrOffChain, s.Genesis.Epoch)
	}
	c.Identity, c.at = s.Identity, s.At
	c.log, err = wal.Open(c.o.Machine.FS, c.LogDir(), s.LogOptions(c.o.Log))
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
	if err := errors.Join(c.endSaver(), c.close()); err != nil {
		return err
	}
	fsys := c.o.Machine.FS
	base := filepath.Clean(c.dir) + asideMiddle
	n, err := beside(fsys, base)
	if err != nil {
		return err
	}
	if n >= maxAside {
		return fmt.Errorf("%d copies were put aside as %s..., at most %d: remove those that are not needed; now: %w",
			n, base, maxAside, why)
	}
	to := base + time.Unix(0, c.o.Machine.Clock.NowNs()).UTC().Format("20060102T150405.000000000")
	if err := moveFiles(fsys, c.LogDir(), filepath.Join(to, logName)); err != nil {
		return err
	}
	if err := move(fsys, filepath.Join(c.dir, copyMark), filepath.Join(to, copyMark)); err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(to), to, c.dir} {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	c.o.Aside(to, why)
	c.Identity, c.at = wal.Identity{}, stream.State{}
	return c.empty()
}

// beside counts the directories whose names begin with a text. A simulated disk does not list directories.
func beside(fsys vfs.FS, base string) (n int, err error) {
	disk, ok := fsys.(interface {
		Dirs(dir string) ([]string, error)
	})
	if !ok {
		return 0, nil
	}
	names, err := disk.Dirs(filepath.Dir(base))
	for _, name := range names {
		if strings.HasPrefix(name, filepath.Base(base)) {
			n++
		}
	}
	return n, err
}

// moveFiles moves the files of a directory into another one, which it makes.
func moveFiles(fsys vfs.FS, from, to string) error {
	names, err := fsys.List(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.MkdirAll(to); err != nil {
		return err
	}
	for _, name := range names {
		if err := move(fsys, filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	if err := fsys.SyncDir(to); err != nil || len(names) == 0 {
		return err
	}
	return fsys.SyncDir(from)
}

// move moves a file, if it is there, into another directory, also where a rename does not.
func move(fsys vfs.FS, from, to string) error {
	err := fsys.Rename(from, to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case !errors.Is(err, syscall.EXDEV):
		return err
	}
	text, err := readFile(fsys, from)
	if err == nil {
		err = writeFile(fsys, to, text)
	}
	if err == nil {
		err = fsys.Remove(from)
	}
	return err
}

// readFile returns the content of a file.
func readFile(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	text := make([]byte, size)
	if err == nil {
		if _, err = f.ReadAt(text, 0); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return text, errors.Join(err, f.Close())
}

// writeFile makes a file with a content, which is durable when the names of its directory are.
func writeFile(fsys vfs.FS, name string, text []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(text, 0); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// ReadCopyState reads the state of the copy in a directory.
func ReadCopyState(fsys vfs.FS, dir string) (s CopyState, err error) {
	name := filepath.Join(dir, copyMark)
	text, err := readFile(fsys, name)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s is damaged: %w", name, err)
	}
	return s, nil
}

// WriteCopy durably replaces the file COPY of a directory, which makes it a copy.
func WriteCopy(fsys vfs.FS, dir string, s *CopyState) error {
	s.Text = copyText
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, copyMark)
	if err = writeFile(fsys, name+temporaryExt, text); err == nil {
		err = fsys.Rename(name+temporaryExt, name)
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	return err
}

// CopyGenesis returns what the copy in a directory knows of its stream, which may be in use. ok is false if there is
// no copy, or if it does not know.
func CopyGenesis(fsys vfs.FS, dir string) (g Genesis, ok bool) {
	s, err := ReadCopyState(fsys, dir)
	return s.Genesis, err == nil && s.Genesis != Genesis{}
}

// ReadCopy locks the directory of a copy that no process uses and returns its state. unlock ends the use.
func ReadCopy(fsys vfs.FS, dir string) (s CopyState, unlock func() error, err error) {
	lock, err := fsys.Lock(filepath.Join(dir, "LOCK"), vfs.Self())
	if err != nil {
		return s, nil, fmt.Errorf("the directory is in use, stop its program first: %w", err)
	}
	if s, err = ReadCopyState(fsys, dir); err == nil && s.Identity == (wal.Identity{}) {
		err = fmt.Errorf("%s is the directory of a node that has read nothing yet", dir)
	}
	if err != nil {
		return s, nil, errors.Join(err, lock.Close())
	}
	return s, lock.Close, nil
}
