package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/node"
	"tickhive/internal/wal"
	"tickhive/server/stream"
)

// restored holds the parts that exist once every log has been read.
type restored struct {
	*base
	journal  *journal       // nil: nothing is stored
	quorum   *quorumJournal // what the loop shows is confirmed by the stream; nil: it is not
	accounts *accountSide
	agents   *agentSide
	from     *node.Snapshot // with which a replica begins; nil: with the first message

	state  *machine.State // what the loop applies to; of a replica: what it executes
	pos    uint64         // journal position at which the next loop begins
	lastNs int64          // time of the command at pos
	keyed  bool           // an earlier process had API keys

	owed  []func() error // steps of the start that write records and have had no room yet (whenRoom); guarded by owing
	owing sync.Mutex
	// ahead reports that Recheckpoint has still to run, before which the journal takes no record.
	ahead atomic.Bool
}

// whenRoom runs a step of the start that may write records. Where the disk has no room for them, the step and those
// after it wait, and the watch tries them again: a full disk keeps nobody from reading. A step that is tried again must
// go on where it stopped. In an empty directory there is nothing to read: there the error ends the start.
func (r *restored) whenRoom(step func() error) error {
	r.owing.Lock()
	defer r.owing.Unlock()
	if len(r.owed) == 0 {
		err := step()
		if !noRoom(err) || r.data.Empty() {
			return err
		}
		r.log.Error("a step of the start waits until the disk has room", "error", err)
		r.front.owes.Store(&err)
	}
	r.owed = append(r.owed, step)
	return nil
}

// settle does what the start has left for want of room. The watch calls it, also while a driver steps it within a step.
func (r *restored) settle() {
	if r.data.Settle() != nil || !r.owing.TryLock() {
		return
	}
	defer r.owing.Unlock()
	for len(r.owed) > 0 {
		if err := r.owed[0](); err != nil {
			r.front.owes.Store(&err)
			return
		}
		r.owed = r.owed[1:]
	}
	r.front.owes.Store(nil)
}

// recheckpoint places the records of the accounts that are ahead of the journal (accounts.Recheckpoint).
func (r *restored) recheckpoint() error {
	err := accounts.Recheckpoint(r.accounts.store, r.accounts.state)
	r.ahead.Store(err != nil)
	if err != nil && !errors.Is(err, wal.ErrStopped) {
		err = wal.Unavailable("accounts: a snapshot after the recovery", err)
	}
	return err
}

// errAhead refuses the records of the journal before Recheckpoint.
var errAhead = errors.New("records of the accounts are ahead of the journal, and no snapshot has them yet")

// noRoom reports whether a change was refused because it could not be written at the moment. After a failed sync only a
// restart helps, so waiting is of no use.
func noRoom(err error) bool {
	return !errors.Is(err, wal.ErrStopped) &&
		(errors.Is(err, wal.ErrUnavailable) || errors.Is(err, sequencer.ErrUnavailable))
}

// Recovered is an exchange whose stores and market have the state that the last process left. No loop runs.
// Start leads to the next phase; Stop ends the exchange.
type Recovered struct{ *restored }

// Recover reads every log to its end. When ctx is canceled, it returns ctx's error. After an error
// everything that it opened is closed, and Stop of o is left to the caller.
func (o *Opened) Recover(ctx context.Context) (*Recovered, error) {
	r := &restored{base: o.base}
	if err := r.recover(ctx); err != nil {
		r.front.enter(phaseView{})
		err = errors.Join(err, r.closeStores(), r.journal.close(nil))
		o.failed = errors.Is(err, wal.ErrStopped) || errors.Is(err, wal.ErrEndUnknown)
		return nil, explainDamage(err, o.o.AcceptDataLoss)
	}
	return &Recovered{r}, nil
}

func (r *restored) recover(ctx context.Context) error {
	if err := r.data.KeepMarket(r.o.Market); err != nil {
		return err
	}
	if r.data.Stored() {
		if err := r.openJournal(); err != nil {
			return err
		}
	}
	if err := r.chooseSnapshot(ctx); err != nil {
		return err
	}
	log, err := r.openAccounts()
	if err != nil {
		return err
	}
	if err := r.merge(ctx, log); err != nil {
		return errors.Join(err, log.Close())
	}
	r.keyed = log.State().KeysMade() > 0
	if r.accounts, err = beginAccounts(log); err != nil {
		return err
	}
	if err := r.attachAccounts(); err != nil {
		return err
	}
	r.front.enter(phaseView{journal: r.journal, accounts: r.accounts})
	if r.agents, err = r.openAgents(r.state); err != nil {
		return err
	}
	if err := r.setSettings(); err != nil {
		return err
	}
	r.refuseEarlier(max(r.openedNs, r.lastNs, r.accounts.state.LastNs()))
	stream.SetEpoch(r.front.hub, r.data.Epoch())
	return r.data.KeepEnds()
}

