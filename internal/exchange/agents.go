package exchange

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/stream"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/sim/residents"
)

// historySpan is the length of the launchpad's history before the current time, if there is a backfill. Workers
// become idle and proposals close after seven days, so a demo has some of each.
const historySpan = int64(9 * 24 * time.Hour)

// agentSide holds launchpad, hive and their simulated residents. Order of calls: openAgents,
// simulateHistory (within the backfill), begin (when the market runs), close. A nil agentSide has not been opened.
type agentSide struct {
	process clock.Clock
	clock   *spanClock
	front   *front

	fs        *vfs.Bulk // nil: nothing is stored
	ledger    *launchpad.Store
	hive      *hive.Store
	residents *residents.Simulation // nil: nothing is simulated
	fresh     bool                  // this process created the ledger

	stepping sync.Mutex // held while a span of time is simulated
	lastNs   int64      // end of the simulated time
	recordNs int64      // time of the last record that the start has found, 0 without one
	ending   chan struct{}
	ended    chan struct{}
}

// spanClock is the clock of launchpad and hive. It shows the process clock, or the simulated time while a span
// is simulated. Any goroutine may read it.
type spanClock struct {
	process clock.Clock
	spanNs  atomic.Int64 // simulated time, Unix ns; 0: use the process clock
}

// NowNs implements clock.Clock.
func (c *spanClock) NowNs() int64 {
	if ns := c.spanNs.Load(); ns != 0 {
		return ns
	}
	return c.process.NowNs()
}

// Virtual implements clock.Clock. A simulated span is virtual time, in which nothing happens by itself.
func (c *spanClock) Virtual() bool { return c.spanNs.Load() != 0 || c.process.Virtual() }

