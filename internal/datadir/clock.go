package datadir

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// clockFile holds the time that POST /clock last set on a virtual clock. The journal has no
// record of a move that no command follows, and an acknowledged time must never go back. The
// file is one short line, overwritten in place, so a full disk does not stop the clock.
type clockFile struct {
	mu sync.Mutex
	f  *os.File
	ns int64
}

// clockDigits is the length of the line without its newline: any int64 that is not negative.
const clockDigits = 19

// openClockFile opens or creates the file. Without a valid line the clock is at beginNs.
func openClockFile(path string, beginNs int64) (*clockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, clockDigits+1))
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	c := &clockFile{f: f, ns: beginNs}
	if ns, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil {
		c.ns = ns
	}
	return c, nil
}

// keep writes ns, unless the clock is at ns or later already.
func (c *clockFile) keep(ns int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ns <= c.ns {
		return nil
	}
	if _, err := c.f.WriteAt(fmt.Appendf(nil, "%0*d\n", clockDigits, ns), 0); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	c.ns = ns
	return nil
}

// at returns the time that the clock was last set to.
func (c *clockFile) at() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ns
}

// close closes the file. A clock that was never set leaves an empty file.
func (c *clockFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.f.Close()
}
