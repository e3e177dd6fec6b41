package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/events"
	"tickhive/internal/listen"
	"tickhive/internal/machine"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/wal"
	"tickhive/server/public"
)

// FollowOptions makes an exchange a replica: it executes the records of a stream.
type FollowOptions struct {
	Log     jet.Log
	Genesis node.Genesis  // of the stream
	MaxLag  time.Duration // beyond which it refuses reads
	Events  *jet.Events   // takes the events of what is executed; nil: none
	Copy    *node.Copy    // takes the records; nil: nothing is stored
	Stands  bool          // the node may become the writer (TakeOver); it has a Copy
	// ArchiveEvery is the time between two snapshots that a node with a Copy archives; 0: it archives none. Trim
	// removes the messages that the archived snapshots reflect.
	ArchiveEvery time.Duration
	// Peers are the addresses of internal listeners of nodes that give a snapshot. This node sends its own token to
	// them.
	Peers []string
	Trim  bool
}

// errSkips reports a record of `journal skip`, which changes the meaning of an earlier one.
var errSkips = errors.New("the writer's journal skips a record, which a replica has executed already")

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

	mu       sync.Mutex // held while a message is executed
	changes  node.ViewChanges
	sentNs   atomic.Int64  // of the last message that counts
	heardNs  atomic.Int64  // when it arrived, by the machine's clock
	read     atomic.Uint64 // number of the last message that was read
	end      wal.Position  // of the log; guarded by mu
	info     termInfo      // of the newest term; guarded by mu
	infoText []byte        // its bytes; guarded by mu
	valid    uint64        // number of the last message that counts; guarded by mu
	term     atomic.Uint64
	position atomic.Uint64
	void     atomic.Uint64    // messages that do not count
	halted   atomic.Bool      // a later program writes; nothing more is executed
	export   *events.Exporter // nil: none
	ended    chan error       // receives the reason why it stopped
	cancel   context.CancelCauseFunc
	archives sync.WaitGroup // the goroutine that archives snapshots
	age      *ageWatch

	unannounce func() // ends the answers to nodes that look for a snapshot
}

// newFollowing returns a replica behind the snapshot with which Recover began, or before the first message. last is
// the number of the stream's last message.
func (r *Recovered) newFollowing(ctx context.Context, last uint64) (*Following, error) {
	y := &Following{
		restored: r.restored, reader: stream.NewReader(r.begins(), node.Rules), ended: make(chan error, 1),
		sinks: []sequencer.Sink{r.feed.Sink(), r.front.hub},
	}
	o := r.machineOptions()
	o.Sinks = []func([]engine.Event, uint64){r.front.hub.Fold}
	if r.o.Follow.Copy == nil {
		o.Extras = nil // only a writer's simulated market has to know its orders
	}
	if err := y.exportTo(ctx, &o, last); err != nil {
		return nil, err
	}
	r.state = machine.New(o)
	if err := y.begin(r.from); err != nil {
		return nil, err
	}
	return y, nil
}

// Follow executes the stream up to its present end, and then goes on in the background. After an error the caller
// stops r.
func (r *Recovered) Follow(ctx context.Context) (*Following, error) {
	defer r.from.Close()
	from := r.begins().Seq
	last, err := r.o.Follow.Log.Last(ctx)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	y, err := r.newFollowing(ctx, last)
	if err != nil {
		return nil, err
	}
	go r.front.hub.Run()
	r.front.enter(phaseView{accounts: r.accounts, follows: y})
	bar := r.o.Progress("recovery")
	level := make(chan struct{})
	work, cancel := context.WithCancelCause(context.Background())
	y.cancel = cancel
	if y.export != nil {
		go y.export.Run(work)
	}
	if from >= last {
		close(level)
	}
	go y.follow(work, from+1, func() bool { return y.read.Load() >= last }, func(seq uint64, data []byte) error {
		err := y.take(seq, data)
		if err == nil && y.export != nil {
			err = y.export.Take(work, seq)
		}
		switch {
		case seq < last:
			done, all := int64(seq-from), int64(last-from)
			bar.Set(done, all)
			r.front.progress.Store(done * 1_000_000 / all)
		case seq == last && err == nil:
			bar.Done()
			r.front.progress.Store(-1)
			close(level)
		}
		return err
	})
	select {
	case <-level:
		if err = y.mayReplace(); err == nil {
			y.archive(work)
			y.keepAge()
			y.unannounce = y.announce(y.o.Follow.Log, y.o.Follow.Genesis.Epoch, y.offer)
			return y, nil
		}
		cancel(err)
		<-y.ended
	case err = <-y.ended:
		err = explainFollow(err)
	case <-ctx.Done():
		cancel(ctx.Err())
		err = <-y.ended
	}
	r.front.hub.Shutdown()
	r.front.enter(phaseView{accounts: r.accounts})
	return nil, err
}

