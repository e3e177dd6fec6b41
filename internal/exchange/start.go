package exchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/marketdata/replica"
)

// Running is an exchange whose loop runs. Admit lets clients in; Stop ends it.
type Running struct {
	*restored
	loop      *sequencer.Loop
	snapshots *snapshots // nil: nothing is stored
}

// Start simulates the backfill, starts the loop on the process clock, and adds the configured
// pairs and the demo data. When ctx is canceled, the backfill returns its error; the steps after
// it are short and complete. After an error no loop runs, and Stop of r is left to the caller.
func (r *Recovered) Start(ctx context.Context) (*Running, error) {
	if err := r.backfill(ctx); err != nil {
		return nil, err
	}
	x := &Running{restored: r.restored, loop: r.newLoop(r.clock)}
	go x.loop.Run()
	x.keepSnapshots()
	go x.front.hub.Run()
	x.front.enter(stage{journal: x.journal, accounts: x.accounts, running: x})
	if err := x.fill(); err != nil {
		x.front.hub.Shutdown()
		x.halt()
		x.front.enter(stage{journal: x.journal, accounts: x.accounts})
		return nil, err
	}
	x.front.progress.Store(-1)
	return x, nil
}

// fill adds the configured pairs, the demo users and the simulated life.
func (x *Running) fill() error {
	if err := x.configure(x.loop); err != nil {
		return err
	}
	if err := x.agents.begin(); err != nil {
		return err
	}
	if err := x.demo(); err != nil {
		return err
	}
	if err := x.welcome(); err != nil {
		return err
	}
	if err := x.data.KeepClock(x.clock.NowNs()); err != nil {
		return err
	}
	return x.data.SetFilling(false)
}

// Admit lets clients in.
func (x *Running) Admit() {
	x.front.admit()
	x.log.Info("ready", "public", x.PublicAddr(), "internal", x.InternalAddr(), "pairs", x.feed.Board().Load().Len())
}

// Submit submits a batch to the loop.
func (x *Running) Submit(b *sequencer.Batch) error { return x.loop.Submit(b) }

// AdvanceTo moves the virtual clock: the market first, then launchpad and hive.
func (x *Running) AdvanceTo(ns int64) error {
	if err := x.loop.AdvanceTo(ns); err != nil {
		return err
	}
	return x.agents.advance()
}

// StateHash returns the hash of the market's current state.
func (x *Running) StateHash() (replica.StateHash, error) { return x.front.stateHash(x.base) }

// newLoop builds a loop over core and feed. Only one loop may run at a time.
func (r *restored) newLoop(c clock.Clock) *sequencer.Loop {
	o := sequencer.LoopOptions{
		Core: r.core, Clock: c, Sinks: r.sinks(), Sources: r.sources(),
		StartNs: max(r.lastNs, r.feed.Board().Load().NowNs), StartPos: r.pos,
	}
	if r.journal != nil {
		o.Journal = r.journal.writer
	}
	return sequencer.NewLoop(o)
}

// configure adds the configured assets and pairs that do not exist yet. Existing ones keep
// their settings.
func (r *restored) configure(loop *sequencer.Loop) error {
	root := r.feed.Board().Load()
	var b sequencer.Batch
	var differ []string
	for _, a := range r.o.Assets {
		if had := root.Asset(a.Symbol); had != nil && *had != *a {
			differ = append(differ, a.Symbol)
		} else if had == nil {
			b.Commands = append(b.Commands, engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: a})
		}
	}
	for _, ins := range r.o.Pairs {
		if v := root.Lookup(ins.Code); v != nil && !sameTerms(*v.Instrument, *ins) {
			differ = append(differ, ins.Code)
		} else if v == nil {
			b.Commands = append(b.Commands, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
		}
	}
	if len(differ) > 0 {
		r.log.Info("the data directory keeps its own settings of pairs and assets that the configuration sets otherwise: "+
			"PATCH /internal/v1/pairs/CODE and /internal/v1/assets/CODE change them", "of", strings.Join(differ, " "))
	}
	refused := engine.NotRejected
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		if events[0].Kind == engine.EventRejected {
			refused = events[0].Reason
		}
	}
	if err := loop.Submit(&b); err != nil {
		return fmt.Errorf("configured pairs: %w", err)
	}
	if refused != engine.NotRejected {
		return fmt.Errorf("configured pairs: the engine refuses one: %s", refused)
	}
	return nil
}

// sameTerms reports whether a pair has the configured terms: every field except its state,
// which changes in operation, and the fields that the core assigns.
func sameTerms(had, want engine.Instrument) bool {
	want.ID, want.CreatedNs, want.State = had.ID, had.CreatedNs, had.State
	return had == want
}

