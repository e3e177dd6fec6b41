package datadir

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/tickhive/tickhive/internal/vfs"
)

// clockFile stores the time to which POST /clock last set a virtual clock. The journal does not have it unless
// a command followed, and an acknowledged time must never go back. The file is one short line with a checksum.
// It is overwritten in place, so a full disk does not stop the clock. The line is inside one sector, so a power
// cut leaves the old line or the new one.
type clockFile struct {
	mu  sync.Mutex
	f   vfs.File
	ns  int64
	err error // error of a failed sync: what the disk holds is unknown
}

// clockDigits is the number of digits of the time; it is enough for every non-negative int64.
const clockDigits = 19

// clockLine returns the line of the file for a time.
func clockLine(ns int64) []byte {
	line := fmt.Appendf(nil, "%0*d", clockDigits, ns)
	return fmt.Appendf(line, " %s\n", checksum(line))
}

// openClockFile reads the file, or makes it unless it must be there. A new clock begins at beginNs.
func openClockFile(fsys vfs.FS, name string, beginNs int64, must bool) (*clockFile, error) {
	c := &clockFile{ns: beginNs}
	raw, found, err := readFile(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case found:
		c.ns, err = parseClock(name, raw)
	case must:
		err = &DamagedError{name, "it is missing"}
	default:
		err = replaceFile(fsys, filepath.Dir(name), name, clockLine(beginNs))
	}
	if err != nil {
		return nil, err
	}
	if c.f, err = fsys.OpenRW(name); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return c, nil
}

// parseClock returns the time in the content of the file.
func parseClock(name string, raw []byte) (int64, error) {
	ns, err := strconv.ParseInt(string(raw[:min(clockDigits, len(raw))]), 10, 64)
	switch {
	case err != nil || ns < 0:
		return 0, &DamagedError{name, "it does not begin with a time of 19 digits"}
	case string(raw) != string(clockLine(ns)):
		return 0, &DamagedError{name, "the checksum of its line differs"}
	}
	return ns, nil
}

// keep durably stores ns, unless the stored time is ns or later.
func (c *clockFile) keep(ns int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ns <= c.ns {
		return nil
	}
	if c.err != nil {
		return c.err
	}
	if err := c.write(clockLine(ns)); err != nil {
		return err
	}
	c.ns = ns
	return nil
}

func (c *clockFile) write(line []byte) error {
	if _, err := c.f.WriteAt(line, 0); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := c.f.Sync(); err != nil {
		c.err = fmt.Errorf("data directory: %w", err)
	}
	return c.err
}

// at returns the stored time.
func (c *clockFile) at() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ns
}

// close closes the file.
func (c *clockFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.err, c.f.Close())
}
