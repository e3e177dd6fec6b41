package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/events"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/server/public"
)

// FollowOptions makes an exchange a replica: it executes the records of a stream.
type FollowOptions struct {
	Log     jet.Log
	Keys    *stream.Keys  // by which messages are believed
	Genesis node.Genesis  // of the stream
	MaxLag  time.Duration // beyond which it refuses reads
	Events  *jet.Events   // takes the events of what is executed; nil: none
	Copy    *node.Copy    // takes the records; nil: nothing is stored
	Stands  bool          // the node may become the writer (TakeOver); it has a Copy
	// Snapshot returns the snapshot with which a node begins that has none of its own, and nil if it begins with the
	// first message; nil: it does. Follow closes the snapshot.
	Snapshot func(ctx context.Context) (*wal.SnapshotFile, error)
	// Client asks the internal listeners of other nodes. With a Copy and Trim the node removes the messages that the
	// snapshots of two nodes make unnecessary.
	Client *http.Client
	Trim   bool
}

// errFollowEnds ends the execution of a stream in order.
var errFollowEnds = errors.New("exchange: the replica stops")

func (o *Options) epoch() string {
	if o.Follow == nil {
		return ""
	}
	return o.Follow.Genesis.Epoch
}

// Following is a replica that executes the records of a stream. One goroutine executes; any goroutine may call
// the methods.
type Following struct {
	*restored
	reader  *stream.Reader
	sinks   []sequencer.Sink
	shownNs int64 // the newest published time
	live    bool  // what is executed is shown: it is not read from the copy

	mu       sync.Mutex    // held while a message is executed
	took     node.Changes  // messages that were taken
	sentNs   atomic.Int64  // of the last message that counts
	heardNs  atomic.Int64  // when it arrived, by the machine's clock
	read     atomic.Uint64 // number of the last message that was read
	end      wal.Position  // of the state; guarded by mu
	info     termInfo      // of the newest term; guarded by mu
	infoText []byte        // as the term record or the head of a snapshot has it
	infoTerm uint64
	failed   error       // why the state must not be trusted any more; guarded by mu
	states   node.States // of the stream
	covered  uint64      // position of the snapshot in the copy, 0 for none
	fetched  bool        // the state is another node's snapshot
	begun    node.Head   // of the snapshot with which it began
	term     atomic.Uint64
	position atomic.Uint64
	void     atomic.Uint64    // messages that do not count
	halted   atomic.Bool      // a later program writes; nothing more is executed
	export   *events.Exporter // nil: none
	ended    chan error       // receives the reason why it stopped
	over     chan struct{}    // closed then
	cancel   context.CancelCauseFunc
	age      *ageWatch
	keeps    *snapshots // of the copy; nil: there is none
	trims    *trimming  // nil: it does not trim
	tells    *announcing
}

// Follow executes the stream up to its present end, and then goes on in the background. After an error the caller
// stops r.
func (r *Recovered) Follow(ctx context.Context) (*Following, error) {
	y := r.follows
	from := y.reader.State().Seq
	last, err := r.o.Follow.Log.Last(ctx)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	if y.tells, err = r.announce(r.o.Follow.Log, y.self); err != nil {
		return nil, err
	}
	r.front.runSockets(r.o.Machine.Driver)
	r.front.enter(phaseView{accounts: r.accounts, follows: y})
	work, cancel := context.WithCancelCause(context.Background())
	y.cancel = cancel
	if y.export != nil {
		go y.export.Run(work)
	}
	f := &following{
		y: y, work: work, next: from + 1, from: from, last: last, bar: r.o.Progress("recovery"),
		level: make(chan struct{}), looks: make(chan struct{}),
	}
	if from >= last {
		f.atLevel()
	}
	f.run()
	if err = f.await(ctx); err == nil {
		err = y.mayReplace()
	}
	if err == nil {
		y.keepAge()
		y.keepSnapshots()
		y.keepTrim()
		return y, nil
	}
	cancel(err)
	<-y.over
	y.tells.end()
	r.front.endSockets(r.o.Machine.Driver)
	r.front.enter(phaseView{accounts: r.accounts})
	return nil, err
}

