package exchange

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/refuse"
)

const (
	// paceEvery is the time between two moves of a clock that runs: fast enough for people who watch it, and each move
	// writes a file.
	paceEvery = 200 * time.Millisecond
	// paceMost bounds the time of the machine that one move makes up for. On a machine that is too slow for a speed the
	// clock then runs slower, and does not fall behind further and further.
	paceMost = time.Second
)

// pace moves a virtual clock by itself, so many seconds in each second of the machine. The zero value stands still. It
// is no part of the state: each move is one as by POST /clock, and after a restart the clock stands still.
type pace struct {
	speed atomic.Int64
	mu    sync.Mutex    // held while the speed changes
	quit  chan struct{} // closed to end the goroutine; nil: there is none
	ended chan struct{} // closed when it has ended
}

// Speed returns the speed, 0 of a clock that stands still.
func (f *front) Speed() int64 { return f.pace.speed.Load() }

// SetSpeed sets the speed, 0 to stop the clock.
func (f *front) SetSpeed(speed int64) *refuse.Refusal {
	switch {
	case f.recorded:
		return refuse.New(refuse.Conflict, "speed", "A replay drives the clock by the times of its recording.")
	case f.phase.Load().running == nil:
		return refuse.Later(1, "The exchange is not running.")
	}
	f.pace.set(speed, f.runClock)
	return nil
}

// set ends the goroutine of the speed before, and starts one for a speed above 0.
func (p *pace) set(speed int64, run func(speed int64, quit chan struct{})) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quit != nil {
		close(p.quit)
		<-p.ended
	}
	p.quit = nil
	p.speed.Store(speed)
	if speed == 0 {
		return
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	p.quit, p.ended = quit, ended
	go func() {
		defer close(ended)
		run(speed, quit)
		p.speed.Store(0)
	}()
}

// runClock moves the clock until quit is closed, or a move fails.
func (f *front) runClock(speed int64, quit chan struct{}) {
	gate := clockGate{&f.gate, f}
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	for last := f.machineNs(); ; {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		now := f.machineNs()
		passed := min(now-last, int64(paceMost))
		last = now
		// A client may have moved the clock meanwhile. Then the next move goes on from there.
		err := gate.AdvanceTo(f.now() + passed*speed)
		if err != nil && !errors.Is(err, sequencer.ErrTimeBack) {
			f.log.Warn("the virtual clock stands still", "speed", speed, "error", err)
			return
		}
	}
}
