package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/server/stream"
)

// restored holds the parts that exist once every log has been read.
type restored struct {
	*base
	journal  *journal       // nil: nothing is stored
	quorum   *quorumJournal // what the loop shows is confirmed by the stream; nil: it is not
	lead     *leading       // nil: this node is not the writer of a stream, or not yet
	accounts *accountSide
	agents   *agentSide
	follows  *Following // a replica; nil: a writer

	state  *machine.State // what the loop applies to, or a replica executes
	shown  *machine.Shown // what readers see of it beside the market
	pos    uint64         // journal position at which the next loop begins
	lastNs int64          // no later command has an earlier time
	keyed  bool           // an earlier process had API keys

	owed  []func() error // steps of the start that write records and have had no room yet (whenRoom); guarded by owing
	owing sync.Mutex
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

// noRoom reports whether a change was refused because it could not be written at the moment. After a failed sync only a
// restart helps, so waiting is of no use.
func noRoom(err error) bool {
	return !errors.Is(err, wal.ErrStopped) &&
		(errors.Is(err, wal.ErrUnavailable) || errors.Is(err, sequencer.ErrUnavailable))
}

// Recovered is an exchange with the state that the last process left. No loop runs.
// Start leads to the next phase; Stop ends the exchange.
type Recovered struct{ *restored }

// Recover reads the log to its end. When ctx is canceled, it returns ctx's error. After an error
// everything that it opened is closed, and Stop of o is left to the caller.
func (o *Opened) Recover(ctx context.Context) (*Recovered, error) {
	r := &restored{base: o.base}
	if err := r.recover(ctx); err != nil {
		r.front.enter(phaseView{})
		r.lead.end()
		err = errors.Join(err, r.journal.close(nil))
		o.failed = errors.Is(err, wal.ErrStopped) || errors.Is(err, wal.ErrEndUnknown)
		return nil, explainDamage(err, o.o.AcceptDataLoss)
	}
	return &Recovered{r}, nil
}

func (r *restored) recover(ctx context.Context) error {
	if r.o.Follow != nil { // Follow executes the stream
		return r.recoverFollower(ctx)
	}
	if r.data.Stored() {
		if err := r.openJournal(); err != nil {
			return err
		}
	}
	if err := r.replay(ctx); err != nil {
		return err
	}
	r.keyed = r.state.Money.KeysMade() > 0
	if err := r.setSettings(); err != nil {
		return err
	}
	if err := r.show(); err != nil {
		return err
	}
	r.refuseEarlier(max(r.openedNs, r.lastNs))
	if r.lead != nil {
		r.refuseEarlier(r.lead.term.FoundNs)
	}
	stream.SetEpoch(r.front.hub, r.data.Epoch())
	return r.data.KeepEnd()
}

// show lets the handlers reach the parts beside the market, as the state has them now.
func (r *restored) show() error {
	r.shown = machine.NewShown(r.state)
	if err := r.shown.Accounts.Missing(); err != nil { // a writer verifies every request
		return cmdline.UsageError{Err: err}
	}
	r.accounts = &accountSide{
		gate: &r.front.gate, secrets: r.secrets, wait: r.o.waits(), state: r.state.Money, view: r.shown.Accounts,
	}
	r.front.attach(&r.o.Hooks, r.accounts)
	r.front.enter(phaseView{journal: r.journal, accounts: r.accounts})
	return r.openAgents()
}

// setSettings makes the configured settings the ones in force. What the exchange stores has a record of them. Where the
// disk has no room for the record, the settings before stay in force, so that a full disk keeps nobody from reading. A
// node that has taken over goes on with those of its writer.
func (r *restored) setSettings() error {
	if r.o.Stream.Handover != nil {
		return nil
	}
	settings := r.o.settings()
	if r.journal == nil {
		r.state.Set(settings)
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
	if r.state.Pos == 0 {
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
	dir := EngineLog(r.data.Sub(datadir.LogName))
	dir.FS, dir.Options.SegmentBytes = r.o.Journal.FS, r.o.Journal.SegmentBytes
	if dir.Options, err = r.logOptions(dir.Options); err != nil {
		return err
	}
	r.journal, err = openJournal(dir, r.o.Journal.Sync, r.o.Machine, r.reportRecovery)
	if err != nil {
		return err
	}
	if r.o.Stream.Open != nil {
		r.journal.log.KeepFrom(0) // until it is known what the stream has
	}
	r.front.enter(phaseView{journal: r.journal})
	return nil
}

// noteLostSync stores that a sync of the journal failed. Clients may have seen unsynced records, unless the sync policy
// is always. Before the journal is open such records count as seen, because the process that wrote them may have had
// another policy.
func (r *restored) noteLostSync() {
	shown := (r.journal == nil || r.o.Journal.Sync != sequencer.SyncAlways) && !r.data.Covered()
	if err := r.data.NoteLostSync(shown); err != nil {
		r.log.Error("a failed sync is not stored", "error", err)
	}
}

func (r *restored) reportRecovery(message, detail string) {
	r.incident("recovery", message, detail)
}

// machineOptions returns the constants of the state.
func (b *base) machineOptions() machine.Options {
	return machine.Options{
		Engine: b.o.Engine, Market: b.o.Market, Core: b.core, Feed: b.feed, Extras: b.extras(), Secrets: b.secrets,
	}
}

// replay applies the records of the journal.
func (r *restored) replay(ctx context.Context) error {
	if r.journal == nil {
		r.state = machine.New(r.machineOptions())
		return nil
	}
	recovery, err := r.journal.load(r.machineOptions(), r.reportRecovery)
	if err != nil {
		return err
	}
	defer recovery.close()
	for _, bad := range recovery.found.Damaged {
		r.reportRecovery("damaged snapshot ignored; using the previous one", bad)
	}
	bar := r.o.Progress("recovery")
	recovery.progress = func(done, total int64) {
		bar.Set(done, total)
		r.front.progress.Store(done * 1_000_000 / max(total, 1))
	}
	if err := recovery.replay(ctx); err != nil {
		return r.logPoison(err)
	}
	r.state = recovery.state
	if r.o.Stream.Open != nil && !r.data.Empty() {
		if err := r.join(ctx); err != nil {
			return r.logPoison(err)
		}
	}
	if err := recovery.finish(); err != nil {
		return err
	}
	if err := recovery.end(); err != nil {
		return err
	}
	r.pos, r.lastNs = r.state.Pos, r.state.LastNs
	if r.lead != nil { // other nodes have shown what had ended by then
		r.lastNs = max(r.lastNs, r.lead.term.FoundNs)
	}
	if r.pos > 0 {
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

// publish publishes the recovered market: with quorum as of the time that the stream has, otherwise as of now.
func (r *restored) publish() {
	now := max(r.clock.NowNs(), r.lastNs)
	shown := now
	if r.o.quorum() {
		shown = r.lastNs
	}
	r.feed.Publish(shown)
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
