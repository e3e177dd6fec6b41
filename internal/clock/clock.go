package clock

import (
	"sync/atomic"
	"time"
)

// Clock returns the process's time. Any goroutine may call it.
type Clock interface {
	// NowNs is the Unix time in nanoseconds.
	NowNs() int64
	// Virtual reports whether the clock moves only when it is set.
	Virtual() bool
}

// Real is a Clock that shows MachineNs. The market uses a Steady instead.
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

// Set sets the clock. The caller must not set it back.
func (m *Manual) Set(ns int64) { m.ns.Store(ns) }

// processStart is the wall clock at the start of the process.
var processStart = time.Now()

// MachineNs returns the machine's Unix time in nanoseconds, independent of the market's clock:
// for rate limits, timeouts, batching and metrics (docs/contract/market-data.md#times). It
// advances steadily from the wall clock at the start of the process: nothing that it measures
// changes when the wall clock is set.
func MachineNs() int64 { return processStart.UnixNano() + int64(time.Since(processStart)) }

// SinceNs returns the machine's time since a reading of the clock, in ns. It costs one reading.
func SinceNs(began time.Time) int64 { return int64(time.Since(began)) }
