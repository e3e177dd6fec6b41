package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/marketdata/replica"
	"tickhive/server"
	"tickhive/sim"
)

// simState stores the simulated market as a part of the market's snapshots.
type simState struct{ *sim.Market }

// Name returns the part's name.
func (simState) Name() string { return "sim" }

// openData opens the data directory, if one is configured, and creates the process clock.
func (x *exchange) openData() error {
	var err error
	if x.policy, err = sequencer.ParseSyncPolicy(x.cfg.Journal.Sync); err != nil {
		return fmt.Errorf("journal.sync: %w", err)
	}
	startNs, err := x.cfg.clockStart()
	if err != nil {
		return err
	}
	if x.cfg.Data.Dir == "" {
		x.makeClock(startNs)
		x.epoch, err = newEpoch()
		return err
	}
	if x.data, err = openDataDir(x.cfg.Data.Dir, x.cfg, startNs, x.policy == sequencer.SyncAlways); err != nil {
		return err
	}
	for _, note := range x.data.notes {
		x.log.Info(note)
	}
	x.epoch = x.data.meta.Epoch
	x.makeClock(startNs)
	return nil
}

// makeClock creates the process clock. A virtual clock begins at the start of the backfill, or
// continues from the time that the last process had reached.
func (x *exchange) makeClock(startNs int64) {
	switch {
	case x.cfg.Clock.Mode == clockReal:
		x.clock = clock.Real{}
	case x.data == nil || x.data.empty:
		x.clock = clock.NewManual(startNs - int64(x.cfg.Sim.Backfill))
	case x.cfg.Clock.Start == "":
		x.clock = clock.NewManual(x.data.clock.at())
	default:
		x.clock = clock.NewManual(max(startNs, x.data.clock.at()))
	}
}

func (x *exchange) extras() []replica.Extra {
	if x.sim == nil {
		return nil
	}
	return []replica.Extra{simState{x.sim}}
}

func (x *exchange) engineLog() replica.LogDir {
	dir := engineLog(x.data.sub("engine"))
	dir.FS, dir.Options.SegmentBytes = x.fs, x.cfg.Journal.SegmentBytes
	return dir
}

// recover replays market and accounts to the end of their logs. It interleaves their records
// in the original order: before each accounts record, the market is replayed to the position
// that the record had seen. It returns ctx's error when ctx is canceled.
func (x *exchange) recover(ctx context.Context) error {
	if x.data == nil {
		r, err := recoverAccounts(x.cfg, "", x.clock, nil, x.logf)
		if err == nil {
			x.accounts, err = openAccounts(r, x.logf)
		}
		return err
	}
	if err := x.data.checkLimits(x.engineOpts); err != nil {
		return err
	}
	x.data.meta.Engine, x.data.meta.Market = x.engineOpts, x.marketOpts
	if err := x.data.save(); err != nil {
		return err
	}
	bar := newProgress(x.p.err, "recovery", 1, x.quiet)
	say := func(text string) { x.incident("recovery", text) }
	var err error
	x.market, err = openMarketLog(x.engineLog(), say, func(done, total int64) {
		bar.total = max(total, 1)
		bar.set(done)
		x.progress.Store(done * 1_000_000 / max(total, 1))
	})
	if err != nil {
		return err
	}
	x.opened.Store(x.market)
	log, err := recoverAccounts(x.cfg, x.data.sub("accounts"), x.clock, x.market, x.logf)
	if err != nil {
		return err
	}
	if err := x.merge(ctx, log, say); err != nil {
		return errors.Join(err, log.Close())
	}
	if x.accounts, err = openAccounts(log, x.logf); err != nil {
		return err
	}
	x.pos, x.lastNs = x.market.market.Pos, x.market.market.LastNs
	if err := x.market.begin(x.policy); err != nil {
		return err
	}
	x.market.log.Retain(x.accounts.store.RetainFrom)
	if x.pos > 0 {
		bar.end()
		x.recovered()
	}
	return nil
}

// recovered publishes the recovered state.
func (x *exchange) recovered() {
	x.feed.Publish(max(x.clock.NowNs(), x.lastNs))
	if manual, ok := x.clock.(*clock.Manual); ok {
		manual.Set(max(x.lastNs, manual.NowNs()))
		if x.sim != nil && x.sim.NextNs() < manual.NowNs() {
			x.sim.Skip(manual.NowNs()) // its state is older than the journal: the gap is skipped
		}
	}
	if !x.data.clean {
		x.incident("restart", fmt.Sprintf("the process had not ended in order; %d commands are there", x.pos))
	}
}