// Wait returns when stop receives (nil), or with the reason why the replica cannot go on.
func (y *Following) Wait(stop <-chan struct{}) error {
	select {
	case err := <-y.front.failed:
		return err
	case err := <-y.ended:
		y.ended <- err // for Stop
		return explainFollow(err)
	case <-stop:
		return nil
	}
}

// explainFollow explains why the replica cannot go on.
func explainFollow(err error) error {
	if errors.Is(err, events.ErrLost) {
		return err
	}
	return node.Explain(err)
}

// follow executes messages until ctx ends or something fails, and puts the reason into y.ended. A node that serves
// clients and meets the records of a later program executes nothing more, but goes on serving the state that it has: if
// the node ended, its clients would lose their sockets.
func (y *Following) follow(ctx context.Context, from uint64, serves func() bool, take func(uint64, []byte) error) {
	err := y.o.Follow.Log.Follow(ctx, from, take)
	if node.Newer(err) && serves() {
		y.halted.Store(true)
		y.incident("stream", "this node executes nothing more, and refuses reads beyond replica.max_lag", err.Error())
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	y.ended <- err
}

// exportTo makes the replica export events, if it is to.
func (y *Following) exportTo(ctx context.Context, o *machine.Options, now uint64) (err error) {
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
	if err != nil {
		return err
	}
	o.Sinks = append(o.Sinks, y.export.Fold)
	return nil
}

func accountID(n engine.AccountID) string { return accounts.UserID(uint32(n)).String() }

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
	y.heardNs.Store(clock.MachineNs())
	y.valid = seq
	if err := y.compare(&m); err != nil {
		return err
	}
	executed := false
	for pos, record := range m.All() {
		if err := y.execute(pos, record); err != nil {
			return fmt.Errorf("message %d, record %d: %w", seq, pos, err)
		}
		executed = true
	}
	if err := y.compare(&m); err != nil {
		return err
	}
	y.end = node.NextEnd(y.end, &m)
	if c := y.o.Follow.Copy; c != nil {
		err := c.Take(&m)
		if err == nil {
			err = c.Note(y.reader.State())
		}
		if err != nil {
			return fmt.Errorf("the copy of this node: %w", err)
		}
	}
	if m.Kind == stream.Term {
		y.info, y.infoText = infoOf(m.Info), bytes.Clone(m.Info)
		y.front.forward.Lead(y.info.writer(m.Term))
		if err := y.replaceable(); err != nil && y.front.ready.Load() {
			y.incident("stream", "the writer has started again, and this standby cannot take over from it", err.Error())
		}
	}
	y.publish(m.SentNs, executed)
	y.term.Store(y.reader.State().Term)
	y.position.Store(y.state.Pos)
	y.sentNs.Store(m.SentNs)
	y.changes.Tell()
	return nil
}

// compare compares the market with the writer's digest, where the message carries the one of this position.
func (y *Following) compare(m *stream.Message) error {
	if m.DigestPos == 0 || m.DigestPos != y.state.Pos {
		return nil
	}
	if own := machine.Digest(y.core); own != m.Digest {
		return fmt.Errorf("at record %d the state differs from the writer's: digest %016x, the writer has %016x",
			y.state.Pos, own, m.Digest)
	}
	return nil
}

// execute executes a record.
func (y *Following) execute(pos uint64, record []byte) error {
	if engine.IsSkip(record) {
		return errSkips
	}
	rec := node.Record(pos, record)
	return y.state.Apply(&rec)
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
	y.log.Info("ready", "public", listen.Address(y.front.publicLn), "internal", listen.Address(y.front.internalLn),
		"pairs", y.feed.Board().Load().Len(), "position", y.position.Load())
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
		Role: "replica", Term: y.term.Load(), Position: y.position.Load(), LagMs: lag / int64(time.Millisecond),
		Writer: y.front.forward.Writer().Address, Failed: y.halted.Load(), StaleSinceMs: since,
	}
}

// Stop ends the replica.
func (y *Following) Stop(ctx context.Context) {
	y.unannounce()
	y.age.end()
	y.front.hub.Shutdown()
	y.cancel(errFollowEnds)
	<-y.ended
	y.archives.Wait()
	if y.export != nil {
		y.export.Wait()
	}
	y.restored.stop(ctx)
	y.front.forward.Close()
}
