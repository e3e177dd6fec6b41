package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"tickhive/engine/sequencer"
)

// clockFile keeps where POST /clock has set a virtual clock: a move that no command
// follows stands in no journal, and a clock that was acknowledged never goes back. It is
// one short line, overwritten in place, so that a full disk does not stop the clock.
type clockFile struct {
	mu sync.Mutex
	f  *os.File
	ns int64
}

// clockDigits is the length of the line without its end: any int64 that is not negative.
const clockDigits = 19

// openClockFile opens or makes the file. Without a line that is a time the clock is at
// beginNs.
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

// keep notes ns, unless the clock was further already.
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

// at is where the clock was last set.
func (c *clockFile) at() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ns
}

// close ends the file; a clock that was never set leaves an empty one.
func (c *clockFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.f.Close()
}

// clockGate is the gate of the internal API: what it acknowledges of the clock survives
// the process.
type clockGate struct {
	*gate
	file *clockFile
}

// AdvanceTo keeps the time first: a move that ends with the process was not acknowledged
// and may stand; one that was acknowledged must.
func (g clockGate) AdvanceTo(ns int64) error {
	if err := g.file.keep(ns); err != nil {
		return fmt.Errorf("%w: %w", sequencer.ErrUnavailable, err)
	}
	return g.gate.AdvanceTo(ns)
}