// AddPair adds a pair and its currencies, or returns the pair that the data directory already has.
func (x *Running) AddPair(ins *engine.Instrument) (engine.PairID, error) {
	root := x.feed.Board().Load()
	if v := root.Lookup(ins.Code); v != nil {
		return v.Instrument.ID, nil
	}
	var b sequencer.Batch
	for _, symbol := range []string{ins.Base, ins.Quote} {
		if root.Asset(symbol) == nil {
			a := &engine.Asset{Symbol: symbol, Name: symbol, CanWithdraw: true, CanDeposit: true}
			b.Commands = append(b.Commands, engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: a})
		}
	}
	b.Commands = append(b.Commands, engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
	var id engine.PairID
	refused := engine.NotRejected
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) {
		switch e := &events[0]; e.Kind {
		case engine.EventPair:
			id = e.Pair
		case engine.EventRejected:
			refused = e.Reason
		}
	}
	if err := x.Submit(&b); err != nil {
		return 0, fmt.Errorf("pair %s: %w", ins.Code, err)
	}
	if refused != engine.NotRejected {
		return 0, fmt.Errorf("pair %s: %s", ins.Code, refused)
	}
	return id, nil
}

// snapshotLook is the time between two checks whether a snapshot is due.
const snapshotLook = 200 * time.Millisecond

// snapshots is the goroutine that takes snapshots of the market by log size and by time.
type snapshots struct {
	keeper *replica.Keeper
	stop   chan struct{}
	done   chan struct{}
}

// keepSnapshots starts the snapshots of the running loop.
func (x *Running) keepSnapshots() {
	if x.journal == nil {
		return
	}
	s := &snapshots{stop: make(chan struct{}), done: make(chan struct{})}
	s.keeper = replica.NewKeeper(replica.KeeperOptions{
		Market: replica.Options{Engine: x.o.Engine, Market: x.o.Market, Skips: x.journal.skips},
		Live:   x.loop, Extras: x.extras(), KeepAll: x.o.Journal.KeepAll,
		Log: x.journal.log, Dir: x.journal.dir, Covered: x.journal.covered,
		SnapshotBytes: x.o.Journal.SnapshotBytes, SnapshotEvery: x.o.Journal.SnapshotEvery,
	})
	x.snapshots = s
	go func() {
		defer close(s.done)
		ticker := time.NewTicker(snapshotLook)
		defer ticker.Stop()
		failing := false
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
			}
			failing = x.lookAtStores(failing)
			if s.keeper.Due() {
				x.snapshot(s.keeper)
			}
		}
	}()
}

// snapshot takes a snapshot of the market, then of the accounts.
func (x *Running) snapshot(k *replica.Keeper) {
	if err := k.Snapshot(); err != nil {
		x.log.Error("snapshot failed", "error", err)
		x.incident("snapshot", "a snapshot of the market failed: %v", err)
		return
	}
	if err := x.accounts.checkpoint(); err != nil {
		x.log.Error("snapshot of the accounts failed", "error", err)
	}
}

// lookAtStores reports an incident when a store has stopped accepting changes, and another one
// when all accept them again. It returns whether one does not.
func (x *Running) lookAtStores(failing bool) bool {
	err := x.front.storesFailed()
	switch {
	case err != nil && !failing:
		x.log.Error("a store takes no changes", "error", err)
		x.incident("store", "a store takes no changes; the log says why")
	case err == nil && failing:
		x.incident("store", "every store takes changes again")
	}
	return err != nil
}

// end waits for a snapshot under way and stops taking more.
func (s *snapshots) end() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.done
}

// halt ends the snapshots, which need the loop, then the loop.
func (x *Running) halt() {
	x.snapshots.end()
	x.loop.Stop()
}

// Stop ends everything from the outside in and returns when every goroutine has ended. ctx limits
// the wait for requests.
func (x *Running) Stop(ctx context.Context) {
	x.front.hub.Shutdown() // sockets first: they would outlive the listeners
	x.front.shutdown(ctx)
	x.halt()
	x.end(x.lastSnapshot)
}

// lastSnapshot takes a snapshot of the stopped loop's market if the tail of the journal is long.
func (x *Running) lastSnapshot() error {
	market := replica.New(replica.Options{Core: x.core, Feed: x.feed, Extras: x.extras()})
	market.Pos, market.LastNs = x.loop.Position(), x.feed.Board().Load().NowNs
	return x.journal.lastSnapshot(market, x.snapshots.keeper.Covered())
}

// Stop closes listeners, stores and directory. ctx limits the wait for requests.
func (r *Recovered) Stop(ctx context.Context) {
	r.front.shutdown(ctx)
	r.end(nil)
}

// end closes the stores, runs last unless it is nil, and closes journal and directory.
func (r *restored) end(last func() error) {
	if err := r.closeStores(); err != nil {
		r.log.Error("the stores did not end in order", "error", err)
	}
	err := r.journal.close(last)
	if err = errors.Join(err, r.endData(err == nil)); err != nil {
		r.log.Error("the journal did not end in order", "error", err)
	}
}

// closeStores closes launchpad, hive and accounts.
func (r *restored) closeStores() error {
	err := r.agents.close()
	if r.accounts == nil {
		return err
	}
	return errors.Join(err, r.journal.settle(), r.accounts.close())
}
