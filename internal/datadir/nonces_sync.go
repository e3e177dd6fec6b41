package datadir

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/step"
	"tickhive/internal/wal"
)

// nonceSync makes the lines of Nonces durable with the policy of the journal: before Keep returns
// (always), within an interval by a separate goroutine (interval), or when the system does (off).
type nonceSync struct {
	always bool
	dirty  chan struct{} // wakes the syncing goroutine; nil: there is none
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex // held during a sync; locked before Nonces.mu
	durable uint64     // number of durable lines
}

// startSync sets the sync policy. It must be called once, before Keep. With a driver, the driver syncs by the
// clock c instead of a goroutine.
func (n *Nonces) startSync(always bool, every time.Duration, d step.Driver, c clock.Clock) {
	n.sync.always = always
	if always || every == 0 {
		return
	}
	n.sync.dirty, n.sync.stop, n.sync.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	if d != nil {
		close(n.sync.done) // there is no goroutine to wait for
		d.Drive("nonces", &nonceSteps{nonces: n, clock: c, every: int64(every)})
		return
	}
	go n.syncEvery(every)
}

func (n *Nonces) syncEvery(every time.Duration) {
	defer close(n.sync.done)
	for {
		select {
		case <-n.sync.dirty:
		case <-n.sync.stop:
			return
		}
		select {
		case <-time.After(every / 2): // half of the interval, because the sync itself takes time
		case <-n.sync.stop:
			return
		}
		_ = n.syncTo(n.written()) // syncTo stores the error in broken
	}
}

// nonceSteps syncs at an interval for a driver, like the syncing goroutine.
type nonceSteps struct {
	nonces *Nonces
	clock  clock.Clock
	every  int64 // ns
	dueNs  int64 // 0: no sync is due
}

// Step syncs when the interval has passed.
func (s *nonceSteps) Step() step.Progress {
	select {
	case <-s.nonces.sync.stop:
		return step.Progress{Stopped: true}
	default:
	}
	now := s.clock.NowNs()
	if s.dueNs == 0 {
		select {
		case <-s.nonces.sync.dirty:
			s.dueNs = now + s.every/2
		default:
			return step.Idle()
		}
	}
	if now < s.dueNs && s.dueNs-now <= s.every {
		return step.Progress{NextNs: s.dueNs}
	}
	s.dueNs = 0
	_ = s.nonces.syncTo(s.nonces.written()) // syncTo stores the error in broken
	return step.Worked()
}

func (n *Nonces) written() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// keepDurable makes the first upTo lines durable as the policy requires: it waits for the sync, or wakes the
// goroutine.
func (n *Nonces) keepDurable(upTo uint64) error {
	if n.sync.always {
		return n.syncTo(upTo)
	}
	if n.sync.dirty != nil {
		select {
		case n.sync.dirty <- struct{}{}:
		default:
		}
	}
	return nil
}

// syncTo makes the first upTo lines durable. One sync serves all waiting requests. A failed sync is not
// repeated, because what the disk holds is then unknown.
func (n *Nonces) syncTo(upTo uint64) error {
	n.sync.mu.Lock()
	defer n.sync.mu.Unlock()
	if n.sync.durable >= upTo {
		return nil
	}
	n.mu.Lock()
	f, old, count, err := n.f, n.old, n.count, n.broken
	n.old = nil
	n.mu.Unlock()
	for _, f := range old {
		err = errors.Join(err, f.Close()) // its lines are durable in the file that replaced it
	}
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		n.mu.Lock()
		n.broken = fmt.Errorf("%w: %w", wal.ErrStopped, err)
		n.mu.Unlock()
		return err
	}
	n.sync.durable = count
	return nil
}

// close makes every line durable and closes the file.
func (n *Nonces) close() error {
	if n.sync.stop != nil {
		close(n.sync.stop)
		<-n.sync.done
	}
	err := errors.Join(n.cutWindow(), n.syncTo(n.written()))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pass != nil {
		n.endPass()
	}
	for _, f := range n.old {
		err = errors.Join(err, f.Close())
	}
	if n.f != nil {
		err = errors.Join(err, n.f.Close())
	}
	return err
}