// setSettings makes the configured settings the ones in force. What the exchange stores has a record of them. Where the
// disk has no room for the record, the settings before stay in force, so that a full disk keeps nobody from reading.
func (r *restored) setSettings() error {
	settings := r.o.settings()
	if r.journal == nil {
		r.core.SetLimits(settings.Engine)
		return nil
	}
	err := r.state.Configure(settings, func(cmd *engine.Command) error {
		_, err := r.journal.writer.Append([]*engine.Command{cmd})
		return err
	})
	if noRoom(err) && !r.data.Empty() {
		r.reportRecovery("the disk has no room for changed settings: those before stay in force until a restart",
			err.Error())
		return nil
	}
	if err == nil && r.state.Pos > r.pos {
		r.pos, err = r.state.Pos, r.journal.writer.Sync()
	}
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// refuseEarlier refuses every signed request that an earlier process may have accepted, whose clock had reached
// knownNs: the time of its last record or message, and of this start. That process accepted timestamps less than
// auth.AheadMs ahead of its clock; one ms more makes up for the rounding to ms. A virtual clock stands until it is
// moved, so a bound ahead of it might last for ever: there a restart forgets the nonces of the present instant. Without
// a key of an earlier process nothing can have been accepted, so nobody has to wait.
func (r *restored) refuseEarlier(knownNs int64) {
	if r.accounts.store.Recovered().LastSeq == 0 {
		return
	}
	notBeforeMs := knownNs / int64(time.Millisecond)
	if r.keyed && !r.clock.Virtual() {
		notBeforeMs += auth.AheadMs + 1
	}
	r.front.account.RefuseBefore(notBeforeMs)
	before := max(r.clock.NowNs(), r.front.knownNs.Load())
	r.front.knownNs.Store(max(r.front.knownNs.Load(), knownNs))
	if behind := time.Duration(knownNs - before).Truncate(time.Millisecond); behind > 0 {
		r.incident("clock", fmt.Sprintf("the clock is %s behind the last recorded time: "+
			"signed requests are rejected until it catches up", behind), "")
	}
}

func (r *restored) openJournal() (err error) {
	dir := EngineLog(r.data.Sub("engine"))
	dir.FS, dir.Options.SegmentBytes = r.o.Journal.FS, r.o.Journal.SegmentBytes
	if dir.Options, err = r.logOptions("engine", dir.Options); err != nil {
		return err
	}
	before := dir.Options.BeforeWrite
	dir.Options.BeforeWrite = func() error {
		if r.ahead.Load() {
			return errAhead
		}
		return before()
	}
	r.journal, err = openJournal(dir, r.o.Journal.Sync, r.o.Machine, r.reportRecovery)
	if err == nil {
		r.front.enter(phaseView{journal: r.journal})
	}
	return err
}

// noteLostSync stores that a sync of a log failed. Clients may have seen unsynced records of the journal, unless its
// sync policy is always, but never of another log. Before the journal is open such records count as seen, because the
// process that wrote the journal may have had another policy.
func (r *restored) noteLostSync(log string) {
	shown := log == "engine" && (r.journal == nil || r.o.Journal.Sync != sequencer.SyncAlways)
	if err := r.data.NoteLostSync(shown); err != nil {
		r.log.Error("a failed sync is not stored", "error", err)
	}
}

func (r *restored) reportRecovery(message, detail string) {
	r.incident("recovery", message, detail)
}

// reportSnapshots reports damaged snapshots.
func (r *restored) reportSnapshots(damaged []string) {
	for _, bad := range damaged {
		r.reportRecovery("damaged snapshot ignored; using the previous one", bad)
	}
}

// openAccounts opens the accounts' log and restores its newest usable snapshot. The market's
// journal is the one that the accounts fold (docs/contract/storage.md#recovery).
func (r *restored) openAccounts() (*accounts.Recovery, error) {
	log, err := r.logOptions("accounts", wal.Options{
		NoLock: true, Writer: logWriter, SegmentBytes: r.o.Journal.SegmentBytes,
	})
	if err != nil {
		return nil, err
	}
	o := accounts.StoreOptions{State: r.o.Accounts, Config: durable.Config{
		Dir: r.data.Sub("accounts"), Clock: r.clock, Logf: r.logf, KeepAll: r.o.Journal.KeepAll,
		SnapshotBytes: r.o.Journal.SnapshotBytes, Driver: r.o.Machine.Driver, Log: log, Seal: r.secrets,
		Follows: r.o.Follow != nil,
	}}
	r.beginWith(&o)
	if r.journal != nil {
		o.FS, o.EngineDurable, o.EngineLast = r.o.Machine.FS, r.journal.durable, r.journal.log.LastSeq()
	}
	recovery, err := accounts.Recover(o)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return recovery, nil
}

// merge applies the records of the market's journal and of the accounts' log in the order in which they were
// written. Each record of the accounts names the position of the journal up to which the accounts had folded
// the market's events.
func (r *restored) merge(ctx context.Context, log *accounts.Recovery) error {
	o := machine.Options{
		Engine: r.o.Engine, Market: r.o.Market, Core: r.core, Feed: r.feed, Extras: r.extras(),
		Launchpad: r.o.Launchpad, Hive: r.o.Hive, Money: log.State(),
	}
	if r.journal == nil {
		r.state = machine.New(o)
		return nil
	}
	market, err := r.journal.load(o, log.State().EnginePos(), r.reportRecovery)
	if err != nil {
		return err
	}
	defer market.close()
	r.reportSnapshots(market.found.Damaged)
	bar := r.o.Progress("recovery")
	market.progress = func(done, total int64) {
		bar.Set(done, total)
		r.front.progress.Store(done * 1_000_000 / max(total, 1))
	}
	next := func() (pos uint64, apply func() error, err error) {
		rec, err := log.Next()
		if err != nil {
			return 0, nil, err
		}
		return rec.EnginePos, func() error { log.Apply(rec); return nil }, nil
	}
	replayTo := func(pos uint64) error { return market.replayTo(ctx, pos) }
	if err := keeper.Merge(next, replayTo, r.journal.log.LastSeq()); err != nil {
		return r.logPoison(err)
	}
	if err := market.finish(); err != nil {
		return err
	}
	if err := market.end(); err != nil {
		return err
	}
	r.state = market.market
	if r.pos, r.lastNs = r.state.Pos, r.state.LastNs; r.pos > 0 {
		bar.Done()
		r.publish()
	}
	return nil
}

// logPoison logs the stack of a record that cannot be applied.
func (r *restored) logPoison(err error) error {
	var poison *machine.PoisonError
	if errors.As(err, &poison) {
		r.log.Error("a record of the journal cannot be applied", "record", poison.Seq,
			"stack", string(poison.Stack))
	}
	return err
}

// publish publishes the recovered market.
func (r *restored) publish() {
	now := max(r.clock.NowNs(), r.lastNs)
	r.feed.Publish(now)
	if manual, ok := r.clock.(*clock.Manual); ok {
		manual.Set(now)
	}
	// The simulated market did not run until now. On a real clock it may know no more than its last trades.
	if r.sim != nil && (!r.clock.Virtual() || r.sim.NextNs() < now) {
		r.sim.Skip(now)
	}
	if !r.data.WasClean() {
		r.incident("restart", "the previous run was not shut down cleanly; its records were read again",
			fmt.Sprintf("recovered %d commands", r.pos))
	}
}

// releaseHolds releases the money that accounts hold for orders that the engine does not have.
func (r *restored) releaseHolds() {
	released := r.accounts.state.ReleaseUnknown(func(order uint64) bool {
		_, open := r.core.Order(engine.OrderID(order))
		return open
	})
	if released > 0 {
		r.reportRecovery("released holds of orders that the journal does not contain", fmt.Sprint(released, " holds"))
	}
}

// attachAccounts ends the accounts' recovery once the whole journal was folded: it releases holds
// of orders that the engine does not have, attaches the accounts to their handlers, and makes the
// configured rates effective.
func (r *restored) attachAccounts() error {
	a := r.accounts
	r.reportSnapshots(a.store.Recovered().Damaged)
	if r.o.Follow == nil { // otherwise no order is known yet
		r.releaseHolds()
	}
	if n := a.state.AheadOfJournal(); n > 0 {
		r.reportRecovery("account changes refer to commands that the journal does not contain; they are placed at its "+
			"end", fmt.Sprint(n, " changes"))
	}
	if r.o.AcceptDataLoss || a.state.AheadOfJournal() > 0 {
		if err := a.state.Check(); errors.Is(err, accounts.ErrOverdrawn) {
			r.incident("overdrawn", "an account withdrew or sold what lost commands had brought it; deposit the "+
				"difference", err.Error())
		}
	}
	if r.o.AcceptDataLoss || !r.data.WasClean() { // a failed sync may have lost a withdrawal too
		if above := a.state.AboveBound(); above != "" {
			r.incident("above_bound", "a balance is above 10^20; commands that made room for it are lost; "+
				"withdraw the difference", above)
		}
	}
	if r.o.quorum() {
		var err error
		if a.shown, err = showAccounts(a); err != nil {
			return err
		}
	}
	r.front.attach(&r.o.Hooks, a)
	if r.o.Follow != nil {
		return nil // the rates are in the writer's records
	}
	if r.journal != nil {
		r.journal.log.Retain(a.store.RetainFrom)
	}
	// The first step, so that it is tried in any case: ahead then says whether the journal has to wait.
	if err := r.whenRoom(r.recheckpoint); err != nil {
		return err
	}
	return r.whenRoom(func() error { return a.setRates(r.o.Referral) })
}