// merge loads the market at or before the position that the accounts reflect, and applies the
// records of both logs in their original order.
func (x *exchange) merge(ctx context.Context, log *accounts.Recovery, say func(string)) error {
	state := log.State()
	err := x.market.load(replica.Options{
		Engine: x.engineOpts, Market: x.marketOpts, Core: x.core, Feed: x.feed, Extras: x.extras(),
		Sinks: []func([]engine.Event, uint64){func(events []engine.Event, pos uint64) { state.FoldEvents(events, pos) }},
	}, state.EnginePos(), true, say)
	if err != nil {
		return err
	}
	for {
		rec, err := log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("accounts: %w", err)
		}
		if err := x.replayTo(ctx, rec.EnginePos); err != nil {
			return err
		}
		log.Apply(rec)
	}
	return x.replayTo(ctx, x.market.log.LastSeq())
}

// replayTo replays the market up to pos and logs the stack of a record that cannot be applied.
func (x *exchange) replayTo(ctx context.Context, pos uint64) error {
	err := x.market.replayTo(ctx, pos)
	poison := (*replica.PoisonError)(nil)
	if errors.As(err, &poison) {
		x.log.Error("a record of the journal cannot be carried out", "record", poison.Seq, "stack", string(poison.Stack))
	}
	return err
}

func (x *exchange) logf(format string, args ...any) { x.log.Warn(fmt.Sprintf(format, args...)) }

// accountsFailed returns the reason why the accounts accept no more changes, or nil.
func (x *exchange) accountsFailed() error {
	if !x.ready.Load() {
		return nil
	}
	return x.accounts.store.Health()
}

// beginAccounts starts the accounts once the market is recovered.
func (x *exchange) beginAccounts() error {
	released, err := x.accounts.begin(x.cfg, x.clock, x.lastNs, x.data, x.desk, func(order uint64) bool {
		_, open := x.core.Order(engine.OrderID(order))
		return open
	})
	if released > 0 {
		x.incident("recovery", fmt.Sprintf("%d holds of orders that the journal does not have were given back", released))
	}
	if behind := x.accounts.notBeforeMs - x.clock.NowNs()/int64(time.Millisecond); behind > 0 {
		x.incident("clock", fmt.Sprintf("the clock is %d ms behind the time before the restart: signed requests are refused until it is there", behind))
	}
	if n := x.accounts.state.Beyond(); n > 0 {
		x.incident("recovery", fmt.Sprintf("%d changes of accounts had seen commands that the journal does not have; they stand at its end", n))
	}
	return err
}

// newLoop builds a loop over core and feed. Only one loop may run at a time.
func (x *exchange) newLoop(c clock.Clock) *sequencer.Loop {
	o := sequencer.LoopOptions{
		Core: x.core, Clock: c, Sinks: []sequencer.Sink{accounts.Sink{State: x.accounts.state}, x.feed.Sink(), x.hub}, Sources: x.sources(),
		StartNs: max(x.lastNs, x.feed.Board().Load().NowNs), StartPos: x.pos,
	}
	if x.market != nil {
		o.Journal = x.market.journal
	}
	return sequencer.NewLoop(o)
}

// keep starts the snapshots of the running loop.
func (x *exchange) keep(loop *sequencer.Loop) {
	if x.market == nil {
		return
	}
	x.market.keep(replica.KeeperOptions{
		Market: replica.Options{Engine: x.engineOpts, Market: x.marketOpts, Skips: x.market.skips},
		Live:   loop, Extras: x.extras(), KeepAll: x.cfg.Journal.Keep == "all",
		SnapshotBytes: x.cfg.Journal.SnapshotBytes, SnapshotEvery: time.Duration(x.cfg.Journal.SnapshotEvery),
		Taken: func() {
			if err := x.accounts.checkpoint(); err != nil {
				x.log.Error("snapshot of the accounts failed", "error", err)
			}
		},
		Failed: func(err error) {
			x.log.Error("snapshot failed", "error", err)
			x.incident("snapshot", "a snapshot of the market failed: "+err.Error())
		},
	}, x.lookAtStores())
}

// storesFailed returns the reason why a store accepts no changes at present, nil while all do.
// Any goroutine may call it, also during the start.
func (x *exchange) storesFailed() error {
	return errors.Join(x.opened.Load().failed(), x.accountsFailed(), x.agents.desk.Health())
}

// lookAtStores returns a function that reports one incident when a store stops accepting
// changes and one when all accept them again. Only one goroutine may call that function.
func (x *exchange) lookAtStores() func() {
	failing := false
	return func() {
		err := x.storesFailed()
		if failed := err != nil; failed == failing {
			return
		}
		if failing = !failing; failing {
			x.log.Error("a store takes no changes", "error", err)
			x.incident("store", "a store takes no changes; the log says why")
		} else {
			x.incident("store", "every store takes changes again")
		}
	}
}

// stateHash returns the hash of the current state. With a journal a follower computes it, so
// that the loop does not stop; otherwise the loop computes it between two commands.
func (x *exchange) stateHash() (h replica.StateHash, err error) {
	if x.market != nil && x.market.keeper != nil {
		return x.market.keeper.Hash()
	}
	err = x.gate.Query(func() { h = replica.Hash(x.core, x.feed) })
	return h, err
}