// following reads the stream, on a goroutine or by a driver.
type following struct {
	y          *Following
	work       context.Context
	next       uint64 // number of the next message
	from, last uint64 // what there was when it began
	bar        Progress
	level      chan struct{} // closed when it has read up to last
	looks      chan struct{} // closed at level, and at the end
	once       sync.Once
	lostNs     int64 // since when the stream ends earlier than it did; 0: it does not
}

// atLevel tells that the node has what the stream had.
func (f *following) atLevel() {
	close(f.level)
	f.look()
}

func (f *following) look() { f.once.Do(func() { close(f.looks) }) }

// run starts the reading.
func (f *following) run() {
	if d := f.y.o.Machine.Driver; d != nil {
		d.Drive("follow", f)
		return
	}
	go func() { f.end(f.y.o.Follow.Log.Follow(f.work, f.next, f.take)) }()
}

// await waits until the node is level with the stream.
func (f *following) await(ctx context.Context) error {
	if d := f.y.o.Machine.Driver; d != nil {
		d.Wait(f.looks)
	} else {
		select {
		case <-f.looks:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	select {
	case <-f.level:
		return nil
	default:
	}
	<-f.y.over
	err := <-f.y.ended
	f.y.ended <- err
	return explainFollow(err)
}

// take executes a message, and tells how far the node is.
func (f *following) take(seq uint64, data []byte) error {
	y, void := f.y, f.y.void.Load()
	var err error
	if stream.MayBeTerm(data) { // the candidate may have read what the stream has lost, as this node has
		err = f.continues()
	}
	if err == nil {
		err = y.take(seq, data)
	}
	if err == nil && y.void.Load() > void { // it may be void for this node alone
		err = f.continues()
	}
	if err == nil && y.export != nil {
		err = y.export.Take(f.work, seq)
	}
	switch {
	case err != nil:
	case seq < f.last:
		done, all := int64(seq-f.from), int64(f.last-f.from)
		f.bar.Set(done, all)
		y.front.progress.Store(done * 1_000_000 / all)
	case seq == f.last:
		f.bar.Done()
		y.front.progress.Store(-1)
		f.atLevel()
	}
	return err
}

// continues returns an error unless the stream still has the last message that counts for this node.
func (f *following) continues() error {
	m, at := f.y.o.node(), f.y.reader.State()
	return node.Continues(f.work, &m, f.y.o.Follow.Log, &at)
}

// end ends the reading. A node that serves clients and meets the records of a later program executes nothing more, but
// goes on serving the state that it has: if the node ended, its clients would lose their sockets.
func (f *following) end(err error) {
	y := f.y
	if node.Newer(err) && y.read.Load() >= f.last && y.o.Machine.Driver == nil {
		y.halted.Store(true)
		y.incident("stream", "this node executes nothing more, and refuses reads beyond replica.max_lag", err.Error())
		<-f.work.Done()
		err = context.Cause(f.work)
	}
	if errors.Is(err, jet.ErrTrimmed) && y.o.Follow.Copy != nil && !y.fetched {
		err = fmt.Errorf("%w: %w", node.ErrOffChain, err) // the next start begins with a snapshot
	}
	y.ended <- err
	close(y.over)
	f.look()
}

// Times of a follower that a driver steps.
const (
	followLook = 10 * time.Millisecond // between two looks for messages
	lostAfter  = 30 * time.Second      // until messages that the stream had count as lost
)

// Step reads the messages that the stream has now, at most 64.
func (f *following) Step() step.Progress {
	log, now := f.y.o.Follow.Log, f.y.o.Machine.Clock.NowNs()
	if f.work.Err() != nil {
		f.end(context.Cause(f.work))
		return step.Progress{Stopped: true}
	}
	last, err := log.Last(f.work)
	for n := 0; err == nil && f.next <= last && n < 64; n++ {
		var data []byte
		if data, err = log.Read(f.work, f.next); err != nil {
			break
		}
		if err := f.take(f.next, data); err != nil {
			f.end(err)
			return step.Progress{Stopped: true}
		}
		f.next++
		f.lostNs = 0
	}
	switch {
	case errors.Is(err, jet.ErrTrimmed), errors.Is(err, jet.ErrLost):
		f.end(err)
		return step.Progress{Stopped: true}
	case err == nil && last >= f.next:
		return step.Worked()
	case err == nil && last < f.next-1, errors.Is(err, jet.ErrMissing):
		if f.lostNs == 0 {
			f.lostNs = now
		}
		if now-f.lostNs >= int64(lostAfter) {
			f.end(fmt.Errorf("%w: it ends at %d, and had %d", jet.ErrMissing, last, f.next-1))
			return step.Progress{Stopped: true}
		}
	}
	return step.Progress{NextNs: now + int64(followLook)}
}

// Wait returns when stop receives (nil), or with the reason why the replica cannot go on.
func (y *Following) Wait(stop <-chan struct{}) error {
	select {
	case err := <-y.front.failed:
		return err
	case <-y.over:
		return y.Failure()
	case <-stop:
		return nil
	}
}

// Failure returns the reason why the replica has stopped, nil while it has not.
func (y *Following) Failure() error {
	select {
	case <-y.over:
	default:
		return nil
	}
	err := <-y.ended
	y.ended <- err // for the next caller
	return explainFollow(err)
}

// explainFollow explains why the replica cannot go on.
func explainFollow(err error) error {
	if errors.Is(err, events.ErrLost) || errors.Is(err, node.ErrOffChain) {
		return err
	}
	return node.Explain(err)
}

// exportTo makes the replica export events, if it is to.
func (y *Following) exportTo(ctx context.Context, now uint64) (err error) {
	f := y.o.Follow
	if f.Events == nil {
		return nil
	}
	y.export, err = events.NewExporter(ctx, f.Events, f.Genesis.Epoch, now, accountID, func(err error) {
		if err == nil {
			y.log.Info("the stream of events takes events again")
			return
		}
		y.incident("stream", "the stream of events takes no events; they wait, and so does this replica", err.Error())
	})
	return err
}

func accountID(n engine.AccountID) string { return accounts.UserID(uint32(n)).String() }

// fold hands the events of what is executed to the exporter.
func (y *Following) fold(events []engine.Event, pos uint64) {
	if !y.live {
		return
	}
	if y.export != nil {
		y.export.Fold(events, pos)
	}
}

// take reads a message and executes its records, if it counts.
func (y *Following) take(seq uint64, data []byte) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	m, valid, err := y.reader.Next(seq, data)
	if err != nil {
		return err
	}
	y.read.Store(seq)
	if !valid {
		y.void.Add(1)
		return nil
	}
	y.heardNs.Store(y.steadyNs())
	before := y.state.Pos
	if err := y.execute(&m); err != nil {
		y.failed = fmt.Errorf("message %d: %w", seq, err)
		return y.failed
	}
	if m.Kind == stream.Term {
		y.learn(m.Term, m.Info)
		if err := y.replaceable(); err != nil && y.front.ready.Load() {
			y.incident("stream", "the writer has started again, and this standby cannot take over from it", err.Error())
		}
	}
	y.publish(m.SentNs, y.state.Pos > before)
	y.term.Store(y.reader.State().Term)
	y.position.Store(y.state.Pos)
	y.sentNs.Store(m.SentNs)
	y.took.Tell()
	return nil
}

// learn notes what the record of a term tells about its writer. The caller holds the lock.
func (y *Following) learn(term uint64, text []byte) {
	y.info, y.infoText, y.infoTerm = infoOf(text), bytes.Clone(text), term
	y.front.forward.Lead(y.info.writer(term))
	if y.lacksKey() {
		y.log.Warn("auth.secret_key_file lacks the key with which the writer seals secrets: this node shows no names, "+
			"and verifies no signed request whose key is sealed by it", "key", y.info.SealedWith)
	}
}

// execute appends the records of a message that counts to the copy, executes them, and compares the writer's digest.
// Records that the state has already pass over: their chain is compared where the state ends.
func (y *Following) execute(m *stream.Message) error {
	at := y.reader.State()
	if err := node.Meets(y.end, m); err != nil {
		return err
	}
	if c := y.o.Follow.Copy; c != nil {
		if err := c.Take(m, at); err != nil {
			return fmt.Errorf("the copy of this node: %w", err)
		}
	}
	if hook := y.o.Hooks.Follow; hook != nil {
		hook(y.state, m)
	}
	if _, err := node.Execute(y.state, m); err != nil {
		return err
	}
	if at.End.Seq >= y.end.Seq {
		y.end = at.End
	}
	y.states.Note(at)
	return nil
}

// steadyNs returns the time by which silence is measured.
func (y *Following) steadyNs() int64 {
	if y.o.Machine.Driver != nil {
		return y.o.Machine.Clock.NowNs()
	}
	return clock.MachineNs()
}

// publish publishes the state after the executed records. The writer stamps no later command before sentNs, so a candle
// that has ended by then is final. A pair with an unfinished command is not shown, and no time passes meanwhile.
func (y *Following) publish(sentNs int64, executed bool) {
	unfinished := y.core.AppendUnfinished(nil)
	now := max(sentNs, y.state.LastNs, y.shownNs)
	if len(unfinished) > 0 {
		now = max(y.shownNs, min(now, y.state.LastNs))
	}
	next := int64(1<<63 - 1)
	for _, s := range y.sinks {
		if w, ok := s.(sequencer.Withholder); ok {
			w.Withhold(unfinished)
		}
		next = min(next, s.NextNs())
	}
	if !executed && next > now {
		return
	}
	y.shownNs = now
	y.shown.Follow()
	for _, s := range y.sinks {
		s.Publish(now)
	}
}

// Admit makes the replica serve clients.
func (y *Following) Admit() {
	y.front.admit()
	y.log.Info("ready", "public", listen.Address(y.front.sockets.public),
		"internal", listen.Address(y.front.sockets.internal), "pairs", len(y.feed.Board().Load().Sorted()),
		"position", y.position.Load())
}

// Query calls fn between two messages, for the snapshots of the copy.
//
// Errors: the reason why the state must not be trusted.
func (y *Following) Query(fn func()) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.failed == nil {
		fn()
	}
	return y.failed
}