// openAgents recovers both stores and registers every token with the hive. In a new data directory
// with a backfill, the ledger begins with its history.
func (r *restored) openAgents() (*agentSide, error) {
	a := &agentSide{process: r.clock, clock: r.span, front: r.front}
	common := durable.Config{
		Clock: a.clock, Logf: r.logf, Driver: r.o.Machine.Driver,
		KeepAll: r.o.Journal.KeepAll, SnapshotBytes: r.o.Journal.SnapshotBytes, Follows: r.o.Follow != nil,
	}
	if r.o.quorum() {
		common.Hold = r.held.add
	}
	log := wal.Options{NoLock: true, Writer: logWriter, SegmentBytes: r.o.Journal.SegmentBytes}
	ls := launchpad.StoreOptions{Config: common, Options: r.o.Launchpad}
	hs := hive.StoreOptions{Config: common, Options: r.o.Hive}
	ls.Options.Seed = r.data.Seed()
	ls.Initial, hs.Initial = r.initial(stream.Launchpad), r.initial(stream.Hive)
	if r.data.Stored() {
		a.fs = vfs.NewBulk(r.o.Machine.FS)
		ls.FS, ls.Dir = a.fs, r.data.Sub("launchpad")
		hs.FS, hs.Dir = a.fs, r.data.Sub("hive")
	}
	busy, live := a.historyTimes(r.sim != nil, int64(r.data.Backfill()))
	var err error
	if ls.Log, err = r.logOptions("launchpad", log); err != nil {
		return nil, err
	}
	if hs.Log, err = r.logOptions("hive", log); err != nil {
		return nil, err
	}
	if a.ledger, err = launchpad.OpenStore(ls); err != nil {
		return nil, err
	}
	r.reportSnapshots(a.ledger.Recovered().Damaged)
	v := a.ledger.View()
	hs.Options.Seed, hs.Options.GenesisNs = v.Seed(), v.GenesisNs()
	if f := r.o.Follow; f != nil {
		hs.Options.Seed, hs.Options.GenesisNs = f.Genesis.Seed, f.Genesis.LedgerNs
	}
	if a.hive, err = hive.OpenStore(hs); err != nil {
		return nil, errors.Join(err, a.ledger.Close())
	}
	r.reportSnapshots(a.hive.Recovered().Damaged)
	a.lastNs, a.fresh = v.GenesisNs(), v.Seq() == 1
	if !a.fresh {
		a.clock.spanNs.Store(0) // the directory already has a history
		busy = 0
		err = a.resume()
	}
	if err == nil && r.sim != nil {
		a.residents, err = residents.New(residents.Options{
			Seed: v.Seed(), BusyNs: busy, FullNs: live, Residents: residents.Builtin(v.Seed()),
		})
	}
	if err == nil {
		err = a.front.agents.Open(a.ledger, a.hive)
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// states runs f on the states of both stores, on their goroutines and without a record.
func (a *agentSide) states(f func(*launchpad.State, *hive.State)) (err error) {
	outer := a.ledger.WithState(func(l *launchpad.State) {
		err = a.hive.WithState(func(h *hive.State) { f(l, h) })
	})
	return errors.Join(outer, err)
}

// historyTimes returns BusyNs and FullNs of residents.Options. It also sets the clock of new stores
// to the start of their history.
func (a *agentSide) historyTimes(lives bool, backfill int64) (busyNs, liveNs int64) {
	if a.process.Virtual() {
		liveNs = math.MaxInt64 // while a virtual clock is moved, no client watches
	}
	if !lives || backfill == 0 {
		return 0, liveNs
	}
	end := a.process.NowNs()
	if a.process.Virtual() {
		end += backfill // openData set the clock back by this span
	}
	a.clock.spanNs.Store(end - max(backfill, historySpan))
	return end - backfill, max(end, liveNs)
}

// resume sets lastNs to the last record's time or the current time, whichever is later. A
// virtual clock that is behind the logs is moved forward.
func (a *agentSide) resume() error {
	var last int64
	err := errors.Join(
		a.ledger.WithState(func(s *launchpad.State) { last = max(last, s.LastNs()) }),
		a.hive.WithState(func(s *hive.State) { last = max(last, s.LastNs()) }))
	if manual, ok := a.process.(*clock.Manual); ok && last > manual.NowNs() {
		manual.Set(last)
	}
	a.lastNs, a.recordNs = max(last, a.process.NowNs()), last
	return err
}

// simulateHistory simulates the history of a new data directory. No part of it is durable before
// all of it is complete. Without a history to simulate it does nothing. It returns ctx's error
// when ctx is canceled.
func (a *agentSide) simulateHistory(ctx context.Context, endNs int64) error {
	if a.residents == nil || a.clock.spanNs.Load() == 0 {
		return nil
	}
	a.fs.Begin()
	err := a.simulateTo(ctx, endNs)
	return errors.Join(err, a.fs.End())
}

// begin starts the simulated residents on the process clock.
func (a *agentSide) begin() error {
	a.stepping.Lock()
	defer a.stepping.Unlock()
	if a.ending != nil {
		return nil // the start goes on where it had no room
	}
	a.clock.spanNs.Store(0)
	if err := a.front.agents.Tick(); err != nil {
		return err
	}
	a.lastNs = max(a.lastNs, a.process.NowNs())
	if a.residents != nil && !a.process.Virtual() {
		a.ending, a.ended = make(chan struct{}), make(chan struct{})
		go a.runSteps()
	}
	return nil
}

// runSteps runs the steps at their times. After the machine was suspended, it skips the missed steps.
func (a *agentSide) runSteps() {
	defer close(a.ended)
	for {
		next := a.residents.NextNs(a.ledger.View().GenesisNs(), a.lastNs)
		wait := time.NewTimer(time.Duration(next - a.process.NowNs()))
		select {
		case <-a.ending:
			wait.Stop()
			return
		case <-wait.C:
		}
		a.lastNs = next
		if late := a.process.NowNs() - next; late < int64(time.Minute) {
			a.step(next)
		} else {
			a.lastNs += late
		}
	}
}

// advance simulates up to the time of a virtual clock and applies all due changes. POST /clock calls it after
// the market has moved.
func (a *agentSide) advance() error {
	end := a.process.NowNs()
	if a.residents != nil {
		if err := a.simulateTo(context.Background(), end); err != nil {
			return err
		}
	}
	return a.front.agents.Tick()
}

// simulateTo runs every step up to endNs, each at its simulated time, until ctx is canceled.
func (a *agentSide) simulateTo(ctx context.Context, endNs int64) error {
	a.stepping.Lock()
	defer a.stepping.Unlock()
	defer a.clock.spanNs.Store(0)
	genesis := a.ledger.View().GenesisNs()
	for {
		next := a.residents.NextNs(genesis, a.lastNs)
		if next > endNs {
			a.lastNs = endNs
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		a.lastNs = next
		a.clock.spanNs.Store(next)
		if err := errors.Join(a.ledger.Tick(next), a.hive.Tick(next)); err != nil {
			return err
		}
		a.step(next)
	}
}

// step applies the actions of one step. Refusals are expected and ignored.
func (a *agentSide) step(ns int64) {
	for _, s := range a.residents.Act(ns, a.ledger.View(), a.hive.View()) {
		var err error
		if s.Ledger != nil {
			_, err = a.front.agents.DoLaunchpad(s.Ledger)
		} else {
			_, err = a.front.agents.DoHive(s.Hive)
		}
		if errors.Is(err, wal.ErrUnavailable) || errors.Is(err, wal.ErrStopped) {
			return
		}
	}
}

// stop ends the simulated residents; the stores still serve requests.
func (a *agentSide) stop() {
	if a.ending != nil {
		close(a.ending)
		<-a.ended
		a.ending = nil
	}
}

// close takes a last snapshot of each store and closes it.
func (a *agentSide) close() error {
	if a == nil {
		return nil
	}
	a.stop()
	return errors.Join(a.hive.Close(), a.ledger.Close())
}

// Ledger returns the launchpad's store.
func (x *Running) Ledger() *launchpad.Store { return x.agents.ledger }

// Hive returns the hive's store.
func (x *Running) Hive() *hive.Store { return x.agents.hive }