// settle makes everything that was journaled durable.
func (x *exchange) settle() error {
	if x.market == nil || x.market.journal == nil {
		return nil
	}
	if err := x.market.journal.Sync(); err != nil {
		return fmt.Errorf("%w: %w", sequencer.ErrUnavailable, err)
	}
	return nil
}

// closeMarket writes a last snapshot of the stopped loop's market and closes the journal.
func (x *exchange) closeMarket(loop *sequencer.Loop) error {
	if x.market == nil {
		if x.data == nil {
			return nil
		}
		return x.data.close(x.data.clean) // the start ended before the journal was open
	}
	if x.market.journal == nil { // the start ended within the recovery
		return errors.Join(x.market.log.Close(), x.data.close(x.data.clean))
	}
	err := x.market.journal.Err()
	if err == nil && loop != nil {
		err = x.market.lastSnapshot(x, loop.Position())
	}
	err = errors.Join(err, x.market.journal.Close())
	return errors.Join(err, x.data.close(err == nil))
}

// incident logs an incident and stores it for the status page.
func (x *exchange) incident(kind, text string) {
	x.log.Warn(text, "incident", kind)
	in := server.Incident{AtMs: x.clock.NowNs() / int64(time.Millisecond), Kind: kind, Message: text}
	x.incidentsMu.Lock()
	defer x.incidentsMu.Unlock()
	if x.data == nil {
		x.incidents = appendIncident(x.incidents, in)
		return
	}
	x.data.meta.Incidents = appendIncident(x.data.meta.Incidents, in)
	if err := x.data.save(); err != nil {
		x.log.Error("incident not kept", "error", err)
	}
}

// maxIncidents is the number of incidents on the status page
// (docs/contract/market-data.md#time-summary-status).
const maxIncidents = 50

func appendIncident(list []server.Incident, in server.Incident) []server.Incident {
	list = append([]server.Incident{in}, list...)
	return list[:min(len(list), maxIncidents)]
}

func (x *exchange) recentIncidents() []server.Incident {
	x.incidentsMu.Lock()
	defer x.incidentsMu.Unlock()
	if x.data == nil {
		return x.incidents
	}
	return x.data.meta.Incidents
}

// beginOver removes everything that an interrupted start has written.
func (d *dataDir) beginOver() error {
	for _, name := range append([]string{"CLOCK", "NONCES"}, storeDirs...) {
		if err := os.RemoveAll(d.sub(name)); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// checkLimits refuses limits other than those the journal was written with. Otherwise a replay
// would refuse commands that were accepted and acknowledged, or accept refused ones.
func (d *dataDir) checkLimits(now engine.Options) error {
	was := d.meta.Engine
	// A directory of an older program has no limit of stops, and its commands know none.
	// It adopts the limit of the first start that has one.
	was.AccountStops = cmp.Or(was.AccountStops, now.AccountStops)
	if d.empty || was.Same(now) {
		return nil
	}
	return usage("data directory: %s was written with engine.open_orders=%d, engine.account_orders=%d and engine.account_stops=%d, "+
		"and its orders are replayed by them; the configuration has %d, %d and %d: set those, or begin another --data-dir",
		d.path, was.OpenOrders, was.AccountOrders, was.AccountStops, now.OpenOrders, now.AccountOrders, now.AccountStops)
}

// beginFilling records that the backfill and the demo data are incomplete. It lets the journal
// write the backfill in large pieces, because no part of it is acknowledged before its end.
func (x *exchange) beginFilling() error {
	if x.market == nil {
		return nil
	}
	x.data.meta.Filling = true
	x.market.journal.BeginBulk()
	return x.data.save()
}

// endBackfill makes the backfill durable and sets the start of the next loop.
func (x *exchange) endBackfill(loop *sequencer.Loop) error {
	x.pos, x.lastNs = loop.Position(), x.feed.Board().Load().NowNs
	if x.market == nil {
		return nil
	}
	if err := x.market.journal.EndBulk(); err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	return nil
}

// keepClock stores the time of a virtual clock.
func (x *exchange) keepClock() error {
	if x.data == nil || x.data.clock == nil {
		return nil
	}
	return x.data.clock.keep(x.clock.NowNs())
}

// endFilling records that the initial data are complete, and stores the time of a virtual
// clock. A start that ends earlier is begun over; no client has been admitted before.
func (x *exchange) endFilling() error {
	if err := x.keepClock(); err != nil || x.data == nil || !x.data.meta.Filling {
		return err
	}
	x.incidentsMu.Lock()
	defer x.incidentsMu.Unlock()
	x.data.meta.Filling = false
	return x.data.save()
}