// StateHash returns the hash of the state after the last message.
func (y *Following) StateHash() (machine.StateHash, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.state.Hash(), nil
}

func (y *Following) lagNs() int64 { return max(y.clock.NowNs()-y.sentNs.Load(), 0) }

// status describes the replica for /api/status.
func (y *Following) status() *public.Replication {
	lag, since := y.lagNs(), int64(0)
	if most := int64(y.o.Follow.MaxLag); lag > most {
		since = (y.sentNs.Load() + most) / int64(time.Millisecond)
	}
	return &public.Replication{
		Role: node.RoleReplica, Term: y.term.Load(), Position: y.position.Load(), LagMs: lag / int64(time.Millisecond),
		Writer: y.front.forward.Writer().Address, Failed: y.halted.Load(), StaleSinceMs: since,
	}
}

// Stop ends the replica.
func (y *Following) Stop(ctx context.Context) {
	y.age.End()
	if y.trims != nil {
		y.trims.End()
	}
	if y.keeps != nil {
		y.keeps.End() // after a pending snapshot
	}
	y.tells.end()
	y.front.endSockets(y.o.Machine.Driver)
	y.cancel(errFollowEnds)
	step.Wait(y.o.Machine.Driver, y.over)
	if y.export != nil {
		y.export.Wait()
	}
	y.restored.stop(ctx)
	y.front.forward.Close()
}
