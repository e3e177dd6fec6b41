package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The state of D11 (docs/internals/performance.md#d11).
const (
	startOrders = 300_000 // resting, in the snapshots
	startTail   = 30_000  // commands behind them
)

// replicationStart measures D11: a replica starts from an archived snapshot and the messages behind it, and serve from
// its snapshot and the records behind it.
func replicationStart(r *Run) error {
	r.say("starts from snapshot and tail")
	s, err := r.startServers(1)
	if err != nil {
		return err
	}
	defer s.end()
	dir, err := r.temp("start")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	set := s.with([]string{"journal.ack=quorum", "journal.stream=" + s.urls})
	p, err := r.serve(dir, set...)
	if err != nil {
		return err
	}
	if err := errors.Join(p.addPairs(0, 1), p.rest(startOrders), s.archived()); err != nil {
		p.Kill()
		return err
	}
	p.hangUp()
	p.Stop() // takes the snapshots of the directory
	if p, err = r.serve(dir, set...); err != nil {
		return err
	}
	err = p.tail()
	p.hangUp()
	p.Kill()
	if err != nil {
		return err
	}
	with := fmt.Sprintf("snapshot with %d resting orders, %d commands behind it; the reference is serve on a copy of "+
		"the writer's directory", startOrders, startTail)
	wall := r.S.Cost("start of a replica, until ready", "s", with).Against("local start").Aim("D11", 2)
	cpu := r.S.Cost("start of a replica, CPU", "s", with).Against("local start")
	for range r.Rounds {
		own, ownCPU, err := started(func() (*product, error) { return s.replica() })
		if err != nil {
			return err
		}
		local, err := r.temp("local")
		if err == nil {
			err = os.CopyFS(filepath.Join(local, "data"), os.DirFS(filepath.Join(dir, "data")))
		}
		if err != nil {
			return err
		}
		ref, refCPU, err := started(func() (*product, error) { return r.serve(local) })
		if err != nil {
			return err
		}
		wall.Round(own.Seconds(), ref.Seconds())
		cpu.Round(ownCPU.Seconds(), refCPU.Seconds())
	}
	return nil
}

// started returns the time and the CPU of a start.
func started(start func() (*product, error)) (wall, cpu time.Duration, err error) {
	began := time.Now()
	p, err := start()
	if err != nil {
		return 0, 0, err
	}
	wall, cpu = time.Since(began), p.CPU()
	p.hangUp()
	p.Kill()
	return wall, cpu, os.RemoveAll(p.dir)
}

// tail sends the commands behind the snapshots.
func (p *product) tail() error {
	for _, req := range batchRequests(batchSize) {
		for range startTail / batchSize / 4 {
			if err := p.ask(req); err != nil {
				return err
			}
		}
	}
	return nil
}

// archived runs a standby until it has archived a snapshot of everything that the stream has.
func (s *servers) archived() error {
	dir, err := s.r.temp("standby")
	if err != nil {
		return err
	}
	x, err := s.standby(dir, "cluster.archive_every=1s", "cluster.takeover_after=1h")
	if err != nil {
		return err
	}
	defer x.end()
	ctx, cancel := context.WithTimeout(context.Background(), faultWithin)
	defer cancel()
	log, messages, end, err := s.log(ctx)
	if err != nil {
		return err
	}
	defer end()
	for {
		all, err := log.Archive().List(ctx)
		if err != nil {
			return fmt.Errorf("the archive: %w", err)
		}
		if len(all) > 0 && all[0].Seq >= messages {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
