package clock

import (
	"sync/atomic"
	"time"
)

// Clock tells the process's time. Implementations are safe for concurrent use.
type Clock interface {
	// NowNs is the Unix time in nanoseconds.
	NowNs() int64
	// Virtual reports whether the clock moves only when it is set.
	Virtual() bool
}

// Real is the machine's time, MachineNs, as a Clock. The market of a program runs on a Steady.
type Real struct{}

// NowNs returns MachineNs.
func (Real) NowNs() int64 { return MachineNs() }

// Virtual returns false.
func (Real) Virtual() bool { return false }

// Manual is a virtual clock: it moves only when the owner sets it.
type Manual struct{ ns atomic.Int64 }

// NewManual returns a virtual clock set to startNs.
func NewManual(startNs int64) *Manual {
	m := &Manual{}
	m.ns.Store(startNs)
	return m
}

// NowNs returns the time last set.
func (m *Manual) NowNs() int64 { return m.ns.Load() }

// Virtual returns true.
func (m *Manual) Virtual() bool { return true }

// Set moves the clock; the caller sees to it that it never goes back.
func (m *Manual) Set(ns int64) { m.ns.Store(ns) }

// processStart is the wall clock at the start of the process.
var processStart = time.Now()

// MachineNs returns the machine's Unix time in nanoseconds, independent of the market's clock:
// for rate limits, timeouts, batching and metrics (docs/contract/market-data.md#times). It
// advances steadily from the wall clock at the start of the process: nothing that it measures
// changes when the wall clock is set.
func MachineNs() int64 { return processStart.UnixNano() + int64(time.Since(processStart)) }
